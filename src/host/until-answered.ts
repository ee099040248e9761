// Repeats a request of the start while the store does not answer it, as later heartbeats do. The request must
// be safe to repeat.
import { backoffMs } from "../kernel/backoff.ts";
import { isLimpetError } from "../kernel/errors.ts";
import type { Clock } from "../ports/clock.ts";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Rejects with the last failure when the store has not answered within `patienceMs`, and at once with any
 * other error.
 */
export async function untilAnswered<T>(clock: Clock, patienceMs: number, ask: () => Promise<T>): Promise<T> {
  const until = clock.monotonic() + patienceMs;
  for (let failures = 0; ; failures++) {
    const pauseMs = backoffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    try {
      return await ask();
    } catch (error) {
      const isSilent = isLimpetError(error, "STORE_UNAVAILABLE") || isLimpetError(error, "COMMIT_UNKNOWN");
      if (!isSilent || clock.monotonic() + pauseMs >= until) throw error;
    }
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
  }
}
