// Encodes tasks for workers in other languages: workflow tasks with the requested part of their history, and
// activity tasks. Pure.

import { readPin } from "../../../workflows/definition/pins.ts";
import { HISTORY_SUGGESTED_BYTES, HISTORY_SUGGESTED_EVENTS } from "../../../workflows/engine/history-budget.ts";
import type { RunState } from "../../../workflows/history/run-state.ts";
import type { ActivityTask } from "../../tasks/activities.ts";
import type { WorkflowTask } from "../../tasks/task-claimer.ts";
import { isoTime } from "../api-call.ts";
import { cleanupFields } from "./cleanup.ts";
import { encodePage } from "./history-events.ts";
import { argumentsOf, CODEC } from "./payloads.ts";
import { resumeContext } from "./resume-context.ts";

/**
 * `takesTail`: the worker accepts only the events after those it has in memory, and may request the others.
 */
export function encodeTask(task: WorkflowTask, pageSize: number, takesTail: boolean): Record<string, unknown> {
  const { run, stored, mode } = task;
  const after = takesTail && mode === "sticky_hit_expected" ? task.seen : 0;
  const sticky_worker_id = stored.stickyWorker ?? null;
  const sticky_until = isoTime(stored.stickyUntil || undefined);
  return {
    task_kind: "workflow",
    task_id: task.id,
    workflow_id: run.workflowId,
    run_id: run.runId,
    workflow_task_attempt: task.attempt,
    workflow_type: run.started.type,
    payload_codec: CODEC,
    arguments: argumentsOf(run.started.input),
    run_status: run.next === 1 ? "pending" : "running",
    ...budgetOf(run, task.last),
    ...encodePage(run, after, task.last, pageSize),
    task_queue: stored.queue,
    connection: null,
    compatibility: readPin(stored.pinned).build ?? null,
    lease_owner: task.worker,
    lease_expires_at: isoTime(task.leaseUntil),
    sticky_worker_id,
    sticky_until,
    sticky_replay_mode: mode,
    sticky_execution: {
      sticky_worker_id,
      sticky_until,
      replay_mode: mode,
      cache_directive: mode === "sticky_hit_expected" ? "resume_if_present" : "cold_replay",
    },
    ...resumeContext(task),
    cancel_requested: false,
    ...cleanupFields(run),
  };
}

export function budgetOf(run: RunState, events: number): Record<string, unknown> {
  const dimensions = [
    ...(events >= HISTORY_SUGGESTED_EVENTS ? ["events"] : []),
    ...(run.bytes >= HISTORY_SUGGESTED_BYTES ? ["bytes"] : []),
  ];
  const isClose = events >= HISTORY_SUGGESTED_EVENTS * 0.8 || run.bytes >= HISTORY_SUGGESTED_BYTES * 0.8;
  const pressure = dimensions.length > 0 ? "continue_as_new_recommended" : isClose ? "approaching" : "ok";
  return {
    total_history_events: events,
    history_size_bytes: run.bytes,
    history_fan_out: run.open.size,
    continue_as_new_recommended: dimensions.length > 0,
    history_budget_pressure: pressure,
    history_budget_pressure_dimensions: dimensions,
  };
}

export function encodeActivity(task: ActivityTask): Record<string, unknown> {
  const { activity, startedAt } = task;
  const { options = {}, scheduledAt } = activity;
  const until = (from: number, ms: number | undefined): string | null => (ms === undefined ? null : isoTime(from + ms));
  return {
    task_id: task.id,
    workflow_id: activity.workflowId,
    run_id: activity.runId,
    activity_execution_id: `${activity.runId}:${activity.n}`,
    activity_attempt_id: task.attemptId,
    attempt_number: task.attempt,
    activity_type: activity.name,
    payload_codec: CODEC,
    arguments: argumentsOf(activity.input),
    retry_policy: {
      max_attempts: options.attempts ?? null,
      backoff_seconds: options.delays?.map((ms) => ms / 1_000) ?? [],
      non_retryable_error_types: options.nonRetryable ?? [],
    },
    task_queue: task.queue,
    connection: null,
    lease_owner: task.worker,
    lease_expires_at: isoTime(task.leaseUntil),
    last_heartbeat_details: activity.heartbeat ?? null,
    deadlines: {
      start_to_close: until(startedAt, options.startToClose),
      schedule_to_start: until(scheduledAt, options.scheduleToStart),
      schedule_to_close: until(scheduledAt, options.scheduleToClose),
      heartbeat: until(startedAt, options.heartbeat),
    },
  };
}
