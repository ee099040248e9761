// The trace file of a process of a test.
import { writeSync } from "node:fs";

let file: number | undefined;

export function traceTo(descriptor: number): void {
  file = descriptor;
}

/** Written at once: the record survives a kill of the process. */
export function writeTrace(line: readonly unknown[]): void {
  if (file !== undefined) writeSync(file, `${JSON.stringify(line)}\n`);
}

/** The lines of the file. The last line of a killed process may be cut short. */
export const tracedLines = (text: string): unknown[] =>
  text
    .split("\n")
    .filter((line) => line.endsWith("]"))
    .map((line) => JSON.parse(line));
