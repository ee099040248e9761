// Encodes results as the JSON that people and other languages expect. A value that JSON lacks becomes the
// nearest JSON value. A client that needs the exact value requests the exact encoding.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";

/** Returns `undefined` when the value has no JSON form. */
export function plainJson(value: unknown): string | undefined {
  return JSON.stringify(plain(value, new Set()));
}

function plain(value: unknown, above: Set<object>): unknown {
  switch (typeof value) {
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case "object":
      return value === null ? null : inside(value, above);
    default:
      // JSON.stringify turns NaN and the infinities into null, and leaves out functions and symbols.
      return value;
  }
}

function inside(value: object, above: Set<object>): unknown {
  if (above.has(value)) throw new LimpetError("RESULT_INVALID", "the result contains itself and cannot be sent");
  if (above.size >= LIMITS.valueDepth) {
    throw new LimpetError("RESULT_INVALID", `the result is nested deeper than ${LIMITS.valueDepth}`);
  }
  above.add(value);
  const result = plainObject(value, above);
  above.delete(value);
  return result;
}

function plainObject(value: object, above: Set<object>): unknown {
  if (Array.isArray(value)) return value.map((item) => plain(item, above));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Set) return Array.from(value, (item) => plain(item, above));
  if (value instanceof Map) return plainMap(value, above);
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  }
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("base64");
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return plain(toJSON.call(value), above);
  return plainFields(Object.entries(value), above);
}

function plainMap(map: Map<unknown, unknown>, above: Set<object>): unknown {
  const entries = [...map];
  if (entries.every((entry): entry is [string, unknown] => typeof entry[0] === "string")) {
    return plainFields(entries, above);
  }
  return entries.map((entry) => entry.map((item) => plain(item, above)));
}

function plainFields(entries: Iterable<[string, unknown]>, above: Set<object>): object {
  // Without a prototype, so that a key called `__proto__` is a key like any other.
  const fields: Record<string, unknown> = Object.create(null);
  for (const [key, item] of entries) fields[key] = plain(item, above);
  return fields;
}
