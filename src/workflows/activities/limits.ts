// Decides how long an activity may wait, run and stay silent. Every decision depends only on the row of the
// activity, so every process comes to the same result. Pure.
//
// A queued activity has a row. Its tick counts attempts that began without an outcome (`attempt`) and the
// start of the latest one (`due`). The row's data counts the attempts that failed.
import type { SerializedError } from "../../kernel/serialized-error.ts";
import type { StoredReminder, Tick } from "../../ports/store/reminders.ts";
import { pauseAfter, startToCloseOf } from "../definition/activity-options.ts";
import type { QueuedActivity } from "../definition/messages.ts";
import type { ExternalEvent } from "../engine/events.ts";
import { type ActivityFailure, finalEvent, timeoutOf } from "./failure.ts";

interface Limited {
  readonly options?: QueuedActivity["options"];
  readonly scheduledAt: number;
}

interface Timed extends Limited {
  readonly name: string;
  readonly n: number;
}

/** The moment by which the activity must be done, with all its attempts. */
export const deadlineOf = ({ options, scheduledAt }: Limited): number =>
  scheduledAt + (options?.scheduleToClose ?? Number.POSITIVE_INFINITY);

/** The time limit of an attempt that begins now. */
export const attemptMs = (activity: Limited, now: number): number =>
  Math.min(startToCloseOf(activity.options), deadlineOf(activity) - now);

/** Decides after a failed attempt: either a pause before the next one, or the event that notifies the run. */
export function afterFailure(
  activity: Timed,
  attempts: number,
  failure: ActivityFailure,
  now: number,
): { readonly pauseMs: number } | { readonly event: ExternalEvent } {
  const { n, options } = activity;
  const isOver = failure.isFinal || failure.kind === "cancelled";
  const pauseMs = isOver ? undefined : pauseAfter(options, attempts, failure.names);
  if (pauseMs === undefined) return { event: finalEvent(n, failure, attempts) };
  // The next attempt would begin after the deadline, so the run is notified now.
  if (now + pauseMs >= deadlineOf(activity)) return { event: timedOut(activity, notDone(activity), failure.error) };
  return { pauseMs };
}

export const timedOut = ({ n }: Pick<Timed, "n">, problem: string, last?: SerializedError): ExternalEvent => ({
  kind: "ActivityTimedOut",
  of: n,
  error: timeoutOf(problem, last),
});

const notDone = ({ name, options }: Timed): string => `${name} was not done within ${options?.scheduleToClose} ms`;

/**
 * The reason why no attempt may begin now, for a row without a lease. `begun`: attempts without an outcome.
 */
export function lateness(activity: QueuedActivity, begun: number, now: number): string | undefined {
  const { options, scheduledAt, attempts, name } = activity;
  const { scheduleToStart, attempts: most } = options ?? {};
  if (now >= deadlineOf(activity)) return notDone(activity);
  const isWaiting = begun === 0 && attempts === 0;
  if (isWaiting && scheduleToStart !== undefined && now - scheduledAt >= scheduleToStart) {
    return `${name} was not begun within ${scheduleToStart} ms`;
  }
  if (begun > 0 && most !== undefined && attempts + begun >= most) return reportedNothing(name);
  return undefined;
}

export const reportedNothing = (name: string): string => `${name} began and reported no result: its worker is gone`;

// ——— Limits of activities without workers.

/**
 * The shortest pause between two checks for a lost worker. Other workers notice an expired lease themselves;
 * this check is for queues without other workers.
 */
export const LOOK_MS = 30_000;

/** The moment of the first check; undefined: the activity has no limit that needs one. */
export function firstLook({ options, scheduledAt }: Limited): number | undefined {
  const { scheduleToStart, scheduleToClose, attempts } = options ?? {};
  const limits = [scheduleToStart, scheduleToClose, attempts === undefined ? undefined : silenceOf(options)];
  const first = Math.min(...limits.map((ms) => ms ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(first) ? scheduledAt + first : undefined;
}

/** The longest time for which a lost worker may go unnoticed. */
const silenceOf = (options: QueuedActivity["options"]): number =>
  Math.max(options?.heartbeat ?? startToCloseOf(options), LOOK_MS);

/**
 * The limit that is exceeded, or the moment of the next check; `again` undefined: no further check is needed.
 */
export function lookAt(
  activity: QueuedActivity,
  { tick, leasedUntil }: Pick<StoredReminder, "tick" | "leasedUntil">,
  now: number,
): { readonly problem: string } | { readonly again: number | undefined } {
  const { options, attempts, scheduledAt } = activity;
  const isHeld = leasedUntil !== undefined && leasedUntil > now;
  // The activity is running, so only the limit for all its attempts counts.
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
  // The activity waits for a worker or for its next attempt.
  if (tick.attempt === 0 || leasedUntil === undefined) return Math.max(now, tick.at) + silenceMs;
  const lostAt = options?.heartbeat === undefined ? Math.max(leasedUntil, tick.due + silenceMs) : leasedUntil;
  return Math.max(lostAt, now + LOOK_MS);
}
