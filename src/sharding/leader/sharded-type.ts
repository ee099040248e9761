// The leader's state of one sharded type, and the strategy that its rule selects.
import type { ShardedRule, StrategyRule } from "../../kernel/sharded-rule.ts";
import type { ShardMoved } from "../../ports/shard-admin.ts";
import { externalShards } from "../model/external-shards.ts";
import { hashedShards } from "../model/hashed-shards.ts";
import { leastShards } from "../model/least-shards.ts";
import type { Strategy } from "../model/strategy.ts";
import type { StrategyRequests } from "../model/strategy-requests.ts";
import type { TypeShards } from "../model/type-shards.ts";

export interface ShardedType {
  rule: ShardedRule;
  readonly shards: TypeShards;
  /** Undefined: code of the application, asked through `requests`. */
  strategy: Strategy | undefined;
  requests: StrategyRequests;
  /** Number of unusable answers. */
  faults: number;
  /** Assignments from outside, by shard: names or addresses of hosts. */
  readonly assigned: Map<number, string>;
  readonly leaving: Set<string>;
  /** Finished moves for display, oldest first. */
  readonly moves: ShardMoved[];
}

export function strategyOf(rule: StrategyRule, assigned: ReadonlyMap<number, string>): Strategy | undefined {
  switch (rule.kind) {
    case "least":
      return leastShards(rule);
    case "hashed":
      return hashedShards();
    case "external":
      return externalShards(assigned);
    case "custom":
      return undefined;
  }
}
