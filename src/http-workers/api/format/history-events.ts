// Encodes history events for workers in other languages. The same event is always encoded identically, so
// that a client with a stored history can compare. `payload.sequence` is the number of the command, not of
// the event. Pure.

import { isoMoment } from "../../../kernel/durations.ts";
import type { SerializedError } from "../../../kernel/serialized-error.ts";
import { readBinding } from "../../../workflows/definition/bindings.ts";
import type { HistoryEvent, ParallelGroup, WaitOpened } from "../../../workflows/engine/events.ts";
import type { RemoteRun } from "../../../workflows/history/run-state.ts";
import { identityOf, SELECT_MODE, type Selection, selectionOf } from "../../../workflows/history/selection.ts";
import { readableMemo } from "../../memo.ts";
import { deliveryEvent, requestEvent } from "./cleanup.ts";
import { blobOf, CODEC, envelopeOf, inputToArguments } from "./payloads.ts";
import { displayJson } from "./plain-values.ts";

export interface ToldEvent {
  readonly id: string;
  readonly sequence: number;
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly workflow_task_id: null;
  readonly workflow_command_id: string | null;
  readonly recorded_at: string;
  readonly timestamp: string;
}

type Payload = Record<string, unknown>;

/** Events after the given one, up to another, and at most `most`. */
export function tellHistory(run: RemoteRun, after: number, upTo: number, most: number): ToldEvent[] {
  const told: ToldEvent[] = [];
  // Steps are in order, so a binary search finds the first relevant one.
  let [low, high] = [0, run.history.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { from, events } = run.history[middle]!;
    if (from + events.length - 1 <= after) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < run.history.length; i++) {
    const { at, from, events } = run.history[i]!;
    for (const [j, event] of events.entries()) {
      const sequence = from + j;
      if (sequence > upTo || told.length === most) return told;
      if (sequence > after) told.push(tellEvent(run, event, sequence, at));
    }
  }
  return told;
}

function tellEvent(run: RemoteRun, event: HistoryEvent, sequence: number, at: number): ToldEvent {
  const [event_type, payload] = tell(run, event, at);
  const when = isoMoment(at);
  return {
    id: `${run.runId}:${sequence}`,
    sequence,
    event_type,
    payload,
    workflow_task_id: null,
    workflow_command_id: commandOf(event),
    recorded_at: when,
    timestamp: when,
  };
}

/** The request that caused an event. */
const commandOf = (event: HistoryEvent): string | null =>
  event.kind === "CleanupRequested" || event.kind === "CancellationDelivered" ? event.id : null;

