// Identity of this process, and a check whether another process on the same machine has ended. An ended
// process holds nothing, so no host has to wait for its lease: after a crash on one machine, the others
// continue at once.
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { ProcessIdentity } from "../../ports/store/coordination.ts";

/**
 * The same for all processes that see each other's ids. On Linux that is a boot of the kernel and a namespace
 * of process ids: two containers never agree, even with the same name. On other systems it is the name of the
 * machine.
 */
function machine(): string {
  if (process.platform !== "linux") return `${process.platform}:${hostname()}`;
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `linux:${boot}:${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // No other process is known to be on this machine.
    return "";
  }
}

export const ownIdentity: ProcessIdentity = { machine: machine(), pid: process.pid };

/** True only when it is certain. A process id that another process has taken over counts as alive. */
export function hasEnded({ machine, pid }: ProcessIdentity): boolean {
  if (machine === "" || machine !== ownIdentity.machine || pid === ownIdentity.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  return process.platform === "linux" && isZombie(pid);
}

/** The process has ended, and its parent has not collected its status yet. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before the state may contain anything, even parentheses.
    return /^\s[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 1));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}
