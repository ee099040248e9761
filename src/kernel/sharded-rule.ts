// The sharding options of a type, as hosts report them to the leader: how actors form shards, and how shards
// are spread over hosts.

export type StrategyRule =
  | {
      readonly kind: "least";
      readonly absoluteLimit: number;
      readonly relativeLimit: number;
      /** Shards move when the difference between two hosts exceeds this number of shards. */
      readonly threshold: number;
    }
  | { readonly kind: "hashed" }
  /** Homes are assigned from outside. */
  | { readonly kind: "external" }
  /** Code of the application decides; the leader requests it from a host of the type. */
  | { readonly kind: "custom" };

export interface ShardedRule {
  readonly shards: number;
  /** Only hosts with the class can compute the shard of an actor. */
  readonly ownShards: boolean;
  readonly strategy: StrategyRule;
  /** Shards that move at the same time. */
  readonly movesAtOnce: number;
  readonly rebalanceMs: number;
  readonly handOffMs: number;
  /** Hosts that must be present before the first shard gets a home. */
  readonly minHosts: number;
  /** Time for a host to confirm that it is the home of a shard; then the leader notifies it again. */
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
