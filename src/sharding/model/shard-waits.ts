// Shards that calls wait for at one host, and since when: their home is unknown, or they move. A host whose
// calls wait for too long makes no progress, and reports itself as unhealthy. Pure.

interface Wait {
  since: number;
  /** Time at which a call last waited. */
  last: number;
}

/** Waiting calls retry more often than this; a shard without a retry for this long has no waiting calls. */
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

  /** The home is known. */
  ended(type: string, shard: number): void {
    this.#types.get(type)?.delete(shard);
  }

  clear(): void {
    this.#types.clear();
  }

  /** Shards of a type with the duration of their waits. */
  of(type: string, now: number): Map<number, number> {
    const all = [...(this.#types.get(type) ?? [])].filter(([, { last }]) => now - last <= FORGOTTEN_MS);
    return new Map(all.map(([shard, { since }]) => [shard, now - since]));
  }

  /** The shard with the longest wait beyond its limit. `patience`: the limit, by type. */
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