function tell(run: RemoteRun, event: HistoryEvent, at: number): [type: string, payload: Payload] {
  switch (event.kind) {
    case "WorkflowStarted":
      return [
        event.kind,
        {
          workflow_type: event.type,
          workflow_instance_id: event.workflowId,
          workflow_run_id: event.runId,
          workflow_definition_fingerprint: readBinding(run.bound).definition ?? null,
          arguments: blobOf(inputToArguments(event.input)),
          payload_codec: CODEC,
          memo: displayJson(event.memo),
          search_attributes: displayJson(event.attributes),
          parent_workflow_instance_id: event.parent?.workflowId ?? null,
          parent_workflow_run_id: event.parent?.runId ?? null,
          continued_from_run_id: event.continuedFrom ?? null,
          timestamp: isoMoment(at),
        },
      ];
    case "ActivityScheduled":
      return [
        event.kind,
        {
          ...activity(run, event.n),
          arguments: blobOf(inputToArguments(event.input)),
          payload_codec: CODEC,
        },
      ];
    case "ActivityCompleted":
      return [event.kind, { ...activity(run, event.of), result: blobOf(event.result), payload_codec: CODEC }];
    case "ActivityFailed":
      return [event.kind, { ...activity(run, event.of), ...failure(event.error), attempt_number: event.attempts }];
    case "ActivityTimedOut":
      return [event.kind, { ...activity(run, event.of), ...failure(event.error), failure_category: "timeout" }];
    case "ActivityCancelled":
      return [event.kind, { ...activity(run, event.of), ...failure(event.error), failure_category: "cancelled" }];
    case "ActivityRetryScheduled": {
      const { attempts, pause } = event;
      const retry = { retry_attempt: attempts, retry_delay_seconds: pause / 1_000 };
      return [event.kind, { ...activity(run, event.of), ...failure(event.error), ...retry }];
    }
    case "TimerScheduled": {
      const delay_seconds = event.seconds ?? Math.max(0, Math.round((event.at - at) / 1_000));
      const fire_at = isoMoment(event.at);
      const timer = { timer_id: `${run.runId}:${event.n}`, delay_seconds, fire_at, timer_kind: "sleep" };
      return [event.kind, { ...step(event.n), ...timer, ...parallel(event.group) }];
    }
    case "TimerFired":
      return [event.kind, timerFired(run, event.of, event.wait)];
    case "TimerCancelled":
      return [event.kind, { sequence: event.of, timer_id: `${run.runId}:${event.of}` }];
    case "ChildWorkflowScheduled":
      return [event.kind, { ...child(run, event.n), child_workflow_instance_id: event.workflowId }];
    case "ChildRunCompleted": {
      const result = blobOf(event.result);
      return [event.kind, { ...child(run, event.of), result, output: result, payload_codec: CODEC }];
    }
    case "ChildRunFailed":
      return [childEnd(event.error), { ...child(run, event.of), ...failure(event.error) }];
    case "SignalReceived":
      return [
        event.kind,
        {
          signal_id: event.id,
          signal_name: event.name,
          arguments: blobOf(inputToArguments(event.input)),
          payload_codec: CODEC,
          workflow_sequence: event.wait ?? null,
        },
      ];
    case "UpdateAccepted":
    case "UpdateApplied": {
      const told = { update_id: event.id, update_name: event.name, payload_codec: CODEC };
      const wait = event.kind === "UpdateApplied" ? { workflow_sequence: event.wait ?? null } : {};
      return [event.kind, { ...told, arguments: blobOf(inputToArguments(event.input)), ...wait }];
    }
    case "UpdateRejected":
      return [event.kind, { update_id: event.id, update_name: event.name, ...failure(event.error) }];
    case "UpdateCompleted":
      return [event.kind, { update_id: event.id, result: blobOf(event.result), payload_codec: CODEC }];
    case "UpdateFailed":
      return ["UpdateCompleted", { update_id: event.id, ...failure(event.error) }];
    case "ConditionWaitOpened":
      return [
        event.kind,
        {
          ...step(event.n),
          condition_wait_id: waitId(run, event),
          condition_key: event.key ?? null,
          condition_definition_fingerprint: event.fingerprint ?? null,
          timeout_seconds: event.seconds ?? null,
        },
      ];
    case "SignalWaitOpened": {
      const { name, seconds } = event;
      const wait = { signal_wait_id: waitId(run, event), signal_name: name, timeout_seconds: seconds ?? null };
      return [event.kind, { ...step(event.n), ...wait }];
    }
    case "SideEffectRecorded":
      return [event.kind, { ...step(event.n), result: blobOf(event.result), payload_codec: CODEC }];
    case "VersionMarkerRecorded": {
      const { change, version, min = version, max = version } = event;
      const marker = { change_id: change, version, min_supported: min, max_supported: max };
      return [event.kind, { ...step(event.n), ...marker }];
    }
    case "SearchAttributesUpserted":
      return [event.kind, { ...step(event.n), attributes: displayJson(event.attributes) }];
    case "MemoUpserted":
      return [event.kind, { ...step(event.n), ...memoChange(run, event) }];
    case "CleanupRequested":
      return ["CooperativeCancellationRequested", requestEvent(run, event)];
    case "CancellationDelivered":
      return ["CooperativeCancellationDelivered", deliveryEvent(run, event)];
    case "SelectionResolved":
      return [event.kind, winner(run, event)];
    case "SelectionMemberCancelled":
      return ["SelectionOperationCancelled", member(run, selectionOf(run.steps.get(event.base)?.group))];
    case "WorkflowCompleted": {
      const output = blobOf(event.result);
      return [event.kind, { output, result: output, payload_codec: CODEC }];
    }
    case "WorkflowFailed":
    case "WorkflowCancelled":
      return [event.kind, failure(event.error)];
    case "WorkflowContinuedAsNew":
      return [event.kind, { workflow_type: event.type, continued_to_run_id: event.runId }];
    case "CancelRequested":
    case "WorkflowTerminated":
    case "WorkflowTimedOut":
      return [event.kind, { reason: event.reason, message: event.reason }];
    case "SignalSent":
    case "CancelSent":
      return [event.kind, { ...step(event.n), target_workflow_id: event.workflowId }];
    case "ActorCalled":
      return [event.kind, { ...step(event.n), actor_type: event.type, actor_id: event.id, method: event.method }];
    case "ActivityCancelRequested":
      return [event.kind, { sequence: event.of }];
  }
}

const step = (n: number): Payload => ({ sequence: n });

