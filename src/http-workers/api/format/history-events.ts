// Encodes history events for workers in other languages, in pages. The same event is always encoded
// identically, so that a client with a stored history can compare. `payload.sequence` is the number of the
// command, not of the event. A page token is the number of the last event before the page. Pure.
import { isoMoment } from "../../../kernel/durations.ts";
import type { SerializedError } from "../../../kernel/serialized-error.ts";
import { readPin } from "../../../workflows/definition/pins.ts";
import type { HistoryEvent, ParallelGroup, WaitOpened } from "../../../workflows/engine/events.ts";
import type { RunState } from "../../../workflows/history/run-state.ts";
import { identityOf, SELECT_MODE, type Selection, selectionOf } from "../../../workflows/history/selection.ts";
import { readableMemo } from "../../commands/memo.ts";
import { Refused } from "../../refusal.ts";
import { HISTORY_PAGE, MOST_HISTORY_PAGE } from "../cluster-info.ts";
import { type Fields, optionalWhole, text } from "../fields.ts";
import { deliveryEvent, requestEvent } from "./cleanup.ts";
import { blobOf, CODEC, envelopeOf, inputToArguments } from "./payloads.ts";
import { displayJson } from "./run-fields.ts";

export interface EncodedEvent {
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
export function encodeHistory(run: RunState, after: number, upTo: number, most: number): EncodedEvent[] {
  const encoded: EncodedEvent[] = [];
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
      if (sequence > upTo || encoded.length === most) return encoded;
      if (sequence > after) encoded.push(encodeEvent(run, event, sequence, at));
    }
  }
  return encoded;
}

function encodeEvent(run: RunState, event: HistoryEvent, sequence: number, at: number): EncodedEvent {
  const payloadOf = PAYLOADS[event.kind] as (run: RunState, event: HistoryEvent, at: number) => Payload;
  const when = isoMoment(at);
  return {
    id: `${run.runId}:${sequence}`,
    sequence,
    event_type: typeOf(event),
    payload: payloadOf(run, event, at),
    workflow_task_id: null,
    workflow_command_id: commandOf(event),
    recorded_at: when,
    timestamp: when,
  };
}

/** The request that caused an event. */
const commandOf = (event: HistoryEvent): string | null =>
  event.kind === "CleanupRequested" || event.kind === "CancellationDelivered" ? event.id : null;

type EventOf<Kind extends HistoryEvent["kind"]> = Extract<HistoryEvent, { kind: Kind }>;

/** The type of an event in the protocol, where it differs from its kind here. */
const TYPES: Partial<Record<HistoryEvent["kind"], string>> = {
  UpdateFailed: "UpdateCompleted",
  CleanupRequested: "CooperativeCancellationRequested",
  CancellationDelivered: "CooperativeCancellationDelivered",
  SelectionMemberCancelled: "SelectionOperationCancelled",
};

const typeOf = (event: HistoryEvent): string =>
  event.kind === "ChildRunFailed" ? childEnd(event.error) : (TYPES[event.kind] ?? event.kind);

const withReason = (_run: RunState, { reason }: { readonly reason: string }): Payload => ({ reason, message: reason });
const withFailure = (_run: RunState, event: { readonly error: SerializedError }): Payload =>
  failurePayload(event.error);
const toTarget = (_run: RunState, event: { readonly n: number; readonly workflowId: string }): Payload => ({
  ...step(event.n),
  target_workflow_id: event.workflowId,
});

