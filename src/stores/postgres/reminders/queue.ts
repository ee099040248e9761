// Numbers of namespace and type of a reminder in the index of due reminders.
import { createHash } from "node:crypto";

const REMEMBERED = 10_000;
const numbers = new Map<string, number>();

/** 48 bits of a digest. If two types ever share a number, the names in the row distinguish them. */
export function queueOf(namespace: string, type: string): number {
  // The length makes the name unambiguous.
  const name = `${namespace.length}:${namespace}${type}`;
  const known = numbers.get(name);
  if (known !== undefined) return known;
  if (numbers.size >= REMEMBERED) numbers.clear();
  const number = createHash("sha256").update(name).digest().readUIntBE(0, 6);
  numbers.set(name, number);
  return number;
}

/**
 * Selects the rows of one type, for a statement with the row as `r` and names and number of the type in
 * `type`. No index can serve this comparison of names, so the number finds the rows.
 */
export const inQueue = (namespace: string, type: string): string =>
  `r.queue = ${type}.queue AND r.namespace IS NOT DISTINCT FROM ${namespace} AND r.type IS NOT DISTINCT FROM ${type}.type`;
