// Handlers for clients that steer workflows: start, list, describe, signal, query, update and end them.

import { LIMITS } from "../../kernel/limits.ts";
import { toWire } from "../../kernel/values.ts";
import type { RunQuery, RunStatus, StoredRun } from "../../ports/store/workflows.ts";
import type { RunName } from "../../ports/workflow-admin.ts";
import { attributesProblem, isPlainOrList } from "../../workflows/definition/attributes.ts";
import { readPin } from "../../workflows/definition/pins.ts";
import { CLEANUP_SECONDS } from "../commands/cleanup.ts";
import type { UpdateStage } from "../control.ts";
import { invalidField, Refused } from "../refusal.ts";
import { contractOf } from "../worker.ts";
import { type ApiAnswer, type ApiCall, createdAnswer, isoTime, okAnswer, type RunNames } from "./api-call.ts";
import { LONG_POLL_SECONDS } from "./cluster-info.ts";
import { type Fields, object, oneOf, optionalText, optionalWhole, text, words } from "./fields.ts";
import { encodeCleanupRequest } from "./format/cleanup.ts";
import { encodeHistory } from "./format/history-events.ts";
import { exportBundle } from "./format/history-export.ts";
import { CODEC, envelopeOf, inputToArguments, readInput } from "./format/payloads.ts";
import { bucketWord, displayJson, statusWord } from "./format/run-fields.ts";
import { parseVisibility, STATUSES } from "./visibility-query.ts";

const WORKFLOW_ID = /^[a-zA-Z0-9._:-]{1,128}$/;
const MOST_SECONDS = 3_155_760_000;
const LIST_PAGE = 50;
const EVENTS_PAGE = 100;
const UPDATE_SECONDS = 30;
const MOST_UPDATE_SECONDS = 60;

export async function startWorkflow({ service, fields }: ApiCall): Promise<ApiAnswer> {
  const workflowId = optionalText(fields, "workflow_id", 128);
  if (workflowId !== undefined && !WORKFLOW_ID.test(workflowId)) {
    throw invalidField("workflow_id", "can contain only letters, digits and . _ : -");
  }
  const seconds = (name: string): number | undefined => {
    const value = optionalWhole(fields, name, 1, MOST_SECONDS);
    return value === undefined ? undefined : value * 1_000;
  };
  const businessKey = optionalText(fields, "business_key");
  const policy = oneOf(fields, "duplicate_policy", ["fail", "use-existing", "use_existing"]);
  const { run, isNew } = await service.control.start({
    workflowId,
    type: text(fields, "workflow_type"),
    queue: optionalText(fields, "task_queue") ?? service.deps.queue,
    input: readInput(fields),
    memo: plainOf(fields, "memo"),
    attributes: attributesOf(fields, businessKey),
    onDuplicate: policy === undefined || policy === "fail" ? "fail" : "existing",
    timeoutMs: seconds("execution_timeout_seconds"),
    runTimeoutMs: seconds("run_timeout_seconds"),
    build: buildOf(fields),
  });
  return createdAnswer({
    ...headOf(run, service.deps.namespace),
    outcome: isNew ? "started_new" : "returned_existing_active",
  });
}

/** `*` stands for any build. */
function buildOf(fields: Fields): string | undefined {
  const build = optionalText(fields, "build_id") ?? optionalText(fields, "compatibility");
  return build === "*" ? undefined : build;
}

const plainOf = (fields: Fields, name: string): unknown => {
  const value = object(fields, name);
  return value === undefined ? undefined : toWire(value, name, "ARGUMENT_INVALID");
};

/** A business key is an attribute like others. */
function attributesOf(fields: Fields, businessKey: string | undefined): unknown {
  const attributes = plainOf(fields, "search_attributes") as object | undefined;
  const problem = attributes && attributesProblem(attributes, isPlainOrList);
  if (problem !== undefined) throw invalidField("search_attributes", problem);
  if (businessKey === undefined) return attributes;
  return { ...attributes, business_key: businessKey };
}

