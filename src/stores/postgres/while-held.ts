// Rows that another transaction holds. A statement that gave up on one has changed nothing, and is tried again for a while.
//
// Who locks several rows and waits for some of them could wait in a circle. Setting reminders goes through all keys in one order, and may
// wait. Everything else cannot keep to that order, and so it waits *briefly*: it is not the server that has to notice a circle.
import { setTimeout as pause } from "node:timers/promises";
import { StoreFault } from "./faults.ts";

/** Longer than a batch of our own takes, and far shorter than what a server needs to notice a circle. */
export const BRIEFLY_MS = 25;

/** To be evaluated before anything is locked: from then on the statement gives up on a row after a moment. */
export const briefly = `(SELECT set_config('lock_timeout', '${BRIEFLY_MS}', true)) IS NOT NULL`;

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
