// What is said about shards on a host's stream, as protobuf and back. What is read is checked.
import { create } from "@bufbuild/protobuf";
import { invariant } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { ShardedRule, ShardedRules, StrategyRule } from "../../kernel/sharded-rule.ts";
import { MOST_SHARDS } from "../../kernel/shards.ts";
import type { ShardOrder, ShardReport } from "../../placement/messages.ts";
import * as proto from "../proto/gen/limpet/control/v1/control_pb.js";
import { readTypes, readWhole, readWord, refuse, writeWhole } from "./checks.ts";
import { readTableHost, writeTableHost } from "./order-codec.ts";

// ——— Rules.

export function writeShardedRules(rules: ShardedRules | undefined): Record<string, proto.ShardedRule> {
  return Object.fromEntries([...(rules ?? [])].map(([type, rule]) => [type, writeRule(rule)]));
}

function writeRule({ shards, strategy, movesAtOnce, rebalanceMs, handOffMs }: ShardedRule): proto.ShardedRule {
  return create(proto.ShardedRuleSchema, {
    ...{ shards, movesAtOnce, strategy: writeStrategy(strategy) },
    rebalanceMs: writeWhole(rebalanceMs, "a pause"),
    handOffMs: writeWhole(handOffMs, "a limit"),
  });
}

function writeStrategy(rule: StrategyRule): proto.ShardedRule["strategy"] {
  if (rule.kind !== "least") return { case: rule.kind, value: true };
  const { absoluteLimit, relativeLimit } = rule;
  return { case: "least", value: create(proto.LeastShardsSchema, { absoluteLimit, relativeLimit }) };
}

/** As a part of the message they belong to: nothing when there are none. */
export function readShardedRules(rules: Record<string, proto.ShardedRule>): { readonly sharded?: ShardedRules } {
  const entries = Object.entries(rules);
  if (entries.length === 0) return {};
  const most = LIMITS.typesPerHost;
  if (entries.length > most)
    refuse(`${entries.length} sharded types are more than the ${most} that one host may report`);
  return { sharded: new Map(entries.map(([type, rule]) => [readWord(type, "actor type"), readRule(rule)])) };
}

function readRule({ shards, strategy, movesAtOnce, rebalanceMs, handOffMs }: proto.ShardedRule): ShardedRule {
  if (shards < 1 || shards > MOST_SHARDS) refuse(`a type has 1 to ${MOST_SHARDS} shards, not ${shards}`);
  return {
    ...{ shards, movesAtOnce, strategy: readStrategy(strategy) },
    rebalanceMs: readWhole(rebalanceMs, "a pause"),
    handOffMs: readWhole(handOffMs, "a limit"),
  };
}

function readStrategy(strategy: proto.ShardedRule["strategy"]): StrategyRule {
  if (strategy.case === undefined) return refuse("a sharded type comes without a strategy");
  if (strategy.case !== "least") return { kind: strategy.case };
  const { absoluteLimit, relativeLimit } = strategy.value;
  if (!(relativeLimit >= 0 && relativeLimit <= 1)) refuse("the relative limit of moves is a share");
  return { kind: "least", absoluteLimit, relativeLimit };
}

// ——— Of hosts.

type Report = Extract<
  proto.HostReport["report"],
  { case: "shardQuestions" | "shardKept" | "shardStopped" | "shardsLeft" }
>;

interface Step {
  readonly type: string;
  readonly shard: number;
  readonly move: number;
}

const writeStep = ({ type, shard, move }: Step): proto.ShardStep =>
  create(proto.ShardStepSchema, { actorType: type, shard, move: writeWhole(move, "a move") });

function readStep(step: proto.ShardStep | undefined): Step {
  if (step === undefined) return refuse("it is not said which shard moves");
  return {
    type: readWord(step.actorType, "actor type"),
    shard: readShard(step.shard),
    move: readWhole(step.move, "a move"),
  };
}

const readShard = (shard: number): number => (shard < MOST_SHARDS ? shard : refuse(`there is no shard ${shard}`));

/** There is one for each shard at most. */
function fewEnough<T>(list: readonly T[]): T[] {
  invariant(list.length <= MOST_SHARDS, "a message is about each shard once");
  return list as T[];
}

export function writeShardReport(message: ShardReport): Report {
  switch (message.kind) {
    case "shardAsk": {
      const { type, shards } = message;
      const value = create(proto.ShardQuestionsSchema, { actorType: type, shards: fewEnough(shards) });
      return { case: "shardQuestions", value };
    }
    case "shardKept":
      return { case: "shardKept", value: writeStep(message) };
    case "shardStopped": {
      const value = create(proto.ShardStoppedSchema, { step: writeStep(message), forced: message.wasForced });
      return { case: "shardStopped", value };
    }
    case "shardLeave":
      return { case: "shardsLeft", value: create(proto.ShardsLeftSchema, { actorTypes: [...message.types] }) };
  }
}

export function readShardReport(report: Report): ShardReport {
  switch (report.case) {
    case "shardQuestions": {
      const { actorType, shards } = report.value;
      if (shards.length > MOST_SHARDS) refuse(`${shards.length} shards are more than there can be`);
      return { kind: "shardAsk", type: readWord(actorType, "actor type"), shards: shards.map(readShard) };
    }
    case "shardKept":
      return { kind: "shardKept", ...readStep(report.value) };
    case "shardStopped":
      return { kind: "shardStopped", ...readStep(report.value.step), wasForced: report.value.forced };
    case "shardsLeft":
      return { kind: "shardLeave", types: readTypes(report.value.actorTypes, LIMITS.typesPerHost) };
  }
}

// ——— Of the leading scheduler.

type Reply = Extract<proto.SchedulerReply["reply"], { case: "shardHomes" | "shardGather" | "shardStop" }>;

export function writeShardReply(message: ShardOrder): Reply {
  switch (message.kind) {
    case "shardHomes": {
      const homes = fewEnough(message.homes).map(({ shard, host }) => {
        return create(proto.ShardHomeSchema, { shard, ...(host === undefined ? {} : { host: writeTableHost(host) }) });
      });
      return { case: "shardHomes", value: create(proto.ShardHomesSchema, { actorType: message.type, homes }) };
    }
    case "shardGather":
      return { case: "shardGather", value: writeStep(message) };
    case "shardStop": {
      const { to } = message;
      const next = to === undefined ? {} : { next: writeTableHost(to) };
      return { case: "shardStop", value: create(proto.ShardStopSchema, { step: writeStep(message), ...next }) };
    }
  }
}

export function readShardReply(reply: Reply): ShardOrder {
  switch (reply.case) {
    case "shardHomes": {
      const { actorType, homes } = reply.value;
      if (homes.length > MOST_SHARDS) refuse(`${homes.length} shards are more than there can be`);
      return {
        kind: "shardHomes",
        type: readWord(actorType, "actor type"),
        homes: homes.map(({ shard, host }) => ({ shard: readShard(shard), host: host && readTableHost(host) })),
      };
    }
    case "shardGather":
      return { kind: "shardGather", ...readStep(reply.value) };
    case "shardStop": {
      const { step, next } = reply.value;
      return { kind: "shardStop", ...readStep(step), to: next && readTableHost(next) };
    }
  }
}
