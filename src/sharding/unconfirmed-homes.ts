// Homes that have been announced to the host that is the home, and that the host has not confirmed.
//
// An announcement can be lost with the stream that carried it. Calls do not need it: a host that is called for a shard it does not know
// asks the leader. Remembered actors do: nobody calls them, so a home that does not know that it is one never starts them. The leader
// therefore announces a home again, when the host comes back and every time the limit has passed, until the host confirms it. Pure.

interface Announced {
  readonly host: string;
  readonly until: number;
}

export class UnconfirmedHomes {
  /** In the order of their limits. */
  readonly #homes = new Map<number, Announced>();

  /** The first limit that passes. */
  get deadline(): number {
    const [first] = this.#homes.values();
    return first?.until ?? Number.POSITIVE_INFINITY;
  }

  /** The host has been told, or is about to be, and has so long to confirm. */
  announced(shard: number, host: string, until: number): void {
    this.#homes.delete(shard);
    this.#homes.set(shard, { host, until });
  }

  confirmed(shard: number, host: string): void {
    if (this.#homes.get(shard)?.host === host) this.#homes.delete(shard);
  }

  /** The shard has no home, or another one. */
  drop(shard: number): void {
    this.#homes.delete(shard);
  }

  /** Shards of this host. */
  of(host: string): number[] {
    return [...this.#homes].filter(([, announced]) => announced.host === host).map(([shard]) => shard);
  }

  /** Those whose limit has passed. */
  due(now: number): [shard: number, host: string][] {
    const due: [number, string][] = [];
    for (const [shard, { host, until }] of this.#homes) {
      if (until > now) break;
      due.push([shard, host]);
    }
    return due;
  }
}
