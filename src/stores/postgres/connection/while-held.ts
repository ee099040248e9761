// Retries statements on rows that another transaction holds. A statement that times out on a row has changed
// nothing.
//
// A transaction that locks several rows and waits for some of them could deadlock. Setting reminders locks
// all keys in one order, so it may wait. No other statement can keep that order, so it waits only *briefly*:
// the server never has to detect a deadlock.
import { setTimeout as pause } from "node:timers/promises";
import { StoreFault } from "./faults.ts";

/** Longer than a batch of Limpet's statements, and far shorter than the server's deadlock detection. */
export const BRIEFLY_MS = 25;

/**
 * Must be evaluated before anything is locked: from then on the statement times out on a locked row after a
 * moment.
 */
export const briefly = `(SELECT set_config('lock_timeout', '${BRIEFLY_MS}', true)) IS NOT NULL`;

export const isLocked = (error: unknown): boolean => error instanceof StoreFault && error.kind === "locked";

/** Repeats `work` while it meets locked rows, for about `heldMs`. */
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
