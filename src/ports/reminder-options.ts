// What may be said of a reminder: when it ticks, what it carries, and what becomes of it when it fails. What of it makes sense is
// decided in reminders/.
import type { Duration } from "../kernel/durations.ts";

/**
 * What becomes of ticks whose time passed while nobody could run them.
 * - `once`: the latest of them runs, late, and stands for all.
 * - `all`: each of them runs, one after the other.
 * - `skip`: none of them runs.
 */
export type Missed = "once" | "all" | "skip";

export interface ScheduleOptions {
  /**
   * When it ticks first: a time from now (`"10m"`, `"P1M"`, milliseconds), a `Date`, or a moment
   * (`"2026-03-01T09:00:00Z"`; `"2026-03-01T09:00"` with `timezone`). A moment in the past is now. Left out: after one
   * `every`, or when `cron` matches next. With `cron` it says from when on matches count.
   */
  readonly due?: Duration | Date | string;
  /**
   * How far apart ticks are: `"15m"`, milliseconds, or ISO 8601. Years, months, weeks and days of ISO 8601 are those of
   * the calendar: `P1M` from 31 January ticks on 28 February and on 31 March, `P1D` at the same hour when the clocks are
   * moved. `"1d"` is exactly 24 hours. `R5/PT10S` ticks five times in all.
   */
  readonly every?: Duration | string;
  /** Five fields (minute, hour, day, month, weekday), six with the second first, or `@daily` and its like. */
  readonly cron?: string;
  /** Whose calendar and clocks count, for what depends on them; UTC unless given. */
  readonly timezone?: string;
  /** No ticks later than this after the first one. */
  readonly ttl?: Duration;
  /** No ticks later than this. */
  readonly until?: Date | string;
  /** No ticks after this many. Missed ones count, whether they run or not. */
  readonly times?: number;
  /** `"once"` unless given. */
  readonly missed?: Missed;
}

/** What becomes of a tick whose delivery failed: it is tried again, later and later. */
export interface FailureOptions {
  /** How often a tick is tried in all. Too low: a short outage of what it needs loses it. Too high: what never works is tried for long. */
  readonly attempts?: number | undefined;
  /** Before the second try; every further pause is twice as long. */
  readonly pause?: Duration | undefined;
  readonly longestPause?: Duration | undefined;
  /** After the last one: `"keep"` it with the dead letters, unless given, where `limpet reminders` shows it; or `"drop"` it. */
  readonly giveUp?: "keep" | "drop" | undefined;
}

export interface ReminderOptions extends ScheduleOptions {
  /** Plain data, given to `onReminder`. */
  readonly data?: unknown;
  readonly onFailure?: FailureOptions | undefined;
}
