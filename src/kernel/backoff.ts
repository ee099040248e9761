// Computes the pause before a retry. It doubles with each failure up to a longest pause. A random number
// spreads the retries of processes that failed together over the second half of the pause.

/** Further failures change nothing: a first pause of 0 stays 0, and no pause overflows. */
const MOST_DOUBLINGS = 40;

/** `failures` counts from 0. `chance`: a random number in [0, 1); left out: the whole pause. */
export function backoffMs(failures: number, firstMs: number, longestMs: number, chance = 1): number {
  const pauseMs = Math.min(firstMs * 2 ** Math.min(failures, MOST_DOUBLINGS), longestMs);
  return pauseMs * (0.5 + chance / 2);
}