function headOf(run: StoredRun, namespace: string): Record<string, unknown> {
  const attributes = displayJson(JSON.parse(run.attributes)) as Record<string, unknown>;
  return {
    workflow_id: run.workflowId,
    run_id: run.runId,
    workflow_type: run.type,
    namespace,
    business_key: attributes.business_key ?? null,
    status: statusWord(run),
    status_bucket: bucketWord(run.status),
    is_terminal: run.status !== "running",
    task_queue: run.queue,
    payload_codec: CODEC,
    started_at: isoTime(run.startedAt),
    closed_at: isoTime(run.closedAt),
    search_attributes: attributes,
  };
}

// ——— Reading.

export async function listWorkflows({ service, query }: ApiCall): Promise<ApiAnswer> {
  const limit = numberIn(query, "page_size", 1, LIMITS.listPage) ?? LIST_PAGE;
  const status = query.get("status") ?? undefined;
  if (status !== undefined && !STATUSES.includes(status as RunStatus)) {
    throw invalidField("status", `must be one of ${STATUSES.join(", ")}`);
  }
  const before = numberIn(query, "next_page_token", 1, Number.MAX_SAFE_INTEGER);
  const asked: RunQuery = {
    namespace: service.deps.namespace,
    limit,
    before,
    status: status as RunStatus | undefined,
    type: query.get("workflow_type") ?? undefined,
    queue: query.get("task_queue") ?? undefined,
    ...filterOf(query),
  };
  const runs = await service.deps.store.list(asked);
  return okAnswer({
    workflows: runs.map((run) => headOf(run, service.deps.namespace)),
    workflow_count: runs.length,
    next_page_token: runs.length === limit ? String(runs.at(-1)!.ref) : null,
  });
}

/** Reads the `query` filter; another parameter must not repeat one of its fields. */
function filterOf(query: URLSearchParams): Partial<RunQuery> {
  const filter = parseVisibility(query.get("query") ?? "");
  const given = { type: "workflow_type", status: "status", queue: "task_queue" } as const;
  for (const [field, parameter] of Object.entries(given)) {
    if (Object.hasOwn(filter, field) && query.has(parameter))
      throw invalidField("query", `${parameter} is given twice`);
  }
  return filter;
}

function numberIn(query: URLSearchParams, name: string, least: number, most: number): number | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  return optionalWhole({ [name]: /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN }, name, least, most);
}

type RunCall = ApiCall<RunNames>;

const runName = ({ names }: RunCall): RunName => ({ workflowId: names.id, runId: names.run });

export async function describe(call: RunCall): Promise<ApiAnswer> {
  const { service } = call;
  const run = await service.control.find(runName(call));
  const { namespace } = service.deps;
  const started = await service.control.startedOf(run);
  const runs = await service.deps.store.list({ namespace, workflowId: run.workflowId, limit: LIMITS.listPage });
  const end = JSON.parse(run.result ?? "{}") as { result?: unknown; error?: { message?: string } };
  const input = inputToArguments(started.input);
  const isCompleted = run.status === "completed";
  const isOpen = run.status === "running";
  const task = run.task;
  const { build, definition } = readPin(run.pinned);
  return okAnswer({
    ...headOf(run, namespace),
    closed_reason: isOpen ? null : run.status.replace(" ", "_"),
    ...runNumber(run, runs),
    last_progress_at: isoTime(await service.control.progressOf(run)),
    compatibility: build ?? null,
    workflow_definition_fingerprint: definition ?? null,
    input: displayJson(input),
    input_envelope: envelopeOf(input),
    output: isCompleted ? displayJson(end.result) : null,
    output_envelope: isCompleted ? envelopeOf(end.result) : null,
    failure: end.error === undefined ? null : { message: end.error.message ?? null },
    execution_deadline_at: isoTime(started.timeoutAt),
    run_deadline_at: isoTime(started.runTimeoutAt),
    parent_workflow_id: started.parent?.workflowId ?? null,
    continued_from_run_id: started.continuedFrom ?? null,
    history_event_count: run.events,
    history_size_bytes: run.bytes,
    memo: displayJson(JSON.parse(run.memo)),
    sticky_worker_id: run.stickyWorker ?? null,
    sticky_until: isoTime(run.stickyUntil || undefined),
    wait_kind: isOpen && task?.state === "idle" ? "external" : null,
    wait_reason: task?.problem ?? null,
    workflow_task: task === undefined ? null : encodeTaskState(task),
    actions: {
      can_signal: isOpen,
      can_query: true,
      can_update: isOpen,
      can_cancel: isOpen,
      can_terminate: isOpen,
      can_repair: false,
      can_archive: false,
    },
  });
}

