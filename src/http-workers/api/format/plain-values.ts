// Encodes memos and search attributes as plain JSON for display. Values that JSON lacks become text. Pure.
import { fromWire } from "../../../kernel/values.ts";
import type { Wire } from "../../../workflows/engine/events.ts";

/** Undefined stands for an empty object. */
export function displayJson(wire: Wire | undefined): unknown {
  if (wire === undefined) return {};
  return JSON.parse(JSON.stringify(fromWire(structuredClone(wire)), plainly) ?? "null");
}

function plainly(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}
