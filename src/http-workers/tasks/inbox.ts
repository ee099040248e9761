// Moves inbox messages of a remote worker's run into its history before the worker sees it. Pure.
import { LimpetError } from "../../kernel/errors.ts";
import { type SerializedError, serializeError } from "../../kernel/serialized-error.ts";
import type { StoredInboxMessage } from "../../ports/store/workflows.ts";
import { type Message, readMessage } from "../../workflows/definition/messages.ts";
import type { ExternalEvent, HistoryEvent } from "../../workflows/engine/events.ts";
import { writeEventBatch } from "../../workflows/engine/events.ts";
import { isMeant } from "../../workflows/engine/family.ts";
import type { RunState } from "../../workflows/history/run-state.ts";
import { outcomeOf } from "../../workflows/history/selection.ts";

/** The end of a run without its worker. */
export interface EndFromOutside {
  readonly status: "cancelled" | "terminated";
  readonly error: SerializedError;
}

export interface TakenMessages {
  readonly events: readonly HistoryEvent[];
  readonly taken: number;
  readonly at: number;
  readonly end: EndFromOutside | undefined;
}

/** The capabilities that a run's worker registered. */
export interface WorkerAbilities {
  /** The run has an update of that name. */
  hasUpdate(name: string): boolean;
  /** The worker can clean up after a cancelled run. If it cannot, the run ends at once. */
  readonly cleansUp: boolean;
}

/**
 * Changes the run as if the events were written. A worker that waits for a condition gets one event at a
 * time, and reports its commands before the next one. Only then does its code do the same at a replay.
 */
export function takeInbox(
  run: RunState,
  messages: readonly StoredInboxMessage[],
  now: number,
  able: WorkerAbilities,
): TakenMessages {
  const events: HistoryEvent[] = [];
  const from = run.last + 1;
  let [taken, at, isNudged] = [0, Math.max(run.at, now), false];
  let end: EndFromOutside | undefined;
  for (const { number, data } of messages) {
    taken = number;
    const sent = readMessage(data);
    const { notBefore } = sent;
    const message = inReach(sent.message, able);
    if (!isMeant(run.started, sent)) continue;
    if (message.kind === "LookAgain") isNudged = true;
    const more = happened(run, message, able);
    if (more.length === 0) continue;
    at = Math.max(at, notBefore ?? 0);
    const step = { at, events: more };
    run.append(step, writeEventBatch(step).data.length);
    events.push(...more);
    end = endBy(message);
    if (end !== undefined || (run.wait?.kind === "ConditionWaitOpened" && run.needsWorker)) break;
  }
  run.join(from, at);
  if (isNudged) run.isDue ||= !run.isOver;
  return { events, taken, at, end };
}

/** A worker that cannot clean up does not get the request: it would never continue the run. */
function inReach(message: Message, { cleansUp }: WorkerAbilities): Message {
  if (message.kind !== "CleanupRequested" || cleansUp) return message;
  return { kind: "CancelRequested", reason: message.reason };
}

function happened(run: RunState, message: Message, able: WorkerAbilities): HistoryEvent[] {
  switch (message.kind) {
    case "LookAgain":
      return [];
    case "TerminateRequested":
      return [{ kind: "WorkflowTerminated", reason: message.reason }];
    case "CancelRequested": {
      const error = serializeError(cancelled(message.reason));
      return [message, { kind: "WorkflowCancelled", n: run.next, error }];
    }
    case "UpdateRequested":
      return requested(run, message, able);
    default:
      return run.wants(message) ? [withWait(run, message), ...resolved(run, message)] : [];
  }
}

const FAILURES: ReadonlySet<string> = new Set<ExternalEvent["kind"]>([
  ...(["ActivityFailed", "ActivityTimedOut", "ActivityCancelled", "ChildRunFailed"] as const),
]);
const RESULTS: ReadonlySet<string> = new Set<ExternalEvent["kind"]>([
  "ActivityCompleted",
  "ChildRunCompleted",
  "TimerFired",
]);

/** The event of a selection's winner stands in the history right after the event that decided it. */
function resolved(run: RunState, event: ExternalEvent): ExternalEvent[] {
  if (!("of" in event) || !(FAILURES.has(event.kind) || RESULTS.has(event.kind))) return [];
  const outcome = outcomeOf(run, event.of, FAILURES.has(event.kind));
  if (outcome === undefined) return [];
  return [{ kind: "SelectionResolved", winner: event.of, outcome, by: run.last + 1 }];
}

function requested(
  run: RunState,
  { id, name, input }: Extract<Message, { kind: "UpdateRequested" }>,
  able: WorkerAbilities,
): ExternalEvent[] {
  const accepted = { kind: "UpdateAccepted", id, name, input } as const;
  if (!run.wants(accepted)) return [];
  if (able.hasUpdate(name)) return [accepted];
  const error = new LimpetError("UPDATE_UNKNOWN", `workflow ${run.workflowId} has no update called ${name}`);
  return [{ kind: "UpdateRejected", id, name, error: serializeError(error) }];
}

/** Adds the number of the wait that was open when the event arrived. */
function withWait(run: RunState, event: ExternalEvent): ExternalEvent {
  const { wait } = run;
  if (wait === undefined) return event;
  if (event.kind === "TimerFired") return wait.timer === event.of ? { ...event, wait: wait.n } : event;
  return event.kind === "SignalReceived" ? { ...event, wait: wait.n } : event;
}

function endBy(message: Message): EndFromOutside | undefined {
  if (message.kind === "CancelRequested")
    return { status: "cancelled", error: serializeError(cancelled(message.reason)) };
  if (message.kind !== "TerminateRequested") return undefined;
  return { status: "terminated", error: serializeError(new LimpetError("WORKFLOW_TERMINATED", message.reason)) };
}

const cancelled = (reason: string): LimpetError =>
  new LimpetError("WORKFLOW_CANCELLED", reason === "" ? "the workflow was asked to end" : reason);
