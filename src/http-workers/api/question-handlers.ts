// Handlers of queries and of updates that need validation: workers in other languages poll for them and
// answer them.

import type { StoredRun } from "../../ports/store/workflows.ts";
import type { RunState } from "../../workflows/history/run-state.ts";
import { Refused } from "../refusal.ts";
import type { HttpWorkerService } from "../service.ts";
import type { QuestionHolder, QuestionKind, WorkerQuestion } from "../tasks/questions.ts";
import { type ApiAnswer, type ApiCall, isoTime, okAnswer, parsePoll, type TaskCall } from "./api-call.ts";
import { flag, object, text, whole, words } from "./fields.ts";
import { encodePage, pageSizeOf, readToken, requestedPageSize } from "./format/history-events.ts";
import { argumentsOf, CODEC, readPayload } from "./format/payloads.ts";

const ALL = Number.MAX_SAFE_INTEGER;

export async function pollQueries(call: ApiCall): Promise<ApiAnswer> {
  const { task, status } = await call.service.pollQuestions(parsePoll(call), ["query"]);
  if (task === undefined) return okAnswer({ task: null, poll_status: status });
  const body = {
    query_task_id: task.id,
    query_task_attempt: task.attempt,
    query_name: task.name,
    query_arguments: argumentsOf(task.input),
    ...(await encodeRun(task, call)),
  };
  return okAnswer({ task: body, poll_status: status });
}

export async function pollValidations(call: ApiCall): Promise<ApiAnswer> {
  const { task, status } = await call.service.pollQuestions(parsePoll(call), ["update_validation"]);
  return okAnswer({ task: task === undefined ? null : await encodeValidation(task, call), poll_status: status });
}

export async function encodeValidation(task: WorkerQuestion, call: ApiCall): Promise<Record<string, unknown>> {
  return {
    task_kind: "update_validation",
    task_id: task.id,
    update_validation_task_id: task.id,
    update_validation_attempt: task.attempt,
    update_name: task.name,
    update_arguments: argumentsOf(task.input),
    ...(await encodeRun(task, call)),
  };
}

/**
 * Everything that the worker needs to rebuild the state: the whole history at once, unless the worker
 * requests less.
 */
async function encodeRun(question: WorkerQuestion, { service, fields }: ApiCall): Promise<Record<string, unknown>> {
  const { run: stored, worker, until } = question;
  const run = await findRun(stored, service);
  const takesTail = flag(fields, "accept_history_tail") === true;
  const after = takesTail && (await service.isWarm(stored, run, worker)) ? Math.min(run.seen, stored.events) : 0;
  return {
    lease_owner: worker,
    lease_expires_at: isoTime(until),
    workflow_id: run.workflowId,
    run_id: run.runId,
    task_queue: stored.queue,
    workflow_type: stored.type,
    workflow_class: stored.type,
    workflow_arguments: argumentsOf(run.started.input),
    payload_codec: CODEC,
    ...encodePage(run, after, stored.events, requestedPageSize(fields) ?? ALL),
    history_export: null,
  };
}

async function findRun(stored: StoredRun, service: HttpWorkerService): Promise<RunState> {
  const run = await service.runs.of(stored);
  if (run === undefined) throw new Refused(404, "history_not_available", "the history of the run is gone");
  return run;
}

export const queryHistory = (call: TaskCall): Promise<ApiAnswer> => history(call, "query");
export const validationHistory = (call: TaskCall): Promise<ApiAnswer> => history(call, "update_validation");

async function history(call: TaskCall, kind: QuestionKind): Promise<ApiAnswer> {
  const { service, fields } = call;
  const holder = holderOf(call, kind);
  const after = readToken(fields);
  const stored = service.questions.runOf(holder);
  const page = encodePage(await findRun(stored, service), after, stored.events, pageSizeOf(fields));
  return okAnswer({ [`${kind}_task_id`]: holder.id, total_history_events: stored.events, ...page });
}

function holderOf({ names, fields }: TaskCall, kind: QuestionKind): QuestionHolder {
  const field = kind === "query" ? "query_task_attempt" : "update_validation_attempt";
  return { id: names.task, kind, worker: text(fields, "lease_owner"), attempt: whole(fields, field, 0, ALL) };
}

export function completeQuery(call: TaskCall): ApiAnswer {
  const holder = holderOf(call, "query");
  const { result, result_envelope } = call.fields;
  call.service.questions.answer(holder, readPayload(result_envelope ?? result, "result"));
  return okAnswer({ query_task_id: holder.id, query_task_attempt: holder.attempt, outcome: "completed" });
}

/**
 * Reasons that a worker may give, with the caller's error for each. Any other reason is a plain rejection.
 */
const QUERY_STATUS: ReadonlyMap<string, number> = new Map([
  ["rejected_unknown_query", 404],
  ["invalid_query_arguments", 422],
  ["query_rejected", 409],
  ["query_workflow_state_unavailable", 409],
  ["query_workflow_type_not_registered", 409],
  ["query_payload_decode_failed", 409],
  ["query_result_encode_failed", 409],
  ["query_result_completion_failed", 409],
]);

export function failQuery(call: TaskCall): ApiAnswer {
  const holder = holderOf(call, "query");
  const { message, reason: given, extras } = failureOf(call, "query_rejected");
  const status = QUERY_STATUS.get(given);
  const [known, reason] = status === undefined ? [409, "query_rejected"] : [status, given];
  call.service.questions.refuse(holder, new Refused(known, reason, message, extras));
  return okAnswer({ query_task_id: holder.id, query_task_attempt: holder.attempt, outcome: "failed" });
}

export function approveUpdate(call: TaskCall): ApiAnswer {
  const holder = holderOf(call, "update_validation");
  call.service.questions.answer(holder, null);
  return okAnswer({
    update_validation_task_id: holder.id,
    update_validation_attempt: holder.attempt,
    outcome: "approved",
  });
}

export function rejectUpdate(call: TaskCall): ApiAnswer {
  const holder = holderOf(call, "update_validation");
  const { message, extras } = failureOf(call, "update_validator_rejected");
  call.service.questions.refuse(holder, new Refused(422, "update_validator_rejected", message, extras));
  return okAnswer({
    update_validation_task_id: holder.id,
    update_validation_attempt: holder.attempt,
    outcome: "rejected",
  });
}

function failureOf({ fields }: ApiCall, otherwise: string) {
  const failure = object(fields, "failure") ?? {};
  const { validation_errors } = failure;
  return {
    message: words(failure, "message") ?? "the worker gave no reason",
    reason: words(failure, "reason", 255) ?? otherwise,
    extras: {
      exception_type: words(failure, "type", 255) ?? null,
      validation_errors,
    },
  };
}
