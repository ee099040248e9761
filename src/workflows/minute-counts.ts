// How often something happened within the last minute, to the second.
import type { Clock } from "../ports/clock.ts";

const SECONDS = 60;

export class MinuteCounts<Name extends string> {
  readonly #clock: Clock;
  readonly #seconds: { second: number; readonly counts: Map<Name, number> }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(name: Name, count = 1): void {
    const second = this.#second;
    const at = second % SECONDS;
    let slot = this.#seconds[at];
    if (slot?.second !== second) {
      slot = { second, counts: new Map() };
      this.#seconds[at] = slot;
    }
    slot.counts.set(name, (slot.counts.get(name) ?? 0) + count);
  }

  get(name: Name): number {
    const first = this.#second - SECONDS + 1;
    let sum = 0;
    for (const slot of this.#seconds) {
      if (slot !== undefined && slot.second >= first) sum += slot.counts.get(name) ?? 0;
    }
    return sum;
  }

  /** Those that happened at all. */
  get all(): Partial<Record<Name, number>> {
    const first = this.#second - SECONDS + 1;
    const sums: Partial<Record<Name, number>> = {};
    for (const slot of this.#seconds) {
      if (slot === undefined || slot.second < first) continue;
      for (const [name, count] of slot.counts) sums[name] = (sums[name] ?? 0) + count;
    }
    return sums;
  }

  get #second(): number {
    return Math.floor(this.#clock.monotonic() / 1_000);
  }
}
