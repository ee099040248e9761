// The size of what a call carries, held to one limit before it is clear which way it goes. Pure. Most values are small, and that is
// clear from a weight that copying them gives away; only heavy ones are encoded to be measured.
import { type ErrorCode, LimpetError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { encodeValue } from "./values.ts";

/** A unit of weight takes at most so many bytes: a character may be escaped as \u0000, and a number has up to 25 digits for five units. */
const BYTES_PER_WEIGHT = 6;

/** What is lighter fits. */
export const LIGHT = LIMITS.callBytes / BYTES_PER_WEIGHT;

/** Throws with `code` when the value is too large to travel. `what`: "the arguments", "the result". */
export function checkCallSize(value: unknown, what: string, code: ErrorCode): void {
  let text: string;
  try {
    text = encodeValue(value, what, code);
  } catch (error) {
    // A text can be longer than a string may be.
    if (error instanceof RangeError) throw tooLarge(what, code);
    throw error;
  }
  if (text.length * 3 > LIMITS.callBytes && Buffer.byteLength(text) > LIMITS.callBytes) throw tooLarge(what, code);
}

export const tooLarge = (what: string, code: ErrorCode): LimpetError =>
  new LimpetError(
    code,
    `${what} of a call must be at most ${LIMITS.callBytes} bytes, encoded; keep larger values in a store and pass a reference`,
  );
