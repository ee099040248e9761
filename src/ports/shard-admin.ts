// Shards of one type as people look at them, and what they may say about them. Times are milliseconds, hosts are addresses.

export interface ShardsView {
  readonly type: string;
  /** How many there are; most may never have been used. */
  readonly shards: number;
  readonly strategy: "least" | "hashed" | "told" | "own";
  /** None moves for the sake of balance. Those of a host that leaves do all the same. */
  readonly paused: boolean;
  /** Those that may be homes, or still are, in order of address. */
  readonly hosts: readonly ShardsOfHost[];
  readonly moving: readonly ShardMove[];
  /** Moves that are over, the newest first, as far as this leader remembers. */
  readonly moved: readonly ShardMoved[];
  /** Where each is to live, by the name or address of a host, as it was said last. */
  readonly told: readonly ShardPlace[];
  /** Times that the application's own strategy could not be followed. */
  readonly faults: number;
}

/** A sharded type among others. */
export interface ShardsSummary {
  readonly type: string;
  readonly shards: number;
  readonly strategy: ShardsView["strategy"];
  readonly paused: boolean;
  /** Those that have a home. */
  readonly used: number;
  /** Those on their way. */
  readonly moving: number;
  readonly hosts: number;
  /** In memory. Undefined: not every host said in time how many it has. */
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
  /** It is the home of these. */
  readonly shards: readonly number[];
  /** For each of them, how many actors are in memory. Undefined: it did not say in time. */
  readonly actors: readonly number[] | undefined;
}

export interface ShardMove {
  readonly shard: number;
  readonly phase: "gathering" | "stopping" | "choosing" | "saving";
  readonly reason: MoveReason;
  readonly from: string;
  readonly to: string | undefined;
  readonly forMs: number;
  /** Those whose word is missing. */
  readonly waitsFor: readonly string[];
}

/** `lost`: its host was gone; how long it took counts from when it was asked for. */
export const MOVE_REASONS = ["balance", "leave", "by hand", "lost"] as const;
export type MoveReason = (typeof MOVE_REASONS)[number];

export interface ShardMoved {
  readonly shard: number;
  readonly reason: MoveReason;
  readonly from: string;
  /** Undefined: nobody could be its home. */
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
  /** It is the home of these, with so many actors in memory. */
  readonly homes: ReadonlyMap<number, number>;
  /** Calls for these wait, because it is not known where they live or because they move; and for how many milliseconds. */
  readonly waiting: ReadonlyMap<number, number>;
}

/** A host by its name or address; undefined: anywhere. */
export interface ShardPlace {
  readonly shard: number;
  readonly host: string | undefined;
}

export type ShardSteering =
  /** Now, once: the strategy may move it again. */
  | { readonly kind: "move"; readonly shard: number; readonly host: string }
  | { readonly kind: "pause"; readonly paused: boolean }
  /** From now on, for a type whose strategy is `told`. */
  | { readonly kind: "allocate"; readonly places: readonly ShardPlace[] };