/** The payload of each kind of event; `at`: the time of the event. */
const PAYLOADS: {
  readonly [Kind in HistoryEvent["kind"]]: (run: RunState, event: EventOf<Kind>, at: number) => Payload;
} = {
  WorkflowStarted: (run, event, at) => ({
    workflow_type: event.type,
    workflow_instance_id: event.workflowId,
    workflow_run_id: event.runId,
    workflow_definition_fingerprint: readPin(run.pinned).definition ?? null,
    arguments: blobOf(inputToArguments(event.input)),
    payload_codec: CODEC,
    memo: displayJson(event.memo),
    search_attributes: displayJson(event.attributes),
    parent_workflow_instance_id: event.parent?.workflowId ?? null,
    parent_workflow_run_id: event.parent?.runId ?? null,
    continued_from_run_id: event.continuedFrom ?? null,
    timestamp: isoMoment(at),
  }),

  ActivityScheduled: (run, { n, input }) => ({
    ...activity(run, n),
    arguments: blobOf(inputToArguments(input)),
    payload_codec: CODEC,
  }),
  ActivityCompleted: (run, { of, result }) => ({ ...activity(run, of), result: blobOf(result), payload_codec: CODEC }),
  ActivityFailed: (run, { of, error, attempts }) => ({
    ...activity(run, of),
    ...failurePayload(error),
    attempt_number: attempts,
  }),
  ActivityTimedOut: (run, { of, error }) => ({
    ...activity(run, of),
    ...failurePayload(error),
    failure_category: "timeout",
  }),
  ActivityCancelled: (run, { of, error }) => ({
    ...activity(run, of),
    ...failurePayload(error),
    failure_category: "cancelled",
  }),
  ActivityRetryScheduled: (run, { of, error, attempts, pause }) => ({
    ...activity(run, of),
    ...failurePayload(error),
    retry_attempt: attempts,
    retry_delay_seconds: pause / 1_000,
  }),
  ActivityCancelRequested: (_run, { of }) => step(of),

  TimerScheduled: (run, { n, seconds, at: fireAt, group }, at) => ({
    ...step(n),
    timer_id: `${run.runId}:${n}`,
    delay_seconds: seconds ?? Math.max(0, Math.round((fireAt - at) / 1_000)),
    fire_at: isoMoment(fireAt),
    timer_kind: "sleep",
    ...parallel(group),
  }),
  TimerFired: (run, { of, wait }) => timerFired(run, of, wait),
  TimerCancelled: (run, { of }) => ({ ...step(of), timer_id: `${run.runId}:${of}` }),

  ChildWorkflowScheduled: (run, { n, workflowId }) => ({ ...child(run, n), child_workflow_instance_id: workflowId }),
  ChildRunCompleted: (run, event) => {
    const result = blobOf(event.result);
    return { ...child(run, event.of), result, output: result, payload_codec: CODEC };
  },
  ChildRunFailed: (run, { of, error }) => ({ ...child(run, of), ...failurePayload(error) }),

  SignalReceived: (_run, { id, name, input, wait }) => ({
    signal_id: id,
    signal_name: name,
    arguments: blobOf(inputToArguments(input)),
    payload_codec: CODEC,
    workflow_sequence: wait ?? null,
  }),
  UpdateAccepted: (_run, event) => update(event),
  UpdateApplied: (_run, event) => ({ ...update(event), workflow_sequence: event.wait ?? null }),
  UpdateRejected: (_run, { id, name, error }) => ({ update_id: id, update_name: name, ...failurePayload(error) }),
  UpdateCompleted: (_run, { id, result }) => ({ update_id: id, result: blobOf(result), payload_codec: CODEC }),
  UpdateFailed: (_run, { id, error }) => ({ update_id: id, ...failurePayload(error) }),

  ConditionWaitOpened: (run, event) => ({
    ...step(event.n),
    condition_wait_id: waitId(run, event),
    condition_key: event.key ?? null,
    condition_definition_fingerprint: event.fingerprint ?? null,
    timeout_seconds: event.seconds ?? null,
  }),
  SignalWaitOpened: (run, event) => ({
    ...step(event.n),
    signal_wait_id: waitId(run, event),
    signal_name: event.name,
    timeout_seconds: event.seconds ?? null,
  }),

  SideEffectRecorded: (_run, { n, result }) => ({ ...step(n), result: blobOf(result), payload_codec: CODEC }),
  VersionMarkerRecorded: (_run, { n, change, version, min = version, max = version }) => ({
    ...step(n),
    change_id: change,
    version,
    min_supported: min,
    max_supported: max,
  }),
  SearchAttributesUpserted: (_run, { n, attributes }) => ({ ...step(n), attributes: displayJson(attributes) }),
  // Workers compare the change with the change that their code requests now, and read the memo as a whole.
  MemoUpserted: (run, { n, entries }) => ({
    ...step(n),
    entries: envelopeOf(entries),
    merged: envelopeOf(readableMemo(run.memos.get(n) ?? {})),
  }),
  SignalSent: toTarget,
  CancelSent: toTarget,
  ActorCalled: (_run, { n, type, id, method }) => ({ ...step(n), actor_type: type, actor_id: id, method }),

  CleanupRequested: requestEvent,
  CancellationDelivered: deliveryEvent,
  SelectionResolved: winner,
  SelectionMemberCancelled: (run, { base }) => member(run, selectionOf(run.steps.get(base)?.group)),

  WorkflowCompleted: (_run, event) => {
    const output = blobOf(event.result);
    return { output, result: output, payload_codec: CODEC };
  },
  WorkflowContinuedAsNew: (_run, { type, runId }) => ({ workflow_type: type, continued_to_run_id: runId }),
  WorkflowFailed: withFailure,
  WorkflowCancelled: withFailure,
  CancelRequested: withReason,
  WorkflowTerminated: withReason,
  WorkflowTimedOut: withReason,
};

