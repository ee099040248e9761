// How long an activity may wait, run and be silent, and what follows from that: decided from what stands in its row, so that every process
// comes to the same answer. Pure.
//
// An activity in its queue has a row. Its tick counts attempts that were begun and not heard of since (`attempt`), and says when the
// latest of them was begun (`due`); attempts that failed are counted in what it carries.
import type { SerializedError } from "../../kernel/serialized-error.ts";
import type { StoredReminder, Tick } from "../../ports/reminders.ts";
import { pauseAfter, startToCloseOf } from "../definition/activity-options.ts";
import type { QueuedActivity } from "../definition/messages.ts";
import type { ExternalEvent } from "../engine/events.ts";
import { type ActivityFailure, lastNews, timeoutOf } from "./failure.ts";

interface Limited {
  readonly options?: QueuedActivity["options"] | undefined;
  readonly scheduledAt: number;
}

interface Timed extends Limited {
  readonly name: string;
  readonly n: number;
}

/** Until when it has to be done, with all its attempts. */
export const deadlineOf = ({ options, scheduledAt }: Limited): number =>
  scheduledAt + (options?.scheduleToClose ?? Number.POSITIVE_INFINITY);

/** How long an attempt that begins now may take. */
export const attemptMs = (activity: Limited, now: number): number =>
  Math.min(startToCloseOf(activity.options), deadlineOf(activity) - now);

/** What becomes of an activity after an attempt has failed: it is tried again after a pause, or its run is told. */
export function afterFailure(
  activity: Timed,
  attempts: number,
  failure: ActivityFailure,
  now: number,
): { readonly pauseMs: number } | { readonly news: ExternalEvent } {
  const { n, options } = activity;
  const isOver = failure.isFinal || failure.kind === "cancelled";
  const pauseMs = isOver ? undefined : pauseAfter(options, attempts, failure.names);
  if (pauseMs === undefined) return { news: lastNews(n, failure, attempts) };
  // It would come too late, so nobody need wait for it.
  if (now + pauseMs >= deadlineOf(activity)) return { news: timedOut(activity, notDone(activity), failure.error) };
  return { pauseMs };
}

export const timedOut = ({ n }: Pick<Timed, "n">, problem: string, last?: SerializedError): ExternalEvent => ({
  kind: "ActivityTimedOut",
  of: n,
  error: timeoutOf(problem, last),
});

const notDone = ({ name, options }: Timed): string => `${name} was not done within ${options?.scheduleToClose} ms`;

/** What is wrong with beginning an attempt now, while nobody has the row. `begun`: attempts that were not heard of since. */
export function lateness(activity: QueuedActivity, begun: number, now: number): string | undefined {
  const { options, scheduledAt, attempts, name } = activity;
  const { scheduleToStart, attempts: most } = options ?? {};
  if (now >= deadlineOf(activity)) return notDone(activity);
  const isWaiting = begun === 0 && attempts === 0;
  if (isWaiting && scheduleToStart !== undefined && now - scheduledAt >= scheduleToStart) {
    return `${name} was not begun within ${scheduleToStart} ms`;
  }
  if (begun > 0 && most !== undefined && attempts + begun >= most) return notHeard(name);
  return undefined;
}

export const notHeard = (name: string): string => `${name} was begun and not heard of again: its worker is gone`;

// ——— Somebody looks after it, whether or not there are workers for it.

/**
 * Whether a worker is gone is asked no more often than this. Where there are others they notice it themselves, as soon as its lease is over;
 * this is for when there are none.
 */
export const LOOK_MS = 30_000;

/** When its limits are looked at first; undefined: it has none that nobody else would notice. */
export function firstLook({ options, scheduledAt }: Limited): number | undefined {
  const { scheduleToStart, scheduleToClose, attempts } = options ?? {};
  const limits = [scheduleToStart, scheduleToClose, attempts === undefined ? undefined : silenceOf(options)];
  const first = Math.min(...limits.map((ms) => ms ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(first) ? scheduledAt + first : undefined;
}

/** How long an attempt whose worker is gone may go unnoticed. */
const silenceOf = (options: QueuedActivity["options"]): number =>
  Math.max(options?.heartbeat ?? startToCloseOf(options), LOOK_MS);

/** Whether it is over by its limits, or when to look again; undefined: there is nothing left to look after. */
export function lookAt(
  activity: QueuedActivity,
  { tick, leasedUntil }: Pick<StoredReminder, "tick" | "leasedUntil">,
  now: number,
): { readonly problem: string } | { readonly again: number | undefined } {
  const { options, attempts, scheduledAt } = activity;
  const isHeld = leasedUntil !== undefined && leasedUntil > now;
  // Whoever has it is at work; what counts then is the time for all of it alone.
  const problem = isHeld && tick.attempt > 0 ? undefined : lateness(activity, tick.attempt, now);
  if (problem !== undefined) return { problem };
  if (now >= deadlineOf(activity)) return { problem: notDone(activity) };
  const moments = [deadlineOf(activity)];
  const isWaiting = tick.attempt === 0 && attempts === 0;
  if (isWaiting && options?.scheduleToStart !== undefined) moments.push(scheduledAt + options.scheduleToStart);
  if (options?.attempts !== undefined) moments.push(nextSilence(activity, tick, leasedUntil, now));
  const next = Math.max(Math.min(...moments), now + 1);
  return { again: Number.isFinite(next) ? next : undefined };
}

function nextSilence({ options }: QueuedActivity, tick: Tick, leasedUntil: number | undefined, now: number): number {
  const silenceMs = silenceOf(options);
  // It waits: for a worker, or for its next attempt.
  if (tick.attempt === 0 || leasedUntil === undefined) return Math.max(now, tick.at) + silenceMs;
  const lostAt = options?.heartbeat === undefined ? Math.max(leasedUntil, tick.due + silenceMs) : leasedUntil;
  return Math.max(lostAt, now + LOOK_MS);
}
