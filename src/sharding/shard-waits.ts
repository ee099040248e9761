// Which shards calls wait for at one host, and since when: because it was not said yet where they live, or because they move. Whoever waits
// for too long makes no progress, and its host says that it is not well. Pure.

export class ShardWaits {
  readonly #types = new Map<string, Map<number, number>>();

  /** A call has to wait. */
  began(type: string, shard: number, now: number): void {
    const waits = this.#types.get(type) ?? new Map<number, number>();
    if (!waits.has(shard)) this.#types.set(type, waits.set(shard, now));
  }

  /** It is known where it lives, or that it lives nowhere. */
  ended(type: string, shard: number): void {
    this.#types.get(type)?.delete(shard);
  }

  clear(): void {
    this.#types.clear();
  }

  /** Those of a type, and for how long. */
  of(type: string, now: number): Map<number, number> {
    return new Map([...(this.#types.get(type) ?? [])].map(([shard, since]) => [shard, now - since]));
  }

  /** The one that has been waited for the longest of those that were for too long. `patience`: how long that is, by type. */
  stuck(now: number, patience: (type: string) => number): { type: string; shard: number; ms: number } | undefined {
    let worst: { type: string; shard: number; ms: number } | undefined;
    for (const [type, waits] of this.#types) {
      const most = patience(type);
      for (const [shard, since] of waits) {
        const ms = now - since;
        if (ms > most && ms > (worst?.ms ?? 0)) worst = { type, shard, ms };
      }
    }
    return worst;
  }
}
