// Maps words of shard rules and views to the words on the wire. The wire keeps the words of release 0.1, so
// hosts, leaders and operators of both releases understand each other.
import type { StrategyRule } from "../../../kernel/sharded-rule.ts";
import type { ShardMove } from "../../../ports/shard-admin.ts";

/** The words on the wire, by the words in the code. */
export const WIRE_STRATEGY = {
  least: "least",
  hashed: "hashed",
  external: "told",
  custom: "own",
} as const satisfies Record<StrategyRule["kind"], string>;

export const WIRE_PHASE = {
  buffering: "gathering",
  stopping: "stopping",
  allocating: "choosing",
  persisting: "saving",
} as const satisfies Record<ShardMove["phase"], string>;

/** The words in the code, by the words on the wire. */
export const STRATEGY_OF_WIRE = {
  least: "least",
  hashed: "hashed",
  told: "external",
  own: "custom",
} as const satisfies Record<(typeof WIRE_STRATEGY)[StrategyRule["kind"]], StrategyRule["kind"]>;

export const PHASE_OF_WIRE = {
  gathering: "buffering",
  stopping: "stopping",
  choosing: "allocating",
  saving: "persisting",
} as const satisfies Record<(typeof WIRE_PHASE)[ShardMove["phase"]], ShardMove["phase"]>;
