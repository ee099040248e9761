// Cancels a run of a remote worker with time to clean up. Pure.
//
// 1. The request is recorded with its deadline, and wakes the worker.
// 2. The worker replays to the call where its code waits, and names that call: the delivery. The steps of
//    that call end there, and the code gets an exception in place of their results. A delivery is recorded
//    once, and never changes.
// 3. The code cleans up with further steps, and ends. After the deadline the run is closed as cancelled,
//    whether its code has ended or not.
import { LimpetError } from "../../kernel/errors.ts";
import type { CommandEvent } from "../../workflows/engine/events.ts";
import { type Delivery, interrupted, type RunState, type StepCommand } from "../../workflows/history/run-state.ts";

/** The capability that a worker must register to receive cleanup requests. */
export const CLEANUP_CAPABILITY = "cooperative_cancellation";
export const CLEANUP_SECONDS = { least: 1, usual: 60, most: 3_600 } as const;
/** The name of the exception with which the worker's code ends after the cleanup. */
export const CANCELLED_NAME = "WorkflowCancelled";

/** Calls that a delivery may interrupt. */
export const CALL_KINDS = [
  ...(["activity", "local_activity", "timer", "condition", "signal", "child", "parallel", "selection_handle"] as const),
];

/**
 * True: the delivery is recorded already. Throws WORKFLOW_INVALID for a delivery that the history does not
 * allow.
 */
export function isDelivered(run: RunState, delivery: Delivery): boolean {
  const { cleanup, delivered } = run;
  if (cleanup === undefined || cleanup.id !== delivery.id) {
    throw new LimpetError("WORKFLOW_INVALID", `run ${run.runId} has no cancellation request ${delivery.id}`);
  }
  if (delivered === undefined) return false;
  const { kind: _, n: __, ...before } = delivered;
  if (JSON.stringify(before) === JSON.stringify(delivery)) return true;
  throw new LimpetError("WORKFLOW_INVALID", `the cancellation of run ${run.runId} is delivered at another call`);
}

/** Events that stop the open steps of the call. */
export function stopsOf(run: RunState, delivery: Delivery): CommandEvent[] {
  const { from, to } = interrupted(delivery);
  const open = [...run.open].filter((n) => n >= from && n < to);
  const timer = run.wait !== undefined && run.wait.n >= from && run.wait.n < to ? run.wait.timer : undefined;
  return [
    ...open.filter((n) => isStopped(run.steps.get(n)!)).map((n) => stopOf(n, run.steps.get(n)!)),
    ...(timer === undefined ? [] : [{ kind: "TimerCancelled", n: 0, of: timer } as const]),
  ];
}

/**
 * A child continues without its parent, because its own worker may be unable to clean up. An activity with
 * "abandon" continues as well.
 */
function isStopped(step: StepCommand): boolean {
  if (step.kind === "ChildWorkflowScheduled") return false;
  return step.kind !== "ActivityScheduled" || step.options?.onCancel !== "abandon";
}

/** The event that ends a step that the code no longer awaits. */
export function stopOf(n: number, step: StepCommand): CommandEvent {
  if (step.kind === "ActivityScheduled") return { kind: "ActivityCancelRequested", n: 0, of: n };
  if (step.kind === "TimerScheduled") return { kind: "TimerCancelled", n: 0, of: n };
  return { kind: "CancelSent", n, workflowId: step.workflowId };
}
