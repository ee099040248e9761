// Shards of one type for display, and the operations on them. Times are milliseconds, hosts are addresses.

export interface ShardsView {
  readonly type: string;
  /** Number of shards; most may never have been used. */
  readonly shards: number;
  readonly strategy: "least" | "hashed" | "external" | "custom";
  /** Rebalancing is paused. Shards of a leaving host still move. */
  readonly paused: boolean;
  /** Hosts that may be homes, or still are, in order of address. */
  readonly hosts: readonly ShardsOfHost[];
  readonly moving: readonly ShardMove[];
  /** Finished moves, the newest first, as far as this leader remembers. */
  readonly moved: readonly ShardMoved[];
  /** The assigned host of each shard, by name or address. */
  readonly told: readonly ShardPlace[];
  /** Number of failures of the custom strategy. */
  readonly faults: number;
}

/** A sharded type in a list. */
export interface ShardsSummary {
  readonly type: string;
  readonly shards: number;
  readonly strategy: ShardsView["strategy"];
  readonly paused: boolean;
  /** Shards with a home. */
  readonly used: number;
  /** Moving shards. */
  readonly moving: number;
  readonly hosts: number;
  /** Actors in memory. Undefined: not every host answered in time. */
  readonly actors: number | undefined;
  readonly faults: number;
}

export interface ShardsOfHost {
  readonly address: string;
  readonly name: string;
  readonly incarnation: string;
  readonly build: string;
  /** It hands its shards over. */
  readonly leaving: boolean;
  /** Shards with this host as home. */
  readonly shards: readonly number[];
  /** Actors in memory for each shard. Undefined: it did not answer in time. */
  readonly actors: readonly number[] | undefined;
}

export interface ShardMove {
  readonly shard: number;
  readonly phase: "buffering" | "stopping" | "allocating" | "persisting";
  readonly reason: MoveReason;
  readonly from: string;
  readonly to: string | undefined;
  readonly forMs: number;
  /** Hosts that have not acknowledged. */
  readonly waitsFor: readonly string[];
}

/** `lost`: its host was gone; the duration counts from the first request for the shard. */
export const MOVE_REASONS = ["balance", "leave", "by hand", "lost"] as const;
export type MoveReason = (typeof MOVE_REASONS)[number];

export interface ShardMoved {
  readonly shard: number;
  readonly reason: MoveReason;
  readonly from: string;
  /** Undefined: no host could be its home. */
  readonly to: string | undefined;
  readonly tookMs: number;
  /** Some of its actors did not end their turns in time and were given up. */
  readonly forced: boolean;
  /** Since 1970, on the leader's clock. */
  readonly at: number;
}

/** The shards of one type at one process. */
export interface ShardsHere {
  readonly type: string;
  /** Shards with this host as home, with their actors in memory. */
  readonly homes: ReadonlyMap<number, number>;
  /**
   * Shards with waiting calls, because their home is unknown or they move; with the waiting time in
   * milliseconds.
   */
  readonly waiting: ReadonlyMap<number, number>;
}

/** A host by its name or address; undefined: any host. */
export interface ShardPlace {
  readonly shard: number;
  readonly host: string | undefined;
}

export type ShardSteering =
  /** Once, now: the strategy may move it again. */
  | { readonly kind: "move"; readonly shard: number; readonly host: string }
  | { readonly kind: "pause"; readonly paused: boolean }
  /** From now on, for a type with the strategy `external`. */
  | { readonly kind: "allocate"; readonly places: readonly ShardPlace[] };
