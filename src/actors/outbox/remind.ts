// The call that delivers a tick to its actor. It travels as every call does, under a name that other callers
// cannot use. Many ticks may travel at once, half of them to other hosts, so links carry arguments and answer
// without conversion.
import { invariant, LimpetError } from "../../kernel/errors.ts";
import { handlerError, type ReminderTick, readData } from "../../ports/reminder-writer.ts";
import type { Settlement, Tick } from "../../ports/store/reminders.ts";
import { Actor } from "../actor.ts";
import type { AnyActor } from "../routing/remote.ts";

export const REMIND = "$remind";

/** The tick, its settlement (the next tick, if any), and the stored data. */
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

/** The stored data cannot be parsed, so the handler cannot be called. */
class UnreadableData extends LimpetError {}

/** Rejects a reminder of a class without a handler. */
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

/** Runs the handler of a tick. Its return value is ignored. */
export function handleTick(instance: AnyActor, args: RemindArguments, type: string): unknown {
  const data = dataOf(args);
  // A row may be older than this code. The tick fails by its policy, and its dead letter names the reason.
  if (instance.onReminder === Actor.prototype.onReminder) throw noHandler(type);
  const result = instance.onReminder(args[0], data, tickOf(args));
  return result instanceof Promise ? result.then(() => undefined) : undefined;
}

export const tickOf = ([, due, number, attempt]: RemindArguments): ReminderTick => ({ due, number, attempt });

export function settlementOf([, , , , generation, token, at, due, number, attempt]: RemindArguments): Settlement {
  if (at === null || due === null || number === null || attempt === null) return { generation, token, kind: "done" };
  return { generation, token, kind: "next", tick: { at, due, number, attempt }, leaseMs: undefined };
}

/** The error of a tick's turn. Only unreadable data is an error of the delivery. */
export const ownError = (error: unknown): unknown => (error instanceof UnreadableData ? error : handlerError(error));

/**
 * The answer: whether the settlement was stored together with the handler's changes. If not, the deliverer
 * stores it.
 */
export const SETTLED = true;
export const UNSETTLED = false;
