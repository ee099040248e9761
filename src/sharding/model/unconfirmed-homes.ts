// Tracks homes that the leader has announced to their host and that the host has not confirmed.
//
// An announcement can be lost with the stream that carried it. Calls do not need it: a host that gets a call
// for a shard it does not know asks the leader. Remembered actors do: they get no calls, so a host that
// missed the announcement never starts them. The leader therefore repeats it when the host reconnects and
// whenever the limit has passed, until the host confirms. Pure.

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

  /** The leader notifies the host, which has this long to confirm. */
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

  /** The homes whose limit has passed. */
  due(now: number): [shard: number, host: string][] {
    const due: [number, string][] = [];
    for (const [shard, { host, until }] of this.#homes) {
      if (until > now) break;
      due.push([shard, host]);
    }
    return due;
  }
}
