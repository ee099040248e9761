// Who this process is, and whether another one on the same machine has ended. A process that is known to have ended holds
// nothing, so nobody has to wait for its lease: after a crash on one machine, the others go on at once.
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { ProcessIdentity } from "../../ports/store/coordination.ts";

/**
 * The same for all processes that see each other's ids. On Linux that is a boot of the kernel and a namespace of process ids:
 * two containers never agree, also when they have the same name. Elsewhere the name of the machine has to do.
 */
function machine(): string {
  if (process.platform !== "linux") return `${process.platform}:${hostname()}`;
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `linux:${boot}:${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Nobody else is on such a machine, as far as can be known.
    return "";
  }
}

export const ownIdentity: ProcessIdentity = { machine: machine(), pid: process.pid };

/** True only when it is certain. A process id that somebody else has by now counts as alive. */
export function hasEnded({ machine, pid }: ProcessIdentity): boolean {
  if (machine === "" || machine !== ownIdentity.machine || pid === ownIdentity.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  return process.platform === "linux" && isZombie(pid);
}

/** It has ended, and its parent has not looked yet. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it may hold anything, also parentheses.
    return /^\s[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 1));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}
