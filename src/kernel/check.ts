// Errors about invalid input, in one form: the option or field, the rule, the given value. Any value may be
// given, returned or thrown, so showing it must not fail and must not be long.
import { type ErrorCode, LimpetError } from "./errors.ts";

const SHOWN_CHARS = 60;

export const invalidOption = (problem: string): LimpetError => new LimpetError("OPTION_INVALID", problem);
export const invalidArgument = (problem: string): LimpetError => new LimpetError("ARGUMENT_INVALID", problem);
export const invalidBody = (problem: string): LimpetError => new LimpetError("BODY_INVALID", problem);

/** The error of a value that breaks a rule: `limit must be a whole number from 1; got "5x"`. */
export const mustBe = (what: string, rule: string, value: unknown, code: ErrorCode = "OPTION_INVALID"): LimpetError =>
  new LimpetError(code, `${what} must be ${rule}; got ${showValue(value)}`);

/** Throws OPTION_INVALID unless the value is a whole number from 1 to `most`. */
export function checkWhole(value: unknown, most: number, what: string): asserts value is number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= most) return;
  throw mustBe(what, `a whole number from 1 to ${most}`, value);
}

export function showValue(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value);
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : value.toISOString();
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  return `a value of type ${typeof value}`;
}

/** Characters of a thrown value that an error message quotes. */
const MOST_TEXT = 1_000;

/**
 * A value thrown by application code, as text. It need not be an error, and an error need not have a message.
 */
export function thrownText(error: unknown): string {
  try {
    if (!(error instanceof Error)) return briefText(error);
    const text = String(error.message);
    return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
  } catch {
    return "something that cannot be read";
  }
}

/** A returned value, as text. Converting an object may throw, and a long text may be a whole message. */
export function briefText(value: unknown): string {
  if (typeof value === "object" && value !== null) return value instanceof Promise ? "a promise" : "an object";
  return typeof value === "string" && value.length > 60 ? "a text" : String(value);
}

/**
 * Ignores the failure of a promise from code that must be synchronous; an unhandled rejection would end the
 * process.
 */
export function ignoreRejection(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {});
}
