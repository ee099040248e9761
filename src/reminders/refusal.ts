// Rejects a schedule with the option, the given value, and a valid alternative. Any value may be given, so
// showing it must not fail and must not be long.
import { LimpetError } from "../kernel/errors.ts";

/** No text of a schedule is longer than this. */
export const MAX_TEXT = 200;

const SHOWN_CHARS = 60;

export function rejectReminder(what: string, why: string): never {
  throw new LimpetError("REMINDER_INVALID", `${what}: ${why}`);
}

export function showValue(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value);
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : value.toISOString();
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  return `a value of type ${typeof value}`;
}

/** Narrows to a text of limited length. */
export function checkText(value: unknown, what: string, instead: string): asserts value is string {
  if (typeof value !== "string") rejectReminder(what, `${showValue(value)} is not a text; ${instead}`);
  if (value.length > MAX_TEXT)
    rejectReminder(what, `${showValue(value)} is longer than ${MAX_TEXT} characters; ${instead}`);
}