const encodeTaskState = (task: NonNullable<StoredRun["task"]>): Record<string, unknown> => ({
  status: task.state,
  attempt: task.attempt,
  lease_owner: task.worker ?? null,
  available_at: task.state === "ready" ? isoTime(task.at) : null,
  lease_expires_at: task.state === "leased" ? isoTime(task.at) : null,
  sticky_replay_mode: task.mode ?? null,
  sticky_claimed_at: isoTime(task.claimedAt),
  last_error: task.problem ?? null,
});

export async function describeRuns(call: ApiCall<RunNames>): Promise<ApiAnswer> {
  const { service } = call;
  const workflowId = call.names.id;
  await service.control.find({ workflowId, runId: undefined });
  const { namespace } = service.deps;
  const runs = await service.deps.store.list({ namespace, workflowId, limit: LIMITS.listPage });
  const described = runs.map((run) => ({ ...headOf(run, namespace), ...runNumber(run, runs) }));
  return okAnswer({ workflow_id: workflowId, run_count: runs.length, runs: described.reverse() });
}

/** The position among the listed runs of its workflow; the latest run is the first of them. */
function runNumber({ ref }: StoredRun, runs: readonly StoredRun[]): Record<string, unknown> {
  const later = runs.filter((each) => each.ref > ref).length;
  return { run_number: runs.length - later, run_count: runs.length, is_current_run: later === 0 };
}

/**
 * A request without paging gets the whole history: some clients look for the end of a run in the first answer
 * only.
 */
export async function runHistory(call: RunCall): Promise<ApiAnswer> {
  const { service, query } = call;
  const after = numberIn(query, "next_page_token", 0, Number.MAX_SAFE_INTEGER) ?? 0;
  const limit = numberIn(query, "page_size", 1, 1_000) ?? (after === 0 ? Number.MAX_SAFE_INTEGER : EVENTS_PAGE);
  const name = runName(call);
  const isWaiting = /^(1|true)$/.test(query.get("wait_new_event") ?? "");
  const waitMs = isWaiting ? LONG_POLL_SECONDS * 1_000 : 0;
  const stored = await service.control.findBehind(name, after, (look) => service.wait(waitMs, call.gone, look));
  const run = await service.runs.of(stored);
  if (run === undefined) throw new Refused(404, "history_not_available", "the history of the run is gone");
  const events = encodeHistory(run, after, stored.events, limit);
  const last = after + events.length;
  return okAnswer({
    workflow_id: stored.workflowId,
    run_id: stored.runId,
    events,
    // A client that waits for new events continues from here, until the run is over.
    next_page_token: last < stored.events || (isWaiting && stored.status === "running") ? String(last) : null,
  });
}

export async function exportHistory(call: RunCall): Promise<ApiAnswer> {
  const { service } = call;
  const stored = await service.control.find(runName(call));
  const run = await service.runs.of(stored);
  if (run === undefined) throw new Refused(404, "history_not_available", "the history of the run is gone");
  return okAnswer(exportBundle(stored, run, service.deps.now()));
}

// ——— Changing the open run, or the named one.

/** `name`: the name of the signal, query or update. */
type CommandCall = ApiCall<RunNames & { readonly name: string }>;

export async function signalWorkflow(call: CommandCall): Promise<ApiAnswer> {
  const [run, { name }] = [runName(call), call.names];
  await checkSignal(call, run, name);
  const input = readInput(call.fields);
  const stored = await call.service.control.signal(run, name, input, optionalText(call.fields, "request_id"));
  return okAnswer({
    ...commandHead(stored),
    signal_name: name,
    outcome: "signal_received",
    command_status: "accepted",
  });
}