const step = (n: number): Payload => ({ sequence: n });

function activity(run: RunState, n: number): Payload {
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
    cancellation_policy: options?.onCancel,
  };
}

function member(run: RunState, selection: Selection | undefined): Payload {
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

function winner(run: RunState, event: EventOf<"SelectionResolved">): Payload {
  const selection = selectionOf(run.steps.get(event.winner)?.group);
  const decided = encodeHistory(run, event.by - 1, event.by, 1)[0];
  return {
    selection_group_base_sequence: selection?.base,
    selection_group_size: selection?.size,
    ...member(run, selection),
    outcome: event.outcome,
    resolution_event_id: decided?.id,
    resolution_event_type: decided?.event_type,
  };
}

function child(run: RunState, n: number): Payload {
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

const update = ({ id, name, input }: EventOf<"UpdateAccepted" | "UpdateApplied">): Payload => ({
  update_id: id,
  update_name: name,
  payload_codec: CODEC,
  arguments: blobOf(inputToArguments(input)),
});

function childEnd({ errorCode }: SerializedError): string {
  if (errorCode === "WORKFLOW_CANCELLED") return "ChildRunCancelled";
  return errorCode === "WORKFLOW_TERMINATED" ? "ChildRunTerminated" : "ChildRunFailed";
}

function timerFired(run: RunState, of: number, wait: number | undefined): Payload {
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

const waitId = (run: RunState, { n }: WaitOpened): string => `${run.runId}:wait-${n}`;

function parallel(group: ParallelGroup | undefined): Payload {
  if (group === undefined) return {};
  return {
    parallel_group_id: group.id,
    parallel_group_kind: group.kind,
    parallel_group_base_sequence: group.base,
    parallel_group_size: group.size,
    parallel_group_index: group.index,
    parallel_group_path: group.path,
    parallel_group_mode: isSelected(group) ? SELECT_MODE : undefined,
  };
}

/** The step itself is the member, and not a step of a group that is one. */
const isSelected = (group: ParallelGroup): boolean => selectionOf(group)?.id === group.id;

/** The error without its stack, which never leaves a process. */
function failurePayload({ message, error, errorCode, cause }: SerializedError): Payload {
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

export const requestedPageSize = (fields: Fields): number | undefined =>
  optionalWhole(fields, "history_page_size", 1, MOST_HISTORY_PAGE);
export const pageSizeOf = (fields: Fields): number => requestedPageSize(fields) ?? HISTORY_PAGE;

/** Events after the given one, their range, and the token of the next page. */
export function encodePage(run: RunState, after: number, last: number, size: number): Record<string, unknown> {
  const events = encodeHistory(run, after, last, size);
  const end = after + events.length;
  return {
    first_history_sequence: after + 1,
    last_history_sequence: last,
    history_events: events,
    next_history_page_token: end >= last ? null : Buffer.from(String(end)).toString("base64"),
  };
}

export function readToken(fields: Fields): number {
  const token = Buffer.from(text(fields, "next_history_page_token"), "base64").toString();
  if (!/^\d{1,15}$/.test(token))
    throw new Refused(400, "invalid_page_token", "the token does not belong to this history");
  return Number(token);
}
