// Formats of inbox messages, and of the data of timers and queued activities. One process writes them and
// another reads them. JSON text.
import type { ExternalEvent, SerializedActivityOptions, Wire } from "../engine/events.ts";

/** A message in the inbox of a run: the outcome of a command, or a request. */
export type Message =
  | ExternalEvent
  | { readonly kind: "UpdateRequested"; readonly id: string; readonly name: string; readonly input: Wire }
  /** No event: the worker checks the run again. */
  | { readonly kind: "LookAgain" }
  /** The parent run ended. */
  | { readonly kind: "TerminateRequested"; readonly reason: string };

export interface Sent {
  readonly message: Message;
  /** The earliest time at which it was sent; the run's own clock does not lag behind it. */
  readonly notBefore?: number;
  /** Valid only for the child that this command of this run started. */
  readonly onlyFor?: { readonly runId: string; readonly n: number };
}

export const writeMessage = (message: Message, more: Omit<Sent, "message"> = {}): string =>
  JSON.stringify({ message, ...more } satisfies Sent);

export const readMessage = (text: string): Sent => JSON.parse(text) as Sent;

/** An activity that waits for a worker. */
export interface QueuedActivity {
  readonly workflowId: string;
  readonly runId: string;
  readonly n: number;
  readonly name: string;
  readonly input: Wire;
  readonly options?: SerializedActivityOptions;
  /** Attempts before this one. */
  readonly attempts: number;
  readonly scheduledAt: number;
  readonly heartbeat?: Wire;
}

export const writeActivity = (activity: QueuedActivity): string => JSON.stringify(activity);

/** Undefined: the data is damaged or edited. */
export function readActivity(text: string | undefined): QueuedActivity | undefined {
  try {
    const activity = JSON.parse(text ?? "null") as Partial<QueuedActivity> | null;
    const isOne =
      [activity?.workflowId, activity?.runId, activity?.name].every((word) => typeof word === "string") &&
      [activity?.n, activity?.attempts, activity?.scheduledAt].every((number) => typeof number === "number");
    return isOne ? (activity as QueuedActivity) : undefined;
  } catch {
    return undefined;
  }
}

/** The data of the reminder that checks the limits of a queued activity. */
export interface ActivityWatch {
  readonly workflowId: string;
  readonly runId: string;
  readonly n: number;
  /** The reminder type of the queued activity. */
  readonly type: string;
}

export interface RunTimer {
  readonly workflowId: string;
  readonly runId: string;
  readonly n: number;
}

/** Reminders of workflows have types that neither actors nor jobs can have. */
export const TIMER_TYPE = "$$timer";
export const TIMEOUT_TYPE = "$$timeout";
/** The number of the timeout that ends a run's cleanup. The timeout of the run itself is 0. */
export const CLEANUP_TIMEOUT = 1;
export const WATCH_TYPE = "$$watch";
/** Reminder types of a request to another process, and of its answer. */
export const askType = (worker: string): string => `$$ask/${worker}`;
export const ANSWER_TYPE = "$$answer";
/** Names contain no slash. */
export const activityType = (queue: string, name: string): string => `${ACTIVITY_MARK}${queue}/${name}`;
export const ACTIVITY_MARK = "$$activity/";

/** Undefined: not the type of an activity. */
export function readActivityType(type: string): { readonly queue: string; readonly name: string } | undefined {
  if (!type.startsWith(ACTIVITY_MARK)) return undefined;
  const [queue = "", name = ""] = type.slice(ACTIVITY_MARK.length).split("/");
  return { queue, name };
}

/** The end of a run, as its row records it. */
export const writeResult = (result: Wire): string => JSON.stringify({ result });
export const writeError = (error: unknown): string => JSON.stringify({ error });
