// Reminders, as actors and doors ask for them. Behind it are the store and the processor that delivers them.
import { LimpetError } from "../kernel/errors.ts";
import { decodeValue } from "../kernel/values.ts";
import type { ReminderOptions } from "./reminder-options.ts";
import type { ReminderKey, ReminderWrite, Tick } from "./store/reminders.ts";

/** A reminder as people see it. Times are milliseconds since 1970. */
export interface ReminderInfo {
  readonly name: string;
  /** When it ticks next, or is tried again. */
  readonly next: number;
  /** The place of that tick on the grid, from 1. */
  readonly number: number;
  /** How often it has been tried. */
  readonly attempt: number;
  readonly data: unknown;
  /** For people: `every 15m`, `cron 0 9 * * 1 (Europe/Paris)`. */
  readonly schedule: string;
  /** What is stored of it cannot be read, and why. It will not run, and be kept apart when it is due. */
  readonly damaged?: string;
}

/** A tick, as its handler sees it. */
export interface ReminderTick {
  /** The moment it stands for, in milliseconds since 1970; it may be past. */
  readonly due: number;
  /** Its place on the grid, from 1. */
  readonly number: number;
  /** 1 the first time. */
  readonly attempt: number;
}

/** Reminders that travel with a commit. How that ends is told once. */
export interface SentReminders {
  /** As the commit has to bring them. */
  readonly writes: readonly ReminderWrite[];
  /** The commit counts. Without generations: it had happened before, and what it set then has to be looked for. */
  committed(generations: readonly (number | undefined)[] | undefined): void;
  /** It does not; with COMMIT_UNKNOWN that is not sure. */
  failed(error?: unknown): void;
}

export interface ReminderWriter {
  /** What is to be written. Throws REMINDER_INVALID or NAME_INVALID. */
  set(key: ReminderKey, options: ReminderOptions, isNew?: boolean): ReminderWrite;
  /** Resolves when it is durable; false: it was to be new, and there is one. */
  write(write: ReminderWrite): Promise<boolean>;
  /** A commit is about to bring these: what is due soon gets a lease of this process from the start. */
  send(writes: readonly ReminderWrite[]): SentReminders;
  /** These are durable, without leases: what is due soon need not wait to be looked for. */
  written(writes: readonly ReminderWrite[]): void;
  get(key: ReminderKey): Promise<ReminderInfo | undefined>;
  list(actor: { readonly namespace: string; readonly type: string; readonly id: string }): Promise<ReminderInfo[]>;
  /** What a write that is not durable yet will look like. */
  shown(write: Extract<ReminderWrite, { kind: "set" }>): ReminderInfo;
}

export const tickInfo = ({ due, number, attempt }: Tick): ReminderTick => ({ due, number, attempt });

/** The data of a reminder as it is stored. Throws REMINDER_DAMAGED. */
export function readData(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : decodeValue(text);
  } catch (cause) {
    throw new LimpetError("REMINDER_DAMAGED", "its data cannot be read: the row was damaged or edited", { cause });
  }
}
