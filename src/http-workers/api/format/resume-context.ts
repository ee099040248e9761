// The cause of a workflow task: the wait of its run, and the last event. A worker that replays its code needs
// none of it; others find their position by it. Fields that do not apply are null. Pure.
import type { WorkflowTask } from "../../tasks/task-claimer.ts";
import { type EncodedEvent, encodeHistory } from "./history-events.ts";

const NOTHING = {
  workflow_wait_kind: null,
  open_wait_id: null,
  resume_source_kind: null,
  resume_source_id: null,
  workflow_update_id: null,
  workflow_command_id: null,
  workflow_signal_id: null,
  signal_name: null,
  signal_wait_id: null,
  condition_wait_id: null,
  activity_execution_id: null,
  activity_attempt_id: null,
  activity_type: null,
  child_call_id: null,
  child_workflow_run_id: null,
  timer_id: null,
  workflow_sequence: null,
  workflow_event_type: null,
} as const;

export function resumeContext(task: WorkflowTask): Record<string, unknown> {
  const { run, last, seen, update } = task;
  const { wait } = run;
  const waitId = wait === undefined ? null : `${run.runId}:wait-${wait.n}`;
  const isCondition = wait?.kind === "ConditionWaitOpened";
  const open = {
    ...NOTHING,
    open_wait_id: waitId,
    workflow_wait_kind: wait === undefined ? null : isCondition ? "condition" : "signal",
    ...(isCondition ? { condition_wait_id: waitId } : { signal_wait_id: waitId }),
  };
  if (update !== undefined) {
    const { id } = update;
    const named = { workflow_update_id: id, workflow_command_id: id };
    return {
      ...open,
      ...named,
      workflow_wait_kind: "update",
      resume_source_kind: "workflow_update",
      resume_source_id: id,
    };
  }
  const [latest] = last > seen ? encodeHistory(run, last - 1, last, 1) : [];
  return latest === undefined ? open : { ...open, ...happened(latest) };
}

/** Empty for an event that the worker itself decided. */
function happened({ event_type, payload }: EncodedEvent): Record<string, unknown> {
  const named = {
    workflow_event_type: event_type,
    workflow_sequence: payload.sequence ?? payload.workflow_sequence ?? null,
  };
  const source = (kind: string, id: unknown): Record<string, unknown> => ({
    ...named,
    resume_source_kind: kind,
    resume_source_id: id,
  });
  if (/^Activity(Completed|Failed|TimedOut|Cancelled)$/.test(event_type)) {
    const { activity_execution_id, activity_type = null } = payload;
    return { ...source("activity_execution", activity_execution_id), activity_execution_id, activity_type };
  }
  if (event_type.startsWith("ChildRun")) {
    const { child_call_id, child_workflow_run_id } = payload;
    const child = { workflow_wait_kind: "child", child_call_id, child_workflow_run_id };
    return { ...source("child_workflow_run", child_workflow_run_id), ...child };
  }
  if (event_type === "TimerFired") {
    const { timer_id, condition_wait_id, signal_wait_id } = payload;
    const waits = {
      ...(condition_wait_id !== undefined && { condition_wait_id }),
      ...(signal_wait_id !== undefined && { signal_wait_id }),
    };
    return { ...source("timer", timer_id), timer_id, ...waits };
  }
  if (event_type !== "SignalReceived") return {};
  const { signal_id, signal_name } = payload;
  return { ...source("workflow_signal", signal_id), workflow_signal_id: signal_id, signal_name };
}
