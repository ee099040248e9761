// Whether what the code decides is what the history says it decided, and how both are told to people. Pure.
import type { CommandEvent } from "./events.ts";

/** What makes a decision what it is; values that go along may differ, since code may be mended. */
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

/** Also what goes along is the same; who runs it makes no difference. */
export const isEqualDecision = (one: CommandEvent, other: CommandEvent): boolean => written(one) === written(other);

const written = (decision: CommandEvent): string => JSON.stringify({ ...decision, eager: undefined });

/** Of what goes along. */
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

/** Frames of the engine itself; everything above them is code of the workflow. */
const ENGINE = new URL(".", import.meta.url).href;

/** Where in the code of the workflow it was decided, as far as the stack of an error tells. */
export function placeIn({ stack = "" }: Error): string | undefined {
  for (const line of stack.split("\n")) {
    const place = /\(?(file:[^()]+:\d+:\d+)\)?$/.exec(line)?.[1];
    if (place !== undefined && !place.startsWith(ENGINE)) return place;
  }
  return undefined;
}
