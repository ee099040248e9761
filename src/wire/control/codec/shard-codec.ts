// The shard messages of a host's stream as protobuf. Decoding checks every field. The wire keeps the words of
// release 0.1 for strategies and messages, so hosts and leaders of both releases understand each other.
import { parseDuration } from "../../../kernel/durations.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { SHARDING, type ShardedRule, type StrategyRule } from "../../../kernel/sharded-rule.ts";
import { MOST_SHARDS } from "../../../kernel/shards.ts";
import type { ShardOrder, ShardRegionEntry, ShardReport } from "../../../ports/control-messages.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { type Cases, type Codec, message, type Part, union } from "./codec.ts";
import { TABLE_HOST } from "./order-codec.ts";
import {
  BUILD,
  FLAG,
  INCARNATION,
  listOf,
  NUMBER,
  optional,
  orAbsent,
  orDefault,
  REASON,
  refuseMessage,
  required,
  TYPE,
  types,
  wholeNumber,
} from "./value-codecs.ts";

// ——— Rules.

const IS_SO: Codec<object, boolean> = { write: () => true, read: () => ({}) };

const SHARDS_OF_TYPE: Codec<number, number> = {
  write: NUMBER.write,
  read: (shards) =>
    shards >= 1 && shards <= MOST_SHARDS
      ? shards
      : refuseMessage(`a type must have 1 to ${MOST_SHARDS} shards; got ${shards}`),
};

const RELATIVE_LIMIT: Codec<number, number> = {
  write: NUMBER.write,
  read: (limit) =>
    limit >= 0 && limit <= 1 ? limit : refuseMessage("the relative limit of moves must be from 0 to 1"),
};

const STRATEGY = union<StrategyRule, proto.ShardedRule["strategy"]>(
  {
    least: [
      "least",
      message(proto.LeastShardsSchema, {
        absoluteLimit: NUMBER,
        relativeLimit: RELATIVE_LIMIT,
        threshold: orDefault(NUMBER, SHARDING.rebalanceThreshold),
      }),
    ],
    hashed: ["hashed", IS_SO],
    external: ["told", IS_SO],
    custom: ["own", IS_SO],
  },
  "a sharded type has no strategy",
);

export const SHARDED_RULE: Codec<ShardedRule, proto.ShardedRule> = message(proto.ShardedRuleSchema, {
  shards: SHARDS_OF_TYPE,
  ownShards: FLAG,
  movesAtOnce: NUMBER,
  strategy: STRATEGY,
  rebalanceMs: wholeNumber("a pause"),
  handOffMs: wholeNumber("a limit"),
  minHosts: orDefault(NUMBER, SHARDING.minHosts),
  startMs: [
    "startTimeoutMs",
    orDefault(wholeNumber("a limit"), parseDuration(SHARDING.startTimeout, "sharding.startTimeout")),
  ],
});

// ——— Parts of messages.

const SHARD: Codec<number, number> = {
  write: NUMBER.write,
  read: (shard) => (shard < MOST_SHARDS ? shard : refuseMessage(`there is no shard ${shard}`)),
};

/** A list has at most one item per shard. */
export const perShard = <T, W>(codec: Codec<T, W>) => listOf(codec, MOST_SHARDS, "shards");

const SHARDS = perShard(SHARD);

const STEP: Codec<{ readonly type: string; readonly shard: number; readonly move: number }, proto.ShardStep> = message(
  proto.ShardStepSchema,
  { type: ["actorType", TYPE], shard: SHARD, move: wholeNumber("a move") },
);

const REQUIRED_STEP = required(STEP, "a shard message does not name its shard");

const ASKED = { question: wholeNumber("a question"), type: ["actorType", TYPE] } as const;

/** The error for actor counts of another length than the shards they count. */
export const OTHER_LENGTH = "the number of actor counts must equal the number of shards";

const COUNTS: Part<readonly number[], proto.ShardCounts> = {
  put(stats, actors) {
    stats.actors = SHARDS.write(actors);
  },
  take: ({ shards, actors }) => (actors.length === shards.length ? actors : refuseMessage(OTHER_LENGTH)),
};

const HOSTLESS = "a list of shards does not name its host";

const REGION: Codec<ShardRegionEntry, proto.ShardRegion> = message(
  proto.ShardRegionSchema,
  { build: BUILD, shards: SHARDS },
  ["host", required(TABLE_HOST, HOSTLESS)],
);

export const REQUIRED_REGION = required(REGION, HOSTLESS);

// ——— Messages of hosts.

type Item<T, K extends string> = T extends { readonly [k in K]: readonly (infer I)[] } ? I : never;

const CHOICE: Codec<Item<ShardReport, "choices">, proto.ShardChoice> = message(proto.ShardChoiceSchema, {
  shard: SHARD,
  incarnation: optional(INCARNATION),
});

export const SHARD_REPORTS: Cases<ShardReport, proto.HostReport["report"]> = {
  getShardHomes: [
    "shardQuestions",
    message(proto.ShardQuestionsSchema, { type: ["actorType", TYPE], shards: SHARDS, held: orAbsent(SHARDS) }),
  ],
  beginHandOffAck: ["shardKept", STEP],
  shardStopped: [
    "shardStopped",
    message(proto.ShardStoppedSchema, { wasForced: ["forced", FLAG] }, ["step", REQUIRED_STEP]),
  ],
  shardStarted: ["shardsStarted", message(proto.ShardsStartedSchema, { type: ["actorType", TYPE], shards: SHARDS })],
  leaveShards: ["shardsLeft", message(proto.ShardsLeftSchema, { types: ["actorTypes", types(LIMITS.typesPerHost)] })],
  strategyAnswer: [
    "shardAdvice",
    message(proto.ShardAdviceSchema, { ...ASKED, choices: perShard(CHOICE), problem: optional(REASON) }),
  ],
  shardStats: ["shardCounts", message(proto.ShardCountsSchema, { ...ASKED, shards: SHARDS, actors: COUNTS })],
};

// ——— Messages of the leading scheduler.

const HOME: Codec<Item<ShardOrder, "homes">, proto.ShardHome> = message(proto.ShardHomeSchema, {
  shard: SHARD,
  host: optional(TABLE_HOST),
});

const WANTED: Codec<Item<ShardOrder, "wanted">, proto.WantedShard> = message(proto.WantedShardSchema, {
  shard: SHARD,
  asker: optional(INCARNATION),
});

export const SHARD_REPLIES: Cases<ShardOrder, proto.SchedulerReply["reply"]> = {
  shardHomes: [
    "shardHomes",
    message(proto.ShardHomesSchema, { type: ["actorType", TYPE], homes: perShard(HOME), confirm: orAbsent(FLAG) }),
  ],
  beginHandOff: ["shardGather", STEP],
  handOff: [
    "shardStop",
    message(proto.ShardStopSchema, { to: ["next", optional(TABLE_HOST)] }, ["step", REQUIRED_STEP]),
  ],
  askStrategy: [
    "shardAdvise",
    message(proto.ShardAdviceRequestSchema, {
      ...ASKED,
      regions: listOf(REGION),
      moving: SHARDS,
      wanted: perShard(WANTED),
    }),
  ],
  getShardStats: ["shardCount", message(proto.ShardCountRequestSchema, ASKED)],
};
