// Encoding of arguments and results. Primitives that MessagePack carries exactly are sent unchanged. All
// other values are sent as text in the encoding of kernel/values.ts, which restores them exactly.
import { LIMITS } from "../../kernel/limits.ts";
import { encodeValue, hasTags } from "../../kernel/values.ts";
import { decodeExact, isDeeperThan } from "../exact.ts";
import { broken } from "./message-reader.ts";
import type { Primitive } from "./messages.ts";

const NOTHING: readonly Primitive[] = [];

/** A tag at most doubles the levels of its value, and the list of arguments is one more level. */
const DEEPEST = 2 * LIMITS.valueDepth + 2;

/** MessagePack would change half of a surrogate pair. */
export function isPrimitive(value: unknown): value is Primitive {
  switch (typeof value) {
    case "number":
    case "boolean":
      return true;
    case "string":
      return value.isWellFormed();
    default:
      return value === null;
  }
}

/** Throws ARGUMENT_INVALID. The result shares no mutable object with the arguments. */
export function encodeArguments(args: readonly unknown[]): readonly Primitive[] | string {
  const { length } = args;
  if (length === 0) return NOTHING;
  for (let i = 0; i < length; i++) if (!isPrimitive(args[i])) return textOf(args);
  return args.slice() as Primitive[];
}

function textOf(args: readonly unknown[]): string {
  let text = "[";
  for (let i = 0; i < args.length; i++) text += (i === 0 ? "" : ",") + encodeValue(args[i], `argument ${i + 1}`);
  return `${text}]`;
}

/** Throws on input that `encodeArguments` cannot produce. */
export function decodeArguments(encoded: Primitive[] | string): readonly unknown[] {
  if (typeof encoded !== "string") return encoded;
  const args = decodeText(encoded);
  if (!Array.isArray(args)) throw broken("arguments are not a list");
  return args;
}

export function encodeLinkResult(result: unknown): string {
  return encodeValue(result, "the result", "RESULT_INVALID");
}

/** Throws when the text is not an encoded value. */
export function decodeText(text: string): unknown {
  if (isDeeperThan(text, DEEPEST)) throw broken("a value is nested too deep");
  const json: unknown = JSON.parse(text);
  return hasTags(text) ? decodeExact(json) : json;
}

/** Approximate size on the wire and in memory. */
export function sizeOf(encoded: readonly Primitive[] | string): number {
  if (typeof encoded === "string") return encoded.length;
  let size = 0;
  for (const item of encoded) size += typeof item === "string" ? item.length : 9;
  return size;
}

/** Checks the size limit. Nearly always the estimate decides without counting bytes. */
export function fitsFrame(encoded: readonly Primitive[] | string, maxBytes: number): boolean {
  if (sizeOf(encoded) * 3 <= maxBytes) return true;
  if (typeof encoded === "string") return Buffer.byteLength(encoded) <= maxBytes;
  let bytes = 0;
  for (const item of encoded) bytes += typeof item === "string" ? 5 + Buffer.byteLength(item) : 9;
  return bytes <= maxBytes;
}
