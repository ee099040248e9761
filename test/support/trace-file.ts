// Where a process of a test writes down what happens in it.
import { writeSync } from "node:fs";

let file: number | undefined;

export function traceTo(descriptor: number): void {
  file = descriptor;
}

/** At once and not later: a process that is killed has still said it. */
export function writeTrace(line: readonly unknown[]): void {
  if (file !== undefined) writeSync(file, `${JSON.stringify(line)}\n`);
}

/** What was written there. The last line of a process that was killed may be cut short. */
export const tracedLines = (text: string): unknown[] =>
  text
    .split("\n")
    .filter((line) => line.endsWith("]"))
    .map((line) => JSON.parse(line));
