// A statement that gave up on a row which another transaction holds has changed nothing. It is tried again for a while.
import { setTimeout as pause } from "node:timers/promises";
import { StoreFault } from "./faults.ts";

export const isLocked = (error: unknown): boolean => error instanceof StoreFault && error.kind === "locked";

/** Repeats `work` while it meets rows that are held, for about `heldMs`. */
export async function whileHeld<T>(heldMs: number, work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + heldMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) throw error;
      await pause(5 + Math.random() * 20);
    }
  }
}
