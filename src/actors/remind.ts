// The call by which a tick reaches its actor. It travels as every call does, under a name that nobody else may call.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import type { ReminderTick } from "../ports/reminder-book.ts";
import type { Settlement } from "../ports/reminders.ts";

export const REMIND = "$remind";

/** The settlement is what the store is told when the tick has been handled. */
export type RemindArguments = readonly [name: string, data: unknown, tick: ReminderTick, settlement: Settlement];

/** Whether the settlement was stored together with what the handler changed. If not, whoever delivers it does that. */
export interface Reminded {
  readonly isSettled: boolean;
}

/**
 * What a handler lets through is its own failure, whatever it is: that an actor it has called could not be reached does not mean that the
 * tick did not arrive. So errors of ours that come from a handler are told apart from those on the way to it.
 */
export function ownError(error: unknown): unknown {
  if (!isLimpetError(error)) return error;
  return new LimpetError("ACTOR_FAILED", `${error.code}: ${error.message}`, { cause: error });
}

export const SETTLED: Reminded = { isSettled: true };
export const UNSETTLED: Reminded = { isSettled: false };
