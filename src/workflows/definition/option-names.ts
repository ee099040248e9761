// Checks the names of options. A misspelt option would have no effect, and the mistake would go unnoticed.
// Pure.
import { didYouMean } from "../../kernel/nearest.ts";

/** The problem with the given options, as the end of a sentence; undefined: none. */
export function namesProblem(given: unknown, known: object): string | undefined {
  if (typeof given !== "object" || given === null) return `${String(given)} is no object`;
  for (const name in given) {
    if (!Object.hasOwn(known, name)) return `there is no "${name}"${didYouMean(name, Object.keys(known))}`;
  }
  return undefined;
}
