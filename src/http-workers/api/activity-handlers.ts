// Handlers of activity tasks: workers in other languages poll for them, extend them by heartbeats, and
// complete or fail them.

import { toWire } from "../../kernel/values.ts";
import { type ActivityFailure, failureElsewhere } from "../../workflows/activities/failure.ts";
import { checkPayload } from "../../workflows/engine/payload-limits.ts";
import { invalidField, Refused } from "../refusal.ts";
import type { ActivityHolder } from "../tasks/activities.ts";
import { type ApiAnswer, type ApiCall, isoTime, okAnswer, parsePoll, type TaskCall } from "./api-call.ts";
import { flag, object, oneOf, text, words } from "./fields.ts";
import { readPayload } from "./format/payloads.ts";
import { encodeActivity } from "./format/tasks.ts";
import { encodeNextWork, parseNext } from "./next-work.ts";

export async function pollActivities(call: ApiCall): Promise<ApiAnswer> {
  const { task, status } = await call.service.pollActivities(parsePoll(call));
  return okAnswer({ task: task === undefined ? null : encodeActivity(task), poll_status: status });
}

function holderOf({ names, fields }: TaskCall): ActivityHolder {
  return { taskId: names.task, attemptId: text(fields, "activity_attempt_id"), worker: text(fields, "lease_owner") };
}

const GOES_ON = { cancel_requested: false, can_continue: true, stop_reason: null };

export async function completeActivity(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const result = readPayload(call.fields.result, "result");
  const next = parseNext(call);
  await call.service.activities.complete(holder, result);
  return okAnswer({
    ...recorded(holder),
    outcome: "completed",
    ...GOES_ON,
    ...(await encodeNextWork(call, holder.worker, next)),
  });
}

const recorded = ({ taskId, attemptId }: ActivityHolder): Record<string, unknown> => ({
  task_id: taskId,
  activity_attempt_id: attemptId,
  recorded: true,
  reason: null,
  next_task_id: null,
});

const KINDS = [
  "application",
  "timeout",
  "cancellation",
  "malformed_output",
  "handler_crash",
  "decode_failure",
  "unsupported_payload",
] as const;

export async function failActivity(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const next = parseNext(call);
  const isRetried = await call.service.activities.fail(holder, failureOf(call));
  const head = { ...recorded(holder), outcome: "failed", retry_scheduled: isRetried, ...GOES_ON };
  return okAnswer({ ...head, ...(await encodeNextWork(call, holder.worker, next)) });
}

function failureOf({ fields }: ApiCall): ActivityFailure {
  const failure = object(fields, "failure");
  if (failure === undefined) throw invalidField("failure", "is required");
  const kind = oneOf(failure, "kind", KINDS);
  const message = words(failure, "message") ?? "the worker gave no reason";
  const type = words(failure, "type", 255) ?? words(failure, "class", 255);
  const isCancelled = kind === "cancellation" || flag(failure, "cancelled") === true;
  return failureElsewhere(message, type, {
    kind: isCancelled ? "cancelled" : kind === "timeout" ? "timed out" : "failed",
    isFinal: flag(failure, "non_retryable") === true || flag(failure, "retryable") === false,
  });
}

/** Reads the lease, and changes nothing. */
export async function activityStatus(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const { leaseUntil } = await call.service.activities.status(holder);
  return okAnswer({
    task_id: holder.taskId,
    activity_attempt_id: holder.attemptId,
    lease_owner: holder.worker,
    ...GOES_ON,
    reason: null,
    heartbeat_recorded: false,
    lease_expires_at: isoTime(leaseUntil),
  });
}

/** An activity without a waiting run is not an error: the answer asks the worker to stop. */
export async function activityHeartbeat(call: TaskCall): Promise<ApiAnswer> {
  const holder = holderOf(call);
  const { message, current, total, unit, details } = call.fields;
  const progress = Object.fromEntries(
    Object.entries({ message, current, total, unit, details }).filter(([, value]) => value !== undefined),
  );
  const at = isoTime(call.service.deps.now());
  try {
    const hasProgress = Object.keys(progress).length > 0;
    const wire = hasProgress ? toWire(progress, "details", "ARGUMENT_INVALID") : undefined;
    if (wire !== undefined) checkPayload(wire, "details");
    const { leaseUntil } = await call.service.activities.heartbeat(holder, wire);
    return okAnswer({
      task_id: holder.taskId,
      activity_attempt_id: holder.attemptId,
      ...GOES_ON,
      reason: null,
      run_closed_reason: null,
      run_closed_at: null,
      heartbeat_recorded: true,
      lease_owner: holder.worker,
      lease_expires_at: isoTime(leaseUntil),
      last_heartbeat_at: at,
    });
  } catch (error) {
    if (!(error instanceof Refused) || error.reason !== "task_not_found" || error.extras.cancel_requested !== true)
      throw error;
    return okAnswer({
      task_id: holder.taskId,
      activity_attempt_id: holder.attemptId,
      cancel_requested: true,
      can_continue: false,
      reason: "task_not_found",
      stop_reason: "task_not_found",
      run_closed_at: null,
      run_closed_reason: error.extras.run_closed_reason ?? null,
      heartbeat_recorded: false,
      lease_owner: null,
      lease_expires_at: null,
      last_heartbeat_at: at,
    });
  }
}
