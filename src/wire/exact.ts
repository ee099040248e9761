// The exact encoding (kernel/values.ts) as it may come from a stranger: every tag is checked before anything is built
// from it, so that a few bytes cannot ask for a huge buffer or a minute of arithmetic.
import { LimpetError } from "../kernel/errors.ts";
import { encodeValue, fromWire } from "../kernel/values.ts";

export const EXACT_TYPE = "application/vnd.limpet+json";

/** Making a number of this many digits is still quick; the cost grows faster than the length. */
const BIGINT_DIGITS = 10_000;

export function encodeResult(value: unknown): string {
  return encodeValue(value, "result", "RESULT_INVALID");
}

/** `json` is a parsed body whose nesting was checked. It is reused for the value. */
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

/** `undefined` when it is an ordinary object. */
function tagOf(value: object): unknown {
  if (!Object.hasOwn(value, "$")) return undefined;
  const { $: tag, v, ...more } = value as { $: unknown; v?: unknown };
  if (isTagged(tag, v) && Object.keys(more).length === 0) return tag;
  throw new LimpetError("BODY_INVALID", "the body holds a tagged value that is not well-formed");
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

/** Looks at the text, because building a deep value is slow and walking it afterwards can exhaust the stack. */
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
