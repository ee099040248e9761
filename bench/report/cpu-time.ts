// CPU time of a process and its descendants, from the scheduler statistics of Linux. Unlike wall time, it
// hardly depends on the other processes of the machine.
import { readdirSync, readFileSync } from "node:fs";

/** Of the threads that are alive, so only differences have a meaning. Undefined on other systems. */
export function cpuSecondsOf(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
      const folder = `/proc/${pid}/task/${thread}`;
      const nanoseconds = Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ")[0]);
      const children = readFileSync(`${folder}/children`, "utf8").split(" ").filter(Boolean).map(Number);
      return children.reduce((total, child) => total + (cpuSecondsOf(child) ?? 0), sum + nanoseconds / 1e9);
    }, 0);
  } catch {
    return undefined;
  }
}
