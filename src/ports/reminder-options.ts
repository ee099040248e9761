// The options of a reminder: its schedule, its data, and its failure policy. The reminders module validates
// them.
import type { Duration } from "../kernel/durations.ts";

/**
 * The rule for ticks that passed while no process could run them.
 * - `once`: the latest of them runs, late, and stands for all.
 * - `all`: each of them runs, one after the other.
 * - `skip`: none of them runs.
 */
export type Missed = "once" | "all" | "skip";

export interface ScheduleOptions {
  /**
   * The first tick: a time from now (`"10m"`, `"P1M"`, milliseconds), a `Date`, or a moment
   * (`"2026-03-01T09:00:00Z"`; `"2026-03-01T09:00"` with `timezone`). A moment in the past is now. Absent:
   * after one `every`, or at the next match of `cron`. With `cron` it is the start from which matches count.
   */
  readonly due?: Duration | Date | string;
  /**
   * The distance of ticks: `"15m"`, milliseconds, or ISO 8601. Years, months, weeks and days of ISO 8601
   * follow the calendar: `P1M` from 31 January ticks on 28 February and on 31 March, `P1D` at the same hour
   * when the clocks change. `"1d"` is exactly 24 hours. `R5/PT10S` ticks five times in all.
   */
  readonly every?: Duration | string;
  /** Five fields (minute, hour, day, month, weekday), six with the second first, or `@daily` and its like. */
  readonly cron?: string;
  /** The time zone of the calendar and of clock times; default UTC. */
  readonly timezone?: string;
  /** No ticks later than this after the first one. */
  readonly ttl?: Duration;
  /** No ticks later than this. */
  readonly until?: Date | string;
  /** No ticks after this many. Missed ones count, whether they run or not. */
  readonly times?: number;
  /** Default `"once"`. */
  readonly missed?: Missed;
}

/** The policy for a failed tick: it is retried with growing pauses. */
export interface FailureOptions {
  /**
   * Attempts of a tick in all. Too low: a short outage of a dependency loses it. Too high: a permanent
   * failure is retried for long.
   */
  readonly attempts?: number;
  /** The pause before the second attempt; every further pause is twice as long. */
  readonly pause?: Duration;
  readonly longestPause?: Duration;
  /**
   * After the last attempt: `"keep"` it with the dead letters, where `limpet reminders` shows it (default);
   * or `"drop"` it.
   */
  readonly giveUp?: "keep" | "drop";
}

export interface ReminderOptions extends ScheduleOptions {
  /** Plain data, passed to `onReminder`. */
  readonly data?: unknown;
  readonly onFailure?: FailureOptions;
}
