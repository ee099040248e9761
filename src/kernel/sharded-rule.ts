// How the actors of a type are grouped into shards, and how those are spread over hosts: as hosts tell the leader of their types.

export type StrategyRule =
  | {
      readonly kind: "least";
      readonly absoluteLimit: number;
      readonly relativeLimit: number;
      /** Shards move when the difference between two hosts exceeds this number of shards. */
      readonly threshold: number;
    }
  | { readonly kind: "hashed" }
  /** Somebody outside says where each lives. */
  | { readonly kind: "told" }
  /** Code of the application decides; a host of the type is asked. */
  | { readonly kind: "own" };

export interface ShardedRule {
  readonly shards: number;
  /** Only who has the class can say which shard an actor is in. */
  readonly ownShards: boolean;
  readonly strategy: StrategyRule;
  /** Shards that move at the same time. */
  readonly movesAtOnce: number;
  readonly rebalanceMs: number;
  readonly handOffMs: number;
  /** Hosts that must be there before the first shard gets a home. */
  readonly minHosts: number;
  /** How long a host may take to confirm that it is the home of a shard; then the leader notifies it again. */
  readonly startMs: number;
}

export type ShardedRules = ReadonlyMap<string, ShardedRule>;

/** Values where neither a class nor a setting gives one, and for hosts of a release without the option. */
export const SHARDING = {
  rebalanceThreshold: 1,
  bufferSize: 10_000,
  retryInterval: "1s",
  startTimeout: "10s",
  minHosts: 1,
} as const;
