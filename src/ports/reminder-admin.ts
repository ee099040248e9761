// Reminders as the servers of a host use them: set and cancel by names and texts, list, and retry or drop
// dead ones. All of them belong to the host's own namespace. Times are milliseconds since 1970 on the store's
// clock.
import type { FailureOptions } from "./reminder-options.ts";
import type { ReminderCounts } from "./store/reminders.ts";

/** The limit of counts for display. */
export const MOST_COUNTED = 100_000;

export interface ReminderName {
  readonly type: string;
  readonly id: string;
  readonly name: string;
}

/**
 * The schedule as texts: Go durations, ISO 8601 durations, RFC 3339 times. Null and empty texts count as
 * absent.
 */
export interface ReminderTexts {
  readonly dueTime?: string | null;
  readonly period?: string | null;
  readonly ttl?: string | null;
}

export interface NewReminder extends ReminderTexts {
  readonly data: unknown;
  readonly onFailure: FailureOptions | undefined;
  /** Only if there is none of that name. */
  readonly isNew: boolean;
}

/** An existing reminder, in the same formats, from its next tick on. */
export interface ReminderFound extends ReminderTexts {
  readonly dueTime: string;
  /** The remaining ticks, where the period cannot express them. */
  readonly times?: number;
  readonly data: unknown;
}

export interface ReminderSummary extends ReminderName {
  /** The time of its next tick, or of the next retry. */
  readonly next: number;
  /** The scheduled time of this tick on its grid. */
  readonly due: number;
  /** The number of that tick on the grid, from 1. */
  readonly number: number;
  /** Number of attempts so far. */
  readonly attempt: number;
  /** The end of the lease of a process, or of its retry pause; undefined: no process has it. */
  readonly leasedUntil: number | undefined;
  /** It is due, and no process has it. */
  readonly overdue: boolean;
  /** For display: `every 15m`. */
  readonly schedule: string;
  /** Size of its data. */
  readonly bytes: number;
}

export interface DeadReminderSummary extends ReminderName {
  /** Of the last tick. */
  readonly due: number;
  readonly number: number;
  /** Number of attempts. */
  readonly attempt: number;
  readonly error: string;
  readonly diedAt: number;
  readonly schedule: string;
  readonly bytes: number;
}

export interface ReminderPageQuery {
  readonly type?: string;
  readonly id?: string;
  readonly after?: ReminderName;
  readonly limit: number;
}

/** In order of type, id and name. */
export interface ReminderPage<Reminder> {
  /** The time of the listing. */
  readonly now: number;
  readonly reminders: readonly Reminder[];
  /** Pass it back as `after` for the next page. */
  readonly next: ReminderName | undefined;
}

export interface ReminderAdmin {
  /**
   * Resolves when it is stored; false: it was to be new, and it exists. Rejects with REMINDER_INVALID, and
   * with REMINDER_NOT_HOSTED when no other process could have the type either.
   */
  set(name: ReminderName, reminder: NewReminder): Promise<boolean>;
  get(name: ReminderName): Promise<ReminderFound | undefined>;
  /** Succeeds when there is none. */
  cancel(name: ReminderName): Promise<void>;
  list(query: ReminderPageQuery): Promise<ReminderPage<ReminderSummary>>;
  listDead(query: ReminderPageQuery): Promise<ReminderPage<DeadReminderSummary>>;
  /** Each up to MOST_COUNTED. */
  count(): Promise<ReminderCounts>;
  /** Retries a dead one now. False: there is none, or one of its name was set meanwhile. */
  retry(name: ReminderName): Promise<boolean>;
  /** Deletes a dead one. False: there is none. */
  drop(name: ReminderName): Promise<boolean>;
}