function activity(run: RemoteRun, n: number): Payload {
  const scheduled = run.steps.get(n);
  const activity_execution_id = `${run.runId}:${n}`;
  if (scheduled?.kind !== "ActivityScheduled") return { ...step(n), activity_execution_id };
  const { name, group, local, options } = scheduled;
  return {
    ...step(n),
    activity_type: name,
    activity_execution_id,
    ...parallel(group),
    ...(local === true && { execution_mode: "local", local_activity: true }),
    ...(options?.onCancel !== undefined && { cancellation_policy: options.onCancel }),
  };
}

/** Workers compare the change with the change that their code requests now, and read the memo as a whole. */
function memoChange(run: RemoteRun, { n, entries }: Extract<HistoryEvent, { kind: "MemoUpserted" }>): Payload {
  return { entries: envelopeOf(entries), merged: envelopeOf(readableMemo(run.memos.get(n) ?? {})) };
}

function member(run: RemoteRun, selection: Selection | undefined): Payload {
  if (selection === undefined) return {};
  const { key, index, base, size, kind } = selection.member;
  return {
    selection_group_id: selection.id,
    member_key: key,
    member_index: index,
    member_base_sequence: base,
    member_size: size,
    operation_kind: kind,
    operation_identity: identityOf(run, selection.member),
  };
}

function winner(run: RemoteRun, event: Extract<HistoryEvent, { kind: "SelectionResolved" }>): Payload {
  const selection = selectionOf(run.steps.get(event.winner)?.group);
  const decided = tellHistory(run, event.by - 1, event.by, 1)[0];
  return {
    selection_group_base_sequence: selection?.base,
    selection_group_size: selection?.size,
    ...member(run, selection),
    outcome: event.outcome,
    resolution_event_id: decided?.id,
    resolution_event_type: decided?.event_type,
  };
}

function child(run: RemoteRun, n: number): Payload {
  const scheduled = run.steps.get(n);
  const more =
    scheduled?.kind === "ChildWorkflowScheduled"
      ? {
          child_workflow_type: scheduled.type,
          workflow_type: scheduled.type,
          ...parallel(scheduled.group),
          parent_close_policy: scheduled.onParentClose === "cancel" ? "request_cancel" : scheduled.onParentClose,
        }
      : {};
  return { ...step(n), child_call_id: `${run.runId}:${n}`, child_workflow_run_id: `${run.runId}-${n}`, ...more };
}

function childEnd({ errorCode }: SerializedError): string {
  if (errorCode === "WORKFLOW_CANCELLED") return "ChildRunCancelled";
  return errorCode === "WORKFLOW_TERMINATED" ? "ChildRunTerminated" : "ChildRunFailed";
}

function timerFired(run: RemoteRun, of: number, wait: number | undefined): Payload {
  const timer_id = `${run.runId}:${of}`;
  if (wait === undefined) {
    const scheduled = run.steps.get(of);
    return { ...step(of), timer_id, timer_kind: "sleep", ...parallel(scheduled?.group) };
  }
  const opened = run.waits.get(wait);
  return opened?.kind === "SignalWaitOpened"
    ? { ...step(wait), timer_id, timer_kind: "signal_timeout", signal_wait_id: waitId(run, opened) }
    : { ...step(wait), timer_id, timer_kind: "condition_timeout", condition_wait_id: `${run.runId}:wait-${wait}` };
}

const waitId = (run: RemoteRun, { n }: WaitOpened): string => `${run.runId}:wait-${n}`;

function parallel(group: ParallelGroup | undefined): Payload {
  if (group === undefined) return {};
  return {
    parallel_group_id: group.id,
    parallel_group_kind: group.kind,
    parallel_group_base_sequence: group.base,
    parallel_group_size: group.size,
    parallel_group_index: group.index,
    ...(group.path !== undefined && { parallel_group_path: group.path }),
    ...(isSelected(group) && { parallel_group_mode: SELECT_MODE }),
  };
}

/** The step itself is the member, and not a step of a group that is one. */
const isSelected = (group: ParallelGroup): boolean => selectionOf(group)?.id === group.id;

/** The error without its stack, which never leaves a process. */
export function failure({ message, error, errorCode, cause }: SerializedError): Payload {
  const name = error?.name ?? cause?.name ?? errorCode;
  return {
    message,
    exception_type: name,
    exception_class: name,
    exception: { type: name, class: name, message },
    non_retryable: true,
    failure_category: errorCode === "ACTIVITY_TIMED_OUT" ? "timeout" : "application",
  };
}
