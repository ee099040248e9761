// The names of what may be said, looked at as they are given: what is misspelt would not be said at all, and nobody would know before it is
// needed. Pure.
import { didYouMean } from "../../kernel/nearest.ts";

/** What is wrong with what was given, as the end of a sentence; undefined: nothing is. */
export function namesProblem(given: unknown, known: object): string | undefined {
  if (typeof given !== "object" || given === null) return `${String(given)} is no object`;
  for (const name in given) {
    if (!Object.hasOwn(known, name)) return `there is no "${name}"${didYouMean(name, Object.keys(known))}`;
  }
  return undefined;
}
