// The number that namespace and type of a reminder have in the index of what is due.
import { createHash } from "node:crypto";

const REMEMBERED = 10_000;
const numbers = new Map<string, number>();

/** 48 bits of a digest. Should two types ever share a number, they are told apart by their names on the row. */
export function queueOf(namespace: string, type: string): number {
  // The length keeps the words apart.
  const name = `${namespace.length}:${namespace}${type}`;
  const known = numbers.get(name);
  if (known !== undefined) return known;
  if (numbers.size >= REMEMBERED) numbers.clear();
  const number = createHash("sha256").update(name).digest().readUIntBE(0, 6);
  numbers.set(name, number);
  return number;
}

/**
 * The rows of one type, for a statement that has the row as `r` and names and number of the type in `type`. The names are compared in
 * a way that no index can serve, so that it is the number that finds the rows.
 */
export const inQueue = (namespace: string, type: string): string =>
  `r.queue = ${type}.queue AND r.namespace IS NOT DISTINCT FROM ${namespace} AND r.type IS NOT DISTINCT FROM ${type}.type`;
