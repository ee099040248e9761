// A strategy that the application writes: where the shards of a type live, and which of them move. It runs on a host of the type, whichever
// is asked; so it may wait, and look up what it needs, but what it knows from before may be known to another host only.

/** A host that may be the home of shards, and those that it is the home of. Shards that move are counted where they will be. */
export interface ShardHostInfo {
  readonly address: string;
  /** The name its operator gave it. */
  readonly name: string;
  readonly incarnation: string;
  /** What it was built from; empty when that is not known. During a rolling update there are several. */
  readonly build: string;
  readonly shards: readonly number[];
}

export interface ShardStrategy {
  /**
   * Where a shard that has no home shall live: one of `hosts`, or its address, name or incarnation. `asker` is the host that was called, if
   * it is one of them; while a shard moves it is nobody. If it throws, takes more than five seconds or names nobody, the shard goes to the
   * host with the fewest.
   */
  home(
    shard: number,
    hosts: readonly ShardHostInfo[],
    asker: ShardHostInfo | undefined,
  ): ShardHostInfo | string | Promise<ShardHostInfo | string>;
  /**
   * Which shards should move now, and where to; without a host, `home` is asked when they have come to their end. Without this none moves,
   * unless its host leaves.
   */
  moves?(
    hosts: readonly ShardHostInfo[],
    moving: ReadonlySet<number>,
  ): readonly ShardMoveWish[] | Promise<readonly ShardMoveWish[]>;
}

export interface ShardMoveWish {
  readonly shard: number;
  readonly to?: ShardHostInfo | string | undefined;
}

/** The one that was meant; undefined: nobody that is there, or several. */
export function meantHost<Host extends ShardHostInfo>(said: unknown, hosts: readonly Host[]): Host | undefined {
  const name = typeof said === "object" ? (said as Partial<ShardHostInfo> | null)?.incarnation : said;
  const exact = hosts.find(({ incarnation, address }) => incarnation === name || address === name);
  if (exact !== undefined) return exact;
  const named = hosts.filter((host) => host.name === name);
  return named.length === 1 ? named[0] : undefined;
}
