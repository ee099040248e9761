// Compares the commands of the code with the commands in the history, and describes both for display. Pure.
import type { CommandEvent } from "./events.ts";

/** The identity of a command. Other values may differ, because code may be corrected. */
export function subjectOf(decision: CommandEvent): string {
  switch (decision.kind) {
    case "ActivityScheduled":
      return decision.name;
    case "ActorCalled":
      return `${decision.type}.${decision.method}`;
    case "ChildWorkflowScheduled":
      return `${decision.type} ${decision.workflowId}`;
    case "SignalSent":
      return `${decision.workflowId} ${decision.name}`;
    case "CancelSent":
      return decision.workflowId;
    case "VersionMarkerRecorded":
      return decision.change;
    case "TimerCancelled":
    case "ActivityCancelRequested":
      return String(decision.of);
    case "UpdateCompleted":
    case "UpdateFailed":
      return decision.id;
    default:
      return "";
  }
}

export function isSameDecision(one: CommandEvent, other: CommandEvent): boolean {
  return one.kind === other.kind && one.n === other.n && subjectOf(one) === subjectOf(other);
}

/** Compares all values, except for the place where the activity runs. */
export const isEqualDecision = (one: CommandEvent, other: CommandEvent): boolean => written(one) === written(other);

const written = (decision: CommandEvent): string => JSON.stringify({ ...decision, eager: undefined });

/** The length of the shown values. */
const SHOWN = 200;

export function describeWithValues(decision: CommandEvent): string {
  const { kind, n, ...values } = decision;
  const text = JSON.stringify({ ...values, eager: undefined });
  return `${kind} ${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text} as decision ${n}`;
}

export function describeDecision(decision: CommandEvent): string {
  const subject = subjectOf(decision);
  return `${decision.kind}${subject === "" ? "" : ` ${subject}`} as decision ${decision.n}`;
}

/** Stack frames of the engine; all other frames belong to the workflow's code. */
const ENGINE = new URL(".", import.meta.url).href;

/** The place in the workflow's code that issued the command, from the stack of an error. */
export function placeIn({ stack = "" }: Error): string | undefined {
  for (const line of stack.split("\n")) {
    const place = /\(?(file:[^()]+:\d+:\d+)\)?$/.exec(line)?.[1];
    if (place !== undefined && !place.startsWith(ENGINE)) return place;
  }
  return undefined;
}
