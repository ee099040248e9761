// Handlers of workflow tasks: workers in other languages poll for them, read their history, extend them, and
// complete or fail them.

import type { Affinity } from "../../ports/store/workflows.ts";
import type { RemoteRun } from "../../workflows/history/run-state.ts";
import type { RemotePlane } from "../plane.ts";
import { Refused } from "../refusal.ts";
import type { TaskHolder } from "../tasks.ts";
import { keepsRuns, type RemoteWorker } from "../worker.ts";
import { type ApiAnswer, type ApiCall, isoTime, ok, type TaskCall } from "./api-call.ts";
import { type Fields, flag, list, object, optionalText, optionalWhole, text, texts, whole, words } from "./fields.ts";
import { parseDelivery, tellCleanup } from "./format/cleanup.ts";
import { parseCommands } from "./format/commands.ts";
import { pageOf, readToken, tellPage } from "./format/history-pages.ts";
import { statusWord } from "./format/run-status.ts";
import { budgetOf, tellTask } from "./format/tasks.ts";
import { parseNext, tellNext } from "./next-work.ts";
import { parsePoll } from "./polls.ts";
import { tellValidation } from "./question-handlers.ts";
import { cacheNumbers, STICKY_MINOR } from "./worker-handlers.ts";

export async function pollTasks(call: ApiCall): Promise<ApiAnswer> {
  const poll = parsePoll(call);
  const pageSize = pageOf(call.fields);
  const kinds = texts(call.fields, "task_kinds");
  const takesTail = flag(call.fields, "accept_history_tail") ?? false;
  const { task, status } = await call.plane.pollTasks(poll, {
    tasks: kinds?.includes("workflow") ?? true,
    validations: kinds?.includes("update_validation") ?? false,
  });
  if (task === undefined) return ok({ task: null, poll_status: status });
  const told = "kind" in task ? await tellValidation(task, call) : tellTask(task, pageSize, takesTail);
  return ok({ task: told, poll_status: status });
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
  const run = await call.plane.tasks.runOf(holder);
  return ok({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    ...budgetOf(run, run.last),
    ...tellPage(run, after, run.last, pageOf(call.fields)),
  });
}

export async function taskHeartbeat(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const { leaseUntil, stored, run } = await call.plane.tasks.heartbeat(holder);
  return ok({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    lease_owner: holder.worker,
    renewed: true,
    lease_expires_at: isoTime(leaseUntil),
    run_status: statusWord(stored),
    task_status: "leased",
    reason: null,
    ...tellCleanup(run),
  });
}

/**
 * Delivers the cancellation to the code of the run at a call where it waits. The same delivery may be
 * repeated.
 */
export async function deliverCancellation(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const delivery = parseDelivery(call.fields);
  await call.plane.tasks.deliver(holder, delivery);
  const { id, sequence, span, call: kind, operation } = delivery;
  return ok({
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
  const { plane, fields } = call;
  const holder = holderOf(call);
  refuseStreams(fields);
  const commands = parseCommands(fields);
  const next = parseNext(call);
  const worker = await plane.workers.get(holder.worker);
  const claim = object(fields, "sticky_cache");
  const run = await plane.tasks.runOf(holder);
  if (claim !== undefined) checkClaim(claim, worker, run, call.minor);
  const affinity = affinityOf(claim, worker, plane.deps.stickyMs);
  const { created, status, last } = await plane.tasks.complete(
    holder,
    commands,
    plane.deps.isSticky && !(await isDraining(plane, worker)) ? affinity : undefined,
  );
  const metrics = claim && object(claim, "metrics");
  plane.claims.add("miss", plane.workers.note(worker, cacheNumbers(metrics)));
  return ok({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    outcome: "completed",
    recorded: true,
    run_id: run.runId,
    run_status: statusWord({ status }),
    created_task_ids: created.map((n) => `${run.runId}:${n}`),
    last_history_sequence: last,
    reason: null,
    ...(await tellNext(call, worker.id, next, created.filter((n) => isFor(worker, run, n)).length)),
  });
}

function refuseStreams(fields: Fields): void {
  for (const name of ["message_stream_cursors", "message_stream_waits"]) {
    if ((list(fields, name)?.length ?? 0) === 0) continue;
    throw new Refused(409, "unsupported_command", `${name}: message streams are not supported`, { unsupported: name });
  }
}

/** The cache of a draining worker is useless: it gets no more tasks. */
const isDraining = async (plane: RemotePlane, { isDraining: isKnown, queue, build }: RemoteWorker): Promise<boolean> =>
  isKnown || plane.workers.isDrained(queue, build);

/** Returns whether the worker itself runs this activity. */
function isFor({ queue, activityTypes }: RemoteWorker, { scheduled }: RemoteRun, n: number): boolean {
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
function checkClaim(claim: Fields, worker: RemoteWorker, run: RemoteRun, minor: number): void {
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
    const told = optionalText(claim, field, 512);
    if (told === undefined || value === undefined || told === value) continue;
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
  const isAtRest = type === WAITING && (await call.plane.tasks.rest(holder));
  if (!isAtRest) await call.plane.tasks.fail(holder, type === undefined ? message : `${type}: ${message}`);
  return ok({
    task_id: holder.taskId,
    workflow_task_attempt: holder.attempt,
    outcome: "failed",
    recorded: true,
    reason: null,
    next_task_id: null,
  });
}
