// What waits in a run's inbox, and what timers and queued activities carry: written by one process, read by another. JSON text.
import type { ActivityOptionsTold, ExternalEvent, Wire } from "../engine/events.ts";

/** What can arrive at a run: news of what it waits for, or a request. */
export type Message =
  | ExternalEvent
  | { readonly kind: "UpdateRequested"; readonly id: string; readonly name: string; readonly input: Wire }
  /** Nothing happened; its worker is to look again. */
  | { readonly kind: "LookAgain" }
  /** Its parent is over. */
  | { readonly kind: "TerminateRequested"; readonly reason: string };

export interface Sent {
  readonly message: Message;
  /** The time before which it cannot have been sent; the run's own clock does not lag behind it. */
  readonly notBefore?: number | undefined;
  /** It counts for the child that this decision of this run has started, and for no other run. */
  readonly onlyFor?: { readonly runId: string; readonly n: number } | undefined;
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
  readonly options?: ActivityOptionsTold;
  /** Attempts before this one. */
  readonly attempts: number;
  readonly scheduledAt: number;
  readonly heartbeat?: Wire;
}

export const writeActivity = (activity: QueuedActivity): string => JSON.stringify(activity);

/** Undefined: it was damaged or edited. */
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

/** Somebody looks after the limits of an activity that waits in a queue. */
export interface ActivityWatch {
  readonly workflowId: string;
  readonly runId: string;
  readonly n: number;
  /** Of the reminder by which the activity waits. */
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
/** The number of a run's timeout that ends its cleanup. That of the run itself is 0. */
export const CLEANUP_TIMEOUT = 1;
export const WATCH_TYPE = "$$watch";
/** What is asked of another process, and what it answers. */
export const askType = (worker: string): string => `$$ask/${worker}`;
export const ANSWER_TYPE = "$$answer";
/** No name has a slash in it. */
export const activityType = (queue: string, name: string): string => `${ACTIVITY_MARK}${queue}/${name}`;
export const ACTIVITY_MARK = "$$activity/";

/** Undefined: that is not the type of an activity. */
export function readActivityType(type: string): { readonly queue: string; readonly name: string } | undefined {
  if (!type.startsWith(ACTIVITY_MARK)) return undefined;
  const [queue = "", name = ""] = type.slice(ACTIVITY_MARK.length).split("/");
  return { queue, name };
}

/** How a run ended, as its row keeps it. */
export const writeResult = (result: Wire): string => JSON.stringify({ result });
export const writeError = (error: unknown): string => JSON.stringify({ error });
