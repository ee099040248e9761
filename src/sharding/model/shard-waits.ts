// Which shards calls wait for at one host, and since when: because it was not said yet where they live, or because they move. Whoever waits
// for too long makes no progress, and its host says that it is not well. Pure.

interface Wait {
  since: number;
  /** When a call was last seen to wait. */
  last: number;
}

/** Who waits looks again and again, more often than this: for what nobody has looked for so long, nobody waits any more. */
const FORGOTTEN_MS = 5_000;

export class ShardWaits {
  readonly #types = new Map<string, Map<number, Wait>>();

  /** A call has to wait, or still has to. */
  waits(type: string, shard: number, now: number): void {
    const waits = this.#types.get(type) ?? new Map<number, Wait>();
    this.#types.set(type, waits);
    const wait = waits.get(shard);
    if (wait === undefined || now - wait.last > FORGOTTEN_MS) waits.set(shard, { since: now, last: now });
    else wait.last = now;
  }

  /** It is known where it lives. */
  ended(type: string, shard: number): void {
    this.#types.get(type)?.delete(shard);
  }

  clear(): void {
    this.#types.clear();
  }

  /** Those of a type, and for how long. */
  of(type: string, now: number): Map<number, number> {
    const all = [...(this.#types.get(type) ?? [])].filter(([, { last }]) => now - last <= FORGOTTEN_MS);
    return new Map(all.map(([shard, { since }]) => [shard, now - since]));
  }

  /** The one that has been waited for the longest of those that were for too long. `patience`: how long that is, by type. */
  stuck(now: number, patience: (type: string) => number): { type: string; shard: number; ms: number } | undefined {
    let worst: { type: string; shard: number; ms: number } | undefined;
    for (const type of this.#types.keys()) {
      const most = patience(type);
      for (const [shard, ms] of this.of(type, now)) {
        if (ms > most && ms > (worst?.ms ?? 0)) worst = { type, shard, ms };
      }
    }
    return worst;
  }
}
