// Handlers of workflow tasks: workers in other languages poll for them, read their history, extend them, and
// complete or fail them.

import type { Affinity } from "../../ports/store/workflows.ts";
import type { RunState } from "../../workflows/history/run-state.ts";
import { Refused } from "../refusal.ts";
import type { HttpWorkerService } from "../service.ts";
import type { TaskHolder } from "../tasks/tasks.ts";
import { keepsRuns, type RemoteWorker } from "../worker.ts";
import { type ApiAnswer, type ApiCall, isoTime, okAnswer, parsePoll, type TaskCall } from "./api-call.ts";
import {
  type Fields,
  flag,
  list,
  object,
  optionalText,
  optionalTexts,
  optionalWhole,
  text,
  whole,
  words,
} from "./fields.ts";
import { cleanupFields, parseDelivery } from "./format/cleanup.ts";
import { parseCommands } from "./format/commands.ts";
import { encodePage, pageSizeOf, readToken } from "./format/history-events.ts";
import { statusWord } from "./format/run-fields.ts";
import { budgetOf, encodeTask } from "./format/tasks.ts";
import { encodeNextWork, parseNext } from "./next-work.ts";
import { encodeValidation } from "./question-handlers.ts";
import { parseCacheFigures, STICKY_MINOR } from "./worker-handlers.ts";

export async function pollTasks(call: ApiCall): Promise<ApiAnswer> {
  const poll = parsePoll(call);
  const pageSize = pageSizeOf(call.fields);
  const kinds = optionalTexts(call.fields, "task_kinds");
  const takesTail = flag(call.fields, "accept_history_tail") ?? false;
  const { task, status } = await call.service.pollTasks(poll, {
    tasks: kinds?.includes("workflow") ?? true,
    validations: kinds?.includes("update_validation") ?? false,
  });
  if (task === undefined) return okAnswer({ task: null, poll_status: status });
  const body = "kind" in task ? await encodeValidation(task, call) : encodeTask(task, pageSize, takesTail);
  return okAnswer({ task: body, poll_status: status });
}

function holderOf({ names, fields }: TaskCall): TaskHolder {
  return {
    taskId: names.task,
    worker: text(fields, "lease_owner"),
    attempt: whole(fields, "workflow_task_attempt", 1, Number.MAX_SAFE_INTEGER),
  };
}

export async function taskHistory(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const after = readToken(call.fields);
  const run = await call.service.tasks.runOf(holder);
  return okAnswer({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    ...budgetOf(run, run.last),
    ...encodePage(run, after, run.last, pageSizeOf(call.fields)),
  });
}

export async function taskHeartbeat(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const { leaseUntil, stored, run } = await call.service.tasks.heartbeat(holder);
  return okAnswer({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    lease_owner: holder.worker,
    renewed: true,
    lease_expires_at: isoTime(leaseUntil),
    run_status: statusWord(stored),
    task_status: "leased",
    reason: null,
    ...cleanupFields(run),
  });
}

/**
 * Delivers the cancellation to the code of the run at a call where it waits. The same delivery may be
 * repeated.
 */
export async function deliverCancellation(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const delivery = parseDelivery(call.fields);
  await call.service.tasks.deliver(holder, delivery);
  const { id, sequence, span, call: kind, operation } = delivery;
  return okAnswer({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    delivered: true,
    reason: null,
    request_id: id,
    sequence,
    call_kind: kind,
    sequence_span: span,
    operation_sequence: operation?.sequence ?? null,
    operation_sequence_span: operation?.span ?? 1,
  });
}

