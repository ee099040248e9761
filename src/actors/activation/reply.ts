// The result of a method, and the errors of turns that have no result.
import { checkCallSize, LIGHT } from "../../kernel/call-size.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { copiedWeight, copyValue, isPlainPrimitive } from "../../kernel/values.ts";
import type { Turn } from "./turn.ts";

/** The promise that a method returned, if any. A foreign thenable may do anything, so it is wrapped. */
export function promiseOf(result: unknown): Promise<unknown> | undefined {
  if (result instanceof Promise) return result;
  const thenable = typeof result === "object" && result !== null && "then" in result;
  return thenable && typeof result.then === "function" ? Promise.resolve(result) : undefined;
}

/** A copy of the method's result, checked against the size limit of messages. Throws RESULT_INVALID. */
export function replyOf({ method, work }: Turn, value: unknown): unknown {
  const isPlain = isPlainPrimitive(value);
  const reply = isPlain ? value : copyValue(value, `the result of ${method}`, "RESULT_INVALID");
  const weight = typeof value === "string" ? value.length : isPlain ? 0 : copiedWeight();
  if (weight > LIGHT && work === undefined) checkCallSize(reply, "the result", "RESULT_INVALID");
  return reply;
}

/** The turn ran when its host lost its lease. */
export const lostLease = ({ label }: Turn): LimpetError =>
  new LimpetError("LEASE_LOST", `this host lost its lease while ${label} ran; nothing of this turn was kept`);

/** `actor`: label of the actor. */
export const fencedTurn = (actor: string): LimpetError =>
  new LimpetError("FENCED", `${actor} was taken over by another activation; nothing of this turn was kept`);

/** The tick was replaced, cancelled or claimed by another process. */
export function reminderVoid(reminder: string, actor: string): LimpetError {
  const message = `the reminder ${reminder} of ${actor} was replaced, cancelled or claimed by another process`;
  return new LimpetError("REMINDER_VOID", `${message} while it was handled; nothing of this turn was kept`);
}

export function notForgotten({ label }: Turn, cause: unknown): LimpetError {
  const message = `${label} has ended, but it is not known whether its actor is still remembered; its host may start it again`;
  return new LimpetError("COMMIT_UNKNOWN", message, { cause });
}
