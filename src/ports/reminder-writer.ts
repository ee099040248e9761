// Reminders as actors, servers and workflows use them. The implementation combines the store and the
// processor that delivers them.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { decodeValue } from "../kernel/values.ts";
import type { ReminderOptions } from "./reminder-options.ts";
import type { ReminderKey, ReminderWrite, Tick } from "./store/reminders.ts";

/** A reminder for display. Times are milliseconds since 1970. */
export interface ReminderInfo {
  readonly name: string;
  /** The time of its next tick, or of the next retry. */
  readonly next: number;
  /** The number of that tick on the grid, from 1. */
  readonly number: number;
  /** Number of attempts so far. */
  readonly attempt: number;
  readonly data: unknown;
  /** For display: `every 15m`, `cron 0 9 * * 1 (Europe/Paris)`. */
  readonly schedule: string;
  /**
   * Its stored row cannot be read, with the reason. It will not run, and becomes a dead letter when it is
   * due.
   */
  readonly damaged?: string;
}

/** A tick, as its handler sees it. */
export interface ReminderTick {
  /** The scheduled time, in milliseconds since 1970; it may be past. */
  readonly due: number;
  /** Its number on the grid, from 1. */
  readonly number: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** Reminders in the transaction of a commit. Exactly one of the two callbacks is called. */
export interface SentReminders {
  /** The writes to add to the commit. */
  readonly writes: readonly ReminderWrite[];
  /**
   * The commit is durable. Without generations: it had happened before, and its reminders must be looked up.
   */
  committed(generations: readonly (number | undefined)[] | undefined): void;
  /** The commit failed; with COMMIT_UNKNOWN that is not certain. */
  failed(error?: unknown): void;
}

export type SetReminder = Extract<ReminderWrite, { kind: "set" }>;

export interface ReminderWriter {
  /** The store's time, as far as this process knows it, in whole milliseconds since 1970. */
  now(): number;
  /** Returns the write. Throws REMINDER_INVALID or NAME_INVALID. */
  set(key: ReminderKey, options: ReminderOptions, isNew?: boolean): SetReminder;
  /** Resolves when the write is durable; false: `isNew` was set, and the reminder exists. */
  write(write: ReminderWrite): Promise<boolean>;
  /** Prepares writes for a commit: reminders that are due soon get a lease of this process from the start. */
  send(writes: readonly ReminderWrite[]): SentReminders;
  /** These writes are durable, without leases: reminders that are due soon need no search. */
  written(writes: readonly ReminderWrite[]): void;
  get(key: ReminderKey): Promise<ReminderInfo | undefined>;
  list(actor: { readonly namespace: string; readonly type: string; readonly id: string }): Promise<ReminderInfo[]>;
  /** The view of a write that is not durable yet. */
  shown(write: SetReminder): ReminderInfo;
}

export const tickInfo = ({ due, number, attempt }: Tick): ReminderTick => ({ due, number, attempt });

/** Decodes the stored data of a reminder. Throws REMINDER_DAMAGED. */
export function readData(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : decodeValue(text);
  } catch (cause) {
    throw new LimpetError("REMINDER_DAMAGED", "its data cannot be read: the row was damaged or edited", { cause });
  }
}

/**
 * Wraps Limpet errors that a handler throws, so that they differ from errors of the delivery. When a handler
 * calls an unreachable actor, the handler has failed, although the tick arrived.
 */
export function handlerError(error: unknown): unknown {
  if (!isLimpetError(error)) return error;
  return new LimpetError("ACTOR_FAILED", `${error.code}: ${error.message}`, { cause: error });
}

/** Reminders as workflows use them: timers, timeouts and queued activities of runs are reminders. */
export interface Timers {
  readonly writer: ReminderWriter;
  /** The store's clock, as far as this process knows it, with fractions. */
  storeNow(): number;
  /** Handles due reminders of a type that is neither an actor's nor a job's. */
  serve(type: string, handler: (data: unknown, tick: ReminderTick) => unknown): void;
}
