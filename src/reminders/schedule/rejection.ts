// Rejects a schedule with the option, the given value, and a valid alternative.
import { showValue } from "../../kernel/check.ts";
import { LimpetError } from "../../kernel/errors.ts";

/** No text of a schedule is longer than this. */
export const MAX_TEXT = 200;

export function reject(what: string, why: string): never {
  throw new LimpetError("REMINDER_INVALID", `${what}: ${why}`);
}

/** Narrows to a text of limited length. */
export function checkText(value: unknown, what: string, instead: string): asserts value is string {
  if (typeof value !== "string") reject(what, `${showValue(value)} is not a text; ${instead}`);
  if (value.length > MAX_TEXT) reject(what, `${showValue(value)} is longer than ${MAX_TEXT} characters; ${instead}`);
}
