// The call by which a tick reaches its actor. It travels as every call does, under a name that nobody else may call. There may be very
// many of them at once, half of them to other hosts, so its arguments and its answer are such that links carry them as they are.
import { invariant, isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { type ReminderTick, readData } from "../../ports/reminder-writer.ts";
import type { Settlement, Tick } from "../../ports/store/reminders.ts";

export const REMIND = "$remind";

/** The tick, what the store is told when it has been handled (the next tick, if there is one), and the data as it is stored. */
export type RemindArguments = readonly [
  name: string,
  due: number,
  number: number,
  attempt: number,
  generation: number,
  token: string,
  nextAt: number | null,
  nextDue: number | null,
  nextNumber: number | null,
  nextAttempt: number | null,
  data: string | null,
];

export function remindArguments(
  name: string,
  data: string | undefined,
  { due, number, attempt }: Tick,
  settlement: Settlement,
): RemindArguments {
  const { generation, token, kind } = settlement;
  if (kind === "done") {
    return [name, due, number, attempt, generation, token, null, null, null, null, data ?? null];
  }
  invariant(kind === "next" && settlement.leaseMs === undefined, "what was handled is done, or free for its next tick");
  const next = settlement.tick;
  const after = [next.at, next.due, next.number, next.attempt] as const;
  return [name, due, number, attempt, generation, token, ...after, data ?? null];
}

/** There is nothing that a handler could be called with. */
class UnreadableData extends LimpetError {}

/** The refusal of a reminder that nothing would handle. */
export const noHandler = (type: string): LimpetError =>
  new LimpetError("REMINDER_INVALID", `${type} has no method onReminder to handle its reminders; write one`);

/** Throws REMINDER_DAMAGED. */
export function dataOf(args: RemindArguments): unknown {
  try {
    return readData(args[10] ?? undefined);
  } catch (error) {
    throw new UnreadableData("REMINDER_DAMAGED", (error as Error).message, { cause: error });
  }
}

export const tickOf = ([, due, number, attempt]: RemindArguments): ReminderTick => ({ due, number, attempt });

export function settlementOf([, , , , generation, token, at, due, number, attempt]: RemindArguments): Settlement {
  if (at === null || due === null || number === null || attempt === null) return { generation, token, kind: "done" };
  return { generation, token, kind: "next", tick: { at, due, number, attempt }, leaseMs: undefined };
}

/**
 * What a handler lets through is its own failure, whatever it is: that an actor it has called could not be reached does not mean that the
 * tick did not arrive. So errors of ours that come from a handler are told apart from those on the way to it.
 */
export function ownError(error: unknown): unknown {
  if (!isLimpetError(error) || error instanceof UnreadableData) return error;
  return new LimpetError("ACTOR_FAILED", `${error.code}: ${error.message}`, { cause: error });
}

/** The answer: whether the settlement was stored together with what the handler changed. If not, whoever delivers it does that. */
export const SETTLED = true;
export const UNSETTLED = false;
