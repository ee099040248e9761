// How the actors of a type are grouped into shards, and how those are spread over hosts: as hosts tell the leader of their types.

export type StrategyRule =
  | { readonly kind: "least"; readonly absoluteLimit: number; readonly relativeLimit: number }
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
}

export type ShardedRules = ReadonlyMap<string, ShardedRule>;
