// The call by which a tick reaches its actor. It travels as every call does, under a name that nobody else may call.
import type { ReminderTick } from "../ports/reminder-book.ts";
import type { Settlement } from "../ports/reminders.ts";

export const REMIND = "$remind";

/** The settlement is what the store is told when the tick has been handled. */
export type RemindArguments = readonly [name: string, data: unknown, tick: ReminderTick, settlement: Settlement];

/** Whether the settlement was stored together with what the handler changed. If not, whoever delivers it does that. */
export interface Reminded {
  readonly isSettled: boolean;
}

export const SETTLED: Reminded = { isSettled: true };
export const UNSETTLED: Reminded = { isSettled: false };
