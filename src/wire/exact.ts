// Decodes the exact encoding (kernel/values.ts) from untrusted input. Every tag is checked before a value is
// built from it, so a few bytes cannot request a huge buffer or a minute of arithmetic.
import { LimpetError } from "../kernel/errors.ts";
import { encodeValue, fromWire } from "../kernel/values.ts";

export const EXACT_TYPE = "application/vnd.limpet+json";

/** A number of this many digits is still quick to parse; the cost grows faster than the length. */
const BIGINT_DIGITS = 10_000;

export function encodeResult(value: unknown): string {
  return encodeValue(value, "result", "RESULT_INVALID");
}

/** `json` is a parsed body with checked nesting. The value reuses its objects. */
export function decodeExact(json: unknown): unknown {
  check(json);
  return fromWire(json);
}

function check(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const tag = Array.isArray(value) ? undefined : tagOf(value);
  if (tag === undefined) {
    for (const item of Object.values(value)) check(item);
  } else if (tag === "object" || tag === "bare") {
    for (const item of Object.values((value as { v: object }).v)) check(item);
  } else {
    check((value as { v?: unknown }).v);
  }
}

const isField = (pair: unknown): boolean => Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "string";

/** `undefined` for an ordinary object. */
function tagOf(value: object): unknown {
  if (!Object.hasOwn(value, "$")) return undefined;
  const { $: tag, v, ...more } = value as { $: unknown; v?: unknown };
  if (isTagged(tag, v) && Object.keys(more).length === 0) return tag;
  throw new LimpetError("BODY_INVALID", "the body holds an invalid tagged value");
}

function isTagged(tag: unknown, v: unknown): boolean {
  switch (tag) {
    case "undefined":
      return v === undefined;
    case "number":
      return v === "NaN" || v === "Infinity" || v === "-Infinity" || v === "-0";
    case "bigint":
      return typeof v === "string" && v.length <= BIGINT_DIGITS && /^-?\d+$/.test(v);
    case "date":
      return typeof v === "number" || v === null;
    case "map":
      return Array.isArray(v) && v.every((entry) => Array.isArray(entry) && entry.length === 2);
    case "set":
      return Array.isArray(v);
    case "bytes":
    case "buffer":
      return typeof v === "string";
    case "object":
    case "bare":
      return Array.isArray(v) ? v.length > 0 && v.every(isField) : typeof v === "object" && v !== null;
    default:
      return false;
  }
}

/** Checks the text: building a deep value is slow, and walking it afterwards can exhaust the stack. */
export function isDeeperThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (quoted) {
      if (char === 0x5c /* \ */) i++;
      else if (char === 0x22 /* " */) quoted = false;
    } else if (char === 0x22) quoted = true;
    else if (char === 0x5b /* [ */ || char === 0x7b /* { */) {
      if (++depth > limit) return true;
    } else if (char === 0x5d /* ] */ || char === 0x7d /* } */) depth--;
  }
  return false;
}
