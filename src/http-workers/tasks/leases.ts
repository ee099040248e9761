// Rejects requests about a task that the worker does not hold, or no longer holds. Pure.
import type { StoredRun } from "../../ports/store/workflows.ts";
import { Refused } from "../refusal.ts";

/** Throws unless that worker still holds the task, at that attempt. */
export function checkLease(stored: StoredRun, taskId: string, worker: string, attempt: number, now: number) {
  const { status, task } = stored;
  if (status !== "running" || task === undefined) throw runClosed(stored);
  if (task.state !== "leased") throw notLeased(taskId);
  if (task.worker !== worker) {
    const what = `task ${taskId} is held by another worker`;
    throw new Refused(409, "lease_owner_mismatch", what, { task_id: taskId, lease_owner: task.worker });
  }
  if (task.attempt !== attempt) {
    const extras = { task_id: taskId, current_attempt: task.attempt };
    throw new Refused(409, "workflow_task_attempt_mismatch", `task ${taskId} is at attempt ${task.attempt}`, extras);
  }
  if (task.at !== undefined && task.at <= now) {
    throw new Refused(409, "lease_expired", `the lease of task ${taskId} is over`, { task_id: taskId });
  }
  return task;
}

export function runClosed({ status, workflowId, runId }: StoredRun): Refused {
  const word = status === "timed out" ? "timed_out" : status;
  return new Refused(409, "run_closed", `run ${runId} of ${workflowId} is over (${status})`, {
    run_status: status === "timed out" ? "failed" : status === "continued" ? "completed" : status,
    stop_reason: `run_${word}`,
    cancel_requested: status === "cancelled",
    can_continue: false,
  });
}

export const notFound = (taskId: string): Refused =>
  new Refused(404, "task_not_found", "there is no such task", { task_id: taskId });
export const notLeased = (taskId: string): Refused =>
  new Refused(409, "task_not_leased", "no worker holds this task, or it is completed", { task_id: taskId });
