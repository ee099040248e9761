// Who owns an actor, as the actors room asks it.

/** It may come to life here, now. */
export const HERE: unique symbol = Symbol("here");
/** Its owner is about to change, or is not known yet: ask again after the next change. */
export const WAIT: unique symbol = Symbol("wait");
/** No host of the cluster runs its type. */
export const NOBODY: unique symbol = Symbol("nobody");

/** Or the address of the host that owns it. */
export type Route = typeof HERE | typeof WAIT | typeof NOBODY | string;

/** To the actors of a type that live in shards: calls of one host to one of them arrive in the order in which they were made. */
export interface ShardRouting {
  /** Undefined: this host cannot say. Throws SHARD_INVALID. */
  shardOf(id: string): number | undefined;
  /** As `route` of all others, for one in that shard. */
  route(id: string, shard: number | undefined): Route;
}

export interface Placement {
  /** This host, as others call it. */
  readonly address: string;
  /** Why this process does not know its way around, for people; undefined when it does. */
  readonly problem: string | undefined;
  /**
   * Asked only for actors that are not in memory here and live in no shards. `until`: how long somebody waits for the way, on the
   * monotonic clock. Throws what the caller is told when there is none.
   */
  route(type: string, id: string, until: number): Route;
  /** Where this host's table says an actor lives, whether or not it may come to life there now. */
  cachedOwner(
    type: string,
    id: string,
  ): { readonly term: number; readonly version: number; readonly owner: string | undefined };
  /** Where it lived before, while it waits to come to life here: only that host can still hold it. */
  ownerBefore(type: string, id: string): string | undefined;
  /** That host, having this version of the table, says that the actor is not there. True: it may come to life here. */
  released(type: string, id: string, by: string, at: { readonly term: number; readonly version: number }): boolean;
  /** Actors of the type stay where they are, whatever the ring says: where each one is has to be found out one by one. */
  isSticky(type: string): boolean;
  /** How actors of the type are found when they live in shards, for now; undefined: they do not. */
  inShards(type: string): ShardRouting | undefined;
  /** That host has run it. */
  cacheOwner(type: string, id: string, address: string): void;
  /** It was not where somebody was sent. `address`: there, as this host knows for itself. */
  invalidateOwner(type: string, id: string, address?: string): void;
  /** Does any host of the type have that address? */
  isHost(type: string, address: string): boolean;
  /** Does any host run actors of the type, as far as is known here? */
  hasHosts(type: string): boolean;
  /** The hosts of the type, as far as is known here. */
  hostsOf(type: string): readonly string[];
  /** The types that have hosts, as far as is known here. */
  hostedTypes(): readonly string[];
  /** It has left the memory of this host. */
  left(type: string, id: string, reason: string | undefined): void;
  /** How long this host has had no lease because the store is silent; 0: it has one, or waits for something else. */
  silentFor?(now: number): number;
  /** May a turn begin at this moment of the monotonic clock? False once too much of the lease has passed. */
  mayBegin(now: number): boolean;
  /** May a turn that has run be committed? The store fences all the same; this is manners. */
  mayCommit(now: number): boolean;
  /** It may not. Calls back once it is known whether this host keeps its lease after a sleep. Absent: no. */
  confirmLease?(settled: (isKept: boolean) => void): void;
}
