// Conditions of a run: machine and disk. Figures are comparable only under equal conditions.
import { closeSync, fdatasyncSync, openSync, statfsSync, writeSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { spreadOf } from "./report/statistics.ts";

const TMPFS = 0x01021994;
const WRITES = 64;

/** One line for display. */
export function describeMachine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${availableParallelism()} × ${model}, ${memory} GiB, Node ${process.versions.node}, ${process.platform} ${process.arch}`;
}

/**
 * Cost of one durable write in this folder, in one line, with a warning if the folder is not on a disk at
 * all.
 */
export function describeDisk(folder: string): string {
  const file = openSync(join(folder, "fdatasync"), "w");
  const page = Buffer.alloc(4096, 1);
  const times: number[] = [];
  for (let i = 0; i < WRITES; i++) {
    writeSync(file, page);
    const start = performance.now();
    fdatasyncSync(file);
    times.push(performance.now() - start);
  }
  closeSync(file);
  const { median } = spreadOf(times)!;
  const memory =
    statfsSync(folder).type === TMPFS ? " (the folder is in memory: set TMPDIR to a folder on a disk)" : "";
  return `fdatasync of 4 KiB takes ${Math.round(median * 1000)} µs${memory}`;
}