export async function completeTask(call: TaskCall): Promise<ApiAnswer> {
  const { service, fields } = call;
  const holder = holderOf(call);
  refuseStreams(fields);
  const commands = parseCommands(fields);
  const next = parseNext(call);
  const worker = await service.workers.get(holder.worker);
  const claim = object(fields, "sticky_cache");
  const run = await service.tasks.runOf(holder);
  if (claim !== undefined) checkClaim(claim, worker, run, call.minor);
  const affinity = affinityOf(claim, worker, service.deps.stickyMs);
  const { created, status, last } = await service.tasks.complete(
    holder,
    commands,
    service.deps.isSticky && !(await isDraining(service, worker)) ? affinity : undefined,
  );
  const metrics = claim && object(claim, "metrics");
  service.claims.add("miss", service.workers.recordFigures(worker, parseCacheFigures(metrics)));
  return okAnswer({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    outcome: "completed",
    recorded: true,
    run_id: run.runId,
    run_status: statusWord({ status }),
    created_task_ids: created.map((n) => `${run.runId}:${n}`),
    last_history_sequence: last,
    reason: null,
    ...(await encodeNextWork(call, worker.id, next, created.filter((n) => isFor(worker, run, n)).length)),
  });
}

function refuseStreams(fields: Fields): void {
  for (const name of ["message_stream_cursors", "message_stream_waits"]) {
    if ((list(fields, name)?.length ?? 0) === 0) continue;
    throw new Refused(409, "unsupported_command", `${name}: message streams are not supported`, { unsupported: name });
  }
}

/** The cache of a draining worker is useless: it gets no more tasks. */
const isDraining = async (
  service: HttpWorkerService,
  { isDraining: isKnown, queue, build }: RemoteWorker,
): Promise<boolean> => isKnown || service.workers.isDrained(queue, build);

/** Returns whether the worker itself runs this activity. */
function isFor({ queue, activityTypes }: RemoteWorker, { scheduled }: RunState, n: number): boolean {
  const { name, options } = scheduled.get(n) ?? {};
  return name !== undefined && activityTypes.includes(name) && (options?.queue ?? queue) === queue;
}

/**
 * The worker that keeps the run in memory. Some workers claim it with each task, others once at registration.
 */
function affinityOf(claim: Fields | undefined, worker: RemoteWorker, stickyMs: number): Affinity | undefined {
  const isKept = claim === undefined ? worker.sticky === "always" && keepsRuns(worker) : worker.sticky !== "never";
  if (!isKept) return undefined;
  const seconds = claim && optionalWhole(claim, "ttl_seconds", 1, 3_600);
  return { worker: worker.id, ms: seconds === undefined ? stickyMs : seconds * 1_000 };
}

/** A claim is valid only with the worker's own identity, and for the run of its task. */
function checkClaim(claim: Fields, worker: RemoteWorker, run: RunState, minor: number): void {
  const capability = "sticky_execution";
  if (worker.sticky === "never") {
    const what = `worker ${worker.id} did not register sticky execution`;
    throw new Refused(409, "worker_capability_not_supported", what, { capability });
  }
  if (minor < STICKY_MINOR) {
    const what = `a claim of a run needs protocol version 1.${STICKY_MINOR} or later`;
    const versions = { requested_version: `1.${minor}`, minimum_protocol_version: `1.${STICKY_MINOR}` };
    throw new Refused(409, "portable_worker_affinity_protocol_floor_unavailable", what, { capability, ...versions });
  }
  const build = worker.build === "" ? worker.sdkVersion : worker.build;
  const expected = { worker_id: worker.id, workflow_id: run.workflowId, run_id: run.runId, build_id: build };
  for (const [field, value] of Object.entries(expected)) {
    const claimed = optionalText(claim, field, 512);
    if (claimed === undefined || value === undefined || claimed === value) continue;
    throw new Refused(409, "sticky_cache_identity_mismatch", `sticky_cache.${field} is not that of the task`, {
      field,
    });
  }
}

/** Not a failure: the worker waits for steps that it scheduled before, and has nothing to add. */
const WAITING = "WorkflowTaskWaitingForHistory";

export async function failTask(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const failure = object(call.fields, "failure") ?? {};
  const type = words(failure, "type", 255);
  const message = words(failure, "message") ?? "the worker gave no reason";
  const isAtRest = type === WAITING && (await call.service.tasks.rest(holder));
  if (!isAtRest) await call.service.tasks.fail(holder, type === undefined ? message : `${type}: ${message}`);
  return okAnswer({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    outcome: "failed",
    recorded: true,
    reason: null,
    next_task_id: null,
  });
}
