// Checks the size of arguments and results against one limit, before a call is routed. Copying a value yields
// its weight. A light value fits for certain; only heavy values are encoded and measured. Pure.
import { type ErrorCode, LimpetError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { encodeValue } from "./values.ts";

/**
 * The most bytes of one unit of weight: a character may be escaped as \u0000, and a number has up to 25
 * digits for five units.
 */
const BYTES_PER_WEIGHT = 6;

/** A lighter value fits for certain. */
export const LIGHT = LIMITS.callBytes / BYTES_PER_WEIGHT;

/** Throws with `code` when the value is too large to send. `what`: "the arguments", "the result". */
export function checkCallSize(value: unknown, what: string, code: ErrorCode): void {
  let text: string;
  try {
    text = encodeValue(value, what, code);
  } catch (error) {
    // The text can exceed the greatest length of a string.
    if (error instanceof RangeError) throw callTooLarge(what, code);
    throw error;
  }
  if (text.length * 3 > LIMITS.callBytes && Buffer.byteLength(text) > LIMITS.callBytes) throw callTooLarge(what, code);
}

export const callTooLarge = (what: string, code: ErrorCode): LimpetError =>
  new LimpetError(
    code,
    `${what} of a call must be at most ${LIMITS.callBytes} bytes, encoded; keep larger values in a store and pass a reference`,
  );
