// How often something happened within the last minute, to the second.
import type { Clock } from "../ports/clock.ts";
import type { MinuteOfClaims } from "../ports/workflow-door.ts";
import type { StoredWorker } from "../ports/workflows.ts";

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

const NO_CLAIMS: MinuteOfClaims = { sticky_hit_expected: 0, cold_replay: 0, forced_cold_replay: 0, miss: 0 };

/** Our own workers tell it with their heartbeats; what workers elsewhere claimed is known where they asked. */
export function lastMinuteOf(
  live: readonly StoredWorker[],
  claimedHere: (name: keyof MinuteOfClaims) => number,
): MinuteOfClaims {
  const sums: Record<string, number> = { ...NO_CLAIMS };
  for (const { about } of live) {
    const { minute = {} } = JSON.parse(about) as { minute?: Partial<MinuteOfClaims> };
    for (const name of Object.keys(NO_CLAIMS)) sums[name]! += minute[name as keyof MinuteOfClaims] ?? 0;
  }
  for (const name of Object.keys(NO_CLAIMS)) sums[name]! += claimedHere(name as keyof MinuteOfClaims);
  return sums as MinuteOfClaims;
}
