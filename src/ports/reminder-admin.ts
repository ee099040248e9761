// Reminders as the doors of a host see them: set and cancelled by names and texts, looked at by people, and helped when they are dead.
// All of them are those of the host's own namespace. Times are milliseconds since 1970 on the store's clock.
import type { FailureOptions } from "./reminder-options.ts";
import type { ReminderCounts } from "./store/reminders.ts";

/** How far reminders are counted for people. */
export const MOST_COUNTED = 100_000;

export interface ReminderName {
  readonly type: string;
  readonly id: string;
  readonly name: string;
}

/** When it ticks, in texts: Go durations, ISO 8601 durations, moments of RFC 3339. Null and empty texts count as left out. */
export interface ReminderTexts {
  readonly dueTime?: string | null;
  readonly period?: string | null;
  readonly ttl?: string | null;
}

export interface ReminderWish extends ReminderTexts {
  readonly data: unknown;
  readonly onFailure: FailureOptions | undefined;
  /** Only if there is none of that name. */
  readonly isNew: boolean;
}

/** One that is set, in the same formats, from its next tick on. */
export interface ReminderFound extends ReminderTexts {
  readonly dueTime: string;
  /** How many ticks are left, where the period has no way to say so. */
  readonly times?: number;
  readonly data: unknown;
}

export interface ReminderSummary extends ReminderName {
  /** When it ticks next, or is tried again. */
  readonly next: number;
  /** The moment on its grid that this tick stands for. */
  readonly due: number;
  /** The place of that tick on the grid, from 1. */
  readonly number: number;
  /** How often it has been tried. */
  readonly attempt: number;
  /** A process has it, or will ask for it again, until then; undefined: nobody has it. */
  readonly leasedUntil: number | undefined;
  /** Its moment has passed, and nobody has it. */
  readonly overdue: boolean;
  /** For people: `every 15m`. */
  readonly schedule: string;
  /** What it carries. */
  readonly bytes: number;
}

export interface DeadReminderSummary extends ReminderName {
  /** Of the tick that was given up. */
  readonly due: number;
  readonly number: number;
  /** How often it was tried. */
  readonly attempt: number;
  readonly error: string;
  readonly diedAt: number;
  readonly schedule: string;
  readonly bytes: number;
}

export interface ReminderPageQuery {
  readonly type?: string | undefined;
  readonly id?: string | undefined;
  readonly after?: ReminderName | undefined;
  readonly limit: number;
}

/** In order of type, id and name. */
export interface ReminderPage<Reminder> {
  /** What time it was. */
  readonly now: number;
  readonly reminders: readonly Reminder[];
  /** Pass it back as `after` for the next page. */
  readonly next: ReminderName | undefined;
}

export interface ReminderAdmin {
  /**
   * Resolves when it is stored; false: it was to be new, and there is one. Rejects with REMINDER_INVALID, and with REMINDER_NOT_HOSTED
   * when no other process could have the type either.
   */
  set(name: ReminderName, wish: ReminderWish): Promise<boolean>;
  get(name: ReminderName): Promise<ReminderFound | undefined>;
  /** It is fine if there is none. */
  cancel(name: ReminderName): Promise<void>;
  list(query: ReminderPageQuery): Promise<ReminderPage<ReminderSummary>>;
  listDead(query: ReminderPageQuery): Promise<ReminderPage<DeadReminderSummary>>;
  /** Each up to MOST_COUNTED. */
  count(): Promise<ReminderCounts>;
  /** Tries a dead one again, from now. False: there is none, or one of its name was set meanwhile. */
  retry(name: ReminderName): Promise<boolean>;
  /** Forgets a dead one. False: there is none. */
  drop(name: ReminderName): Promise<boolean>;
}
