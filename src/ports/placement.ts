// The placement of actors, as src/actors requests it.

/** The actor may be activated on this host now. */
export const HERE: unique symbol = Symbol("here");
/** Its owner is about to change, or is not known yet: ask again after the next change. */
export const WAIT: unique symbol = Symbol("wait");
/** No host of the cluster runs its type. */
export const NOBODY: unique symbol = Symbol("nobody");

/** Or the address of the host that owns it. */
export type Route = typeof HERE | typeof WAIT | typeof NOBODY | string;

/**
 * Routes calls to sharded actors: calls of one host to one actor arrive in the order in which they were made.
 */
export interface ShardRouting {
  /** Undefined: this host cannot compute it. Throws SHARD_INVALID. */
  shardOf(id: string): number | undefined;
  /** Like `Placement.route`, for an actor in that shard. */
  route(id: string, shard: number | undefined): Route;
}

export interface Placement {
  /** The address of this host for other hosts. */
  readonly address: string;
  /** The reason why this process cannot route calls, for display; undefined when it can. */
  readonly problem: string | undefined;
  /**
   * Called only for actors that are not in memory here and are not sharded. `until`: the deadline of the
   * waiting caller, on the monotonic clock. Throws the error for the caller when there is no route.
   */
  route(type: string, id: string, until: number): Route;
  /** The owner by the table of this host, whether or not it may activate the actor now. */
  cachedOwner(
    type: string,
    id: string,
  ): { readonly term: number; readonly version: number; readonly owner: string | undefined };
  /** The earlier owner of an actor that waits for its activation here: only that host can still hold it. */
  ownerBefore(type: string, id: string): string | undefined;
  /**
   * That host, with this version of the table, reports that it does not hold the actor. True: it may be
   * activated here.
   */
  released(type: string, id: string, by: string, at: { readonly term: number; readonly version: number }): boolean;
  /** Actors of the type keep their host, whatever the ring assigns: the host of each must be looked up. */
  isSticky(type: string): boolean;
  /** The routing of sharded actors of the type, for now; undefined when the type is not sharded. */
  inShards(type: string): ShardRouting | undefined;
  /** That host has run the actor. */
  cacheOwner(type: string, id: string, address: string): void;
  /** The actor was not on the cached host. `address`: its host, as this host knows by itself. */
  invalidateOwner(type: string, id: string, address?: string): void;
  /** Returns whether a host of the type has that address. */
  isHost(type: string, address: string): boolean;
  /** Returns whether any known host runs actors of the type. */
  hasHosts(type: string): boolean;
  /** The known hosts of the type. */
  hostsOf(type: string): readonly string[];
  /** The types with known hosts. */
  hostedTypes(): readonly string[];
  /** The actor has left the memory of this host. */
  left(type: string, id: string, reason: string | undefined): void;
  /** The time without a lease because the store is silent; 0: it has a lease, or waits for something else. */
  silentFor?(now: number): number;
  /**
   * Returns whether a turn may begin at this moment of the monotonic clock. False once too much of the lease
   * has passed.
   */
  mayBegin(now: number): boolean;
  /**
   * Returns whether a finished turn may be committed. The store fences in any case; this check avoids useless
   * commits.
   */
  mayCommit(now: number): boolean;
  /**
   * Called after `mayBegin` returned false. Calls back once it is known whether this host keeps its lease
   * after a sleep. Absent: it does not.
   */
  confirmLease?(settled: (isKept: boolean) => void): void;
}