/** When the worker declared its signals, unknown ones are rejected. */
async function checkSignal({ service }: ApiCall, name: RunName, signal: string): Promise<void> {
  const run = await service.control.find(name);
  const [worker] = await service.workers.thatRun(run);
  const known = worker && contractOf(worker, run.type)?.signals;
  if (known === undefined || known.includes(signal)) return;
  throw new Refused(404, "unknown_signal", `${run.type} has no signal ${signal}`, { signal_name: signal });
}

const commandHead = ({ workflowId, runId }: StoredRun): Record<string, unknown> => ({
  workflow_id: workflowId,
  run_id: runId,
});

export async function queryWorkflow(call: CommandCall): Promise<ApiAnswer> {
  const [run, { name }] = [runName(call), call.names];
  const { run: stored, result } = await call.service.control.query(run, name, readInput(call.fields));
  return okAnswer({
    ...commandHead(stored),
    query_name: name,
    result: displayJson(result),
    result_envelope: envelopeOf(result),
  });
}

export async function updateWorkflow(call: CommandCall): Promise<ApiAnswer> {
  const [run, { name }] = [runName(call), call.names];
  const { fields, service } = call;
  const until = oneOf(fields, "wait_for", ["accepted", "completed"]) ?? "accepted";
  const seconds = optionalWhole(fields, "wait_timeout_seconds", 0, MOST_UPDATE_SECONDS) ?? UPDATE_SECONDS;
  const id = optionalText(fields, "request_id") ?? service.deps.random.id();
  const input = readInput(fields);
  const done = await service.control.update(run, name, input, { id, until, withinMs: seconds * 1_000 });
  const head = { ...commandHead(done.run), update_id: id, update_name: name, request_id: id };
  return { status: done.stage?.stage === "completed" ? 200 : 202, body: { ...head, ...encodeStage(done.stage) } };
}

function encodeStage(stage: UpdateStage | undefined): Record<string, unknown> {
  switch (stage?.stage) {
    case "completed": {
      const envelopes = { result: displayJson(stage.result), result_envelope: envelopeOf(stage.result) };
      return { outcome: "update_completed", update_status: "completed", ...envelopes };
    }
    case "failed":
      throw new Refused(409, "update_failed", stage.message, { update_status: "failed", exception_type: stage.type });
    case "rejected":
      throw new Refused(409, "update_rejected", stage.message, { update_status: "rejected" });
    default:
      return { outcome: "update_accepted", update_status: stage?.stage ?? "pending", result_envelope: null };
  }
}

export async function cancelWorkflow(call: RunCall): Promise<ApiAnswer> {
  const reason = words(call.fields, "reason", 1_000) ?? "";
  const run = await call.service.control.cancel(runName(call), reason);
  return okAnswer({ ...commandHead(run), outcome: "cancel_requested", command_status: "accepted", reason });
}

export async function requestCancellation(call: RunCall): Promise<ApiAnswer> {
  const reason = words(call.fields, "reason", 1_000) ?? "";
  const { least, usual, most } = CLEANUP_SECONDS;
  const seconds = optionalWhole(call.fields, "cleanup_timeout_seconds", least, most) ?? usual;
  const name = runName(call);
  const { run, request, isNew } = await call.service.control.requestCleanup(name, reason, seconds * 1_000);
  const outcome = { accepted: true, duplicate: !isNew, outcome: "cancellation_requested", command_status: "accepted" };
  return okAnswer({ ...commandHead(run), ...outcome, cancellation_request: encodeCleanupRequest(request) });
}

export async function terminateWorkflow(call: RunCall): Promise<ApiAnswer> {
  const reason = words(call.fields, "reason", 1_000) ?? "";
  const run = await call.service.control.terminate(runName(call), reason);
  return okAnswer({ ...commandHead(run), outcome: "terminated", command_status: "accepted", reason });
}
