// A shard strategy written by the application: it chooses the homes of shards and the shards to move. It runs
// on any host of the type. It may wait and look up data, but state from an earlier call may be on another
// host.

/** A host that may be the home of shards, and its shards. Moving shards count at their target. */
export interface ShardHostInfo {
  readonly address: string;
  /** Its name, set by the operator. */
  readonly name: string;
  readonly incarnation: string;
  /** Its build; empty when it is unknown. During a rolling update there are several. */
  readonly build: string;
  readonly shards: readonly number[];
}

export interface ShardStrategy {
  /**
   * Chooses the home of a shard without one: an item of `hosts`, or its address, name or incarnation. `asker`
   * is the host that received a call for it, if it is one of them; undefined while a shard moves. If this
   * throws, takes more than five seconds or names no host, the shard goes to the host with the fewest.
   */
  home(
    shard: number,
    hosts: readonly ShardHostInfo[],
    asker: ShardHostInfo | undefined,
  ): ShardHostInfo | string | Promise<ShardHostInfo | string>;
  /**
   * Chooses the shards to move now, and their targets; without a target, `home` is called after the hand-off.
   * Without this method no shard moves, unless its host leaves.
   */
  moves?(
    hosts: readonly ShardHostInfo[],
    moving: ReadonlySet<number>,
  ): readonly ShardMoveWish[] | Promise<readonly ShardMoveWish[]>;
}

export interface ShardMoveWish {
  readonly shard: number;
  readonly to?: ShardHostInfo | string;
}

/** The named host; undefined when none or several match. */
export function meantHost<Host extends ShardHostInfo>(answer: unknown, hosts: readonly Host[]): Host | undefined {
  const name = typeof answer === "object" ? (answer as Partial<ShardHostInfo> | null)?.incarnation : answer;
  const exact = hosts.find(({ incarnation, address }) => incarnation === name || address === name);
  if (exact !== undefined) return exact;
  const named = hosts.filter((host) => host.name === name);
  return named.length === 1 ? named[0] : undefined;
}
