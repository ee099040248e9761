// Repeatable random numbers: a test prints its seed, and `TEST_SEED=…` runs it with that seed again.
import type { TestContext } from "node:test";

export interface Dice {
  /** A whole number from 0 up to, but not including, `sides`. */
  below(sides: number): number;
}

export function dice(test: TestContext): Dice {
  const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 32));
  test.diagnostic(`TEST_SEED=${seed}`);
  let state = seed >>> 0;
  // mulberry32: small, and good enough to choose times.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (sides) => Math.floor(next() * sides) };
}
