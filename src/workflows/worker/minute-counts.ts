// Counts events of the last minute, to the second.
import type { Clock } from "../../ports/clock.ts";
import type { StoredWorker } from "../../ports/store/workflows.ts";
import type { MinuteOfClaims } from "../../ports/workflow-admin.ts";

const SECONDS = 60;

/** The counts of one second; seconds are numbered by the clock. */
export interface SecondCounts<Name extends string> {
  readonly second: number;
  readonly counts: Partial<Record<Name, number>>;
}

export class MinuteCounts<Name extends string> {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #slots: { readonly second: number; readonly counts: Partial<Record<Name, number>> }[] = [];

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  add(name: Name, count = 1): void {
    const second = this.#second;
    const at = second % SECONDS;
    let slot = this.#slots[at];
    if (slot?.second !== second) {
      slot = { second, counts: {} };
      this.#slots[at] = slot;
    }
    slot.counts[name] = (slot.counts[name] ?? 0) + count;
  }

  get(name: Name): number {
    return this.all[name] ?? 0;
  }

  /** Names with a count above zero. */
  get all(): Partial<Record<Name, number>> {
    return this.inLastMinute(this.#slots);
  }

  /** The seconds of the last minute with a count. */
  get seconds(): SecondCounts<Name>[] {
    const first = this.#first;
    return this.#slots.filter((slot) => slot !== undefined && slot.second >= first);
  }

  /** The sum of the seconds within the last minute. */
  inLastMinute(seconds: Iterable<SecondCounts<Name> | undefined>): Partial<Record<Name, number>> {
    const first = this.#first;
    const sums: Partial<Record<Name, number>> = {};
    for (const slot of seconds) if (slot !== undefined && slot.second >= first) addCounts(sums, slot.counts);
    return sums;
  }

  get #first(): number {
    return this.#second - SECONDS + 1;
  }

  get #second(): number {
    return Math.floor(this.#clock.monotonic() / 1_000);
  }
}

export function addCounts<Name extends string>(
  sums: Partial<Record<Name, number>>,
  more: Partial<Readonly<Record<Name, number>>>,
): void {
  for (const [name, count] of Object.entries<number | undefined>(more) as [Name, number][]) {
    sums[name] = (sums[name] ?? 0) + count;
  }
}

export const NO_CLAIMS: MinuteOfClaims = { sticky_hit_expected: 0, cold_replay: 0, forced_cold_replay: 0, miss: 0 };

/** Our own workers report it with their heartbeats; hosts count the claims of workers in other languages. */
export function lastMinuteOf(live: readonly StoredWorker[], elsewhere: MinuteOfClaims): MinuteOfClaims {
  const sums = { ...elsewhere };
  for (const { about } of live) {
    const { minute = {} } = JSON.parse(about) as { minute?: Partial<MinuteOfClaims> };
    addCounts(sums, minute);
  }
  return sums;
}
