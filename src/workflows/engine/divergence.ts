// Compares the commands of the code with the commands in the history, and describes both for display. Pure.
import type { CommandEvent } from "./events.ts";

/** The identity of a command. Other values may differ, because code may be corrected. */
function commandSubject(command: CommandEvent): string {
  switch (command.kind) {
    case "ActivityScheduled":
      return command.name;
    case "ActorCalled":
      return `${command.type}.${command.method}`;
    case "ChildWorkflowScheduled":
      return `${command.type} ${command.workflowId}`;
    case "SignalSent":
      return `${command.workflowId} ${command.name}`;
    case "CancelSent":
      return command.workflowId;
    case "VersionMarkerRecorded":
      return command.change;
    case "TimerCancelled":
    case "ActivityCancelRequested":
      return String(command.of);
    case "UpdateCompleted":
    case "UpdateFailed":
      return command.id;
    default:
      return "";
  }
}

export function isSameCommand(one: CommandEvent, other: CommandEvent): boolean {
  return one.kind === other.kind && one.n === other.n && commandSubject(one) === commandSubject(other);
}

/** Compares all values, except for the place where the activity runs. */
export const isEqualCommand = (one: CommandEvent, other: CommandEvent): boolean => written(one) === written(other);

const written = (command: CommandEvent): string => JSON.stringify({ ...command, eager: undefined });

/** The length of the shown values. */
const SHOWN = 200;

export function describeWithValues(command: CommandEvent): string {
  const { kind, n, ...values } = command;
  const text = JSON.stringify({ ...values, eager: undefined });
  return `${kind} ${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text} as decision ${n}`;
}

export function describeCommand(command: CommandEvent): string {
  const subject = commandSubject(command);
  return `${command.kind}${subject === "" ? "" : ` ${subject}`} as decision ${command.n}`;
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
