// Encodes the shard messages of a host's stream as protobuf, and decodes them. Decoding checks every field.
import { create } from "@bufbuild/protobuf";
import { parseDuration } from "../../../kernel/durations.ts";
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { SHARDING, type ShardedRule, type ShardedRules, type StrategyRule } from "../../../kernel/sharded-rule.ts";
import { MOST_SHARDS } from "../../../kernel/shards.ts";
import type { ShardOrder, ShardRegionEntry, ShardReport } from "../../../ports/control-messages.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { cutReason, readId, readText, readTypes, readWhole, readWord, refuseMessage, writeWhole } from "./checks.ts";
import { readTableHost, writeTableHost } from "./order-codec.ts";
import { STRATEGY_OF_WIRE, WIRE_STRATEGY } from "./shard-words.ts";

// ——— Rules.

const START_MS = parseDuration(SHARDING.startTimeout, "sharding.startTimeout");

export function writeShardedRules(rules: ShardedRules | undefined): Record<string, proto.ShardedRule> {
  return Object.fromEntries([...(rules ?? [])].map(([type, rule]) => [type, writeRule(rule)]));
}

function writeRule({
  shards,
  strategy,
  movesAtOnce,
  rebalanceMs,
  handOffMs,
  ownShards,
  minHosts,
  startMs,
}: ShardedRule): proto.ShardedRule {
  return create(proto.ShardedRuleSchema, {
    shards,
    ownShards,
    movesAtOnce,
    strategy: writeStrategy(strategy),
    minHosts,
    rebalanceMs: writeWhole(rebalanceMs, "a pause"),
    handOffMs: writeWhole(handOffMs, "a limit"),
    startTimeoutMs: writeWhole(startMs, "a limit"),
  });
}

function writeStrategy(rule: StrategyRule): proto.ShardedRule["strategy"] {
  if (rule.kind !== "least") return { case: WIRE_STRATEGY[rule.kind], value: true };
  const { absoluteLimit, relativeLimit, threshold } = rule;
  return { case: "least", value: create(proto.LeastShardsSchema, { absoluteLimit, relativeLimit, threshold }) };
}

/** Returns a part of the enclosing message: empty when there are no rules. */
export function readShardedRules(rules: Record<string, proto.ShardedRule>): { readonly sharded?: ShardedRules } {
  const entries = Object.entries(rules);
  if (entries.length === 0) return {};
  const most = LIMITS.typesPerHost;
  if (entries.length > most)
    refuseMessage(`${entries.length} sharded types are more than the limit of ${most} per host`);
  return { sharded: new Map(entries.map(([type, rule]) => [readWord(type, "actor type"), readRule(rule)])) };
}

function readRule({
  shards,
  strategy,
  movesAtOnce,
  rebalanceMs,
  handOffMs,
  ownShards,
  minHosts,
  startTimeoutMs,
}: proto.ShardedRule): ShardedRule {
  if (shards < 1 || shards > MOST_SHARDS) refuseMessage(`a type must have 1 to ${MOST_SHARDS} shards; got ${shards}`);
  return {
    shards,
    ownShards,
    movesAtOnce,
    strategy: readStrategy(strategy),
    rebalanceMs: readWhole(rebalanceMs, "a pause"),
    handOffMs: readWhole(handOffMs, "a limit"),
    // A host of the previous release sends neither field.
    minHosts: minHosts || SHARDING.minHosts,
    startMs: readWhole(startTimeoutMs, "a limit") || START_MS,
  };
}

function readStrategy(strategy: proto.ShardedRule["strategy"]): StrategyRule {
  if (strategy.case === undefined) return refuseMessage("a sharded type has no strategy");
  if (strategy.case !== "least") return { kind: STRATEGY_OF_WIRE[strategy.case] };
  const { absoluteLimit, relativeLimit, threshold } = strategy.value;
  if (!(relativeLimit >= 0 && relativeLimit <= 1)) refuseMessage("the relative limit of moves must be from 0 to 1");
  return { kind: "least", absoluteLimit, relativeLimit, threshold: threshold || SHARDING.rebalanceThreshold };
}

// ——— Messages of hosts.

type Report = Extract<
  proto.HostReport["report"],
  {
    case:
      | "shardQuestions"
      | "shardKept"
      | "shardStopped"
      | "shardsStarted"
      | "shardsLeft"
      | "shardAdvice"
      | "shardCounts";
  }
>;

interface Step {
  readonly type: string;
  readonly shard: number;
  readonly move: number;
}

const writeStep = ({ type, shard, move }: Step): proto.ShardStep =>
  create(proto.ShardStepSchema, { actorType: type, shard, move: writeWhole(move, "a move") });

function readStep(step: proto.ShardStep | undefined): Step {
  if (step === undefined) return refuseMessage("a shard message does not name its shard");
  return {
    type: readWord(step.actorType, "actor type"),
    shard: readShard(step.shard),
    move: readWhole(step.move, "a move"),
  };
}

const readShard = (shard: number): number =>
  shard < MOST_SHARDS ? shard : refuseMessage(`there is no shard ${shard}`);

function readShards(shards: readonly number[]): readonly number[] {
  if (shards.length > MOST_SHARDS) refuseMessage(`${shards.length} shards are more than the limit of ${MOST_SHARDS}`);
  return shards.map(readShard);
}

interface Asked {
  readonly question: number;
  readonly type: string;
}

const writeAsked = ({ question, type }: Asked): { question: bigint; actorType: string } => {
  return { question: writeWhole(question, "a question"), actorType: type };
};

const readAsked = ({ question, actorType }: { question: bigint; actorType: string }): Asked => {
  return { question: readWhole(question, "a question"), type: readWord(actorType, "actor type") };
};

/** A list has at most one item per shard. */
function fewEnough<T>(list: readonly T[]): T[] {
  invariant(list.length <= MOST_SHARDS, "a message is about each shard once");
  return list as T[];
}

export function writeShardReport(message: ShardReport): Report {
  switch (message.kind) {
    case "getShardHomes": {
      const { type, shards, held = [] } = message;
      const questions = { actorType: type, shards: fewEnough(shards), held: fewEnough(held) };
      const value = create(proto.ShardQuestionsSchema, questions);
      return { case: "shardQuestions", value };
    }
    case "beginHandOffAck":
      return { case: "shardKept", value: writeStep(message) };
    case "shardStopped": {
      const value = create(proto.ShardStoppedSchema, { step: writeStep(message), forced: message.wasForced });
      return { case: "shardStopped", value };
    }
    case "shardStarted": {
      const { type, shards } = message;
      const value = create(proto.ShardsStartedSchema, { actorType: type, shards: fewEnough(shards) });
      return { case: "shardsStarted", value };
    }
    case "leaveShards":
      return { case: "shardsLeft", value: create(proto.ShardsLeftSchema, { actorTypes: [...message.types] }) };
    case "strategyAnswer":
      return { case: "shardAdvice", value: writeAdvice(message) };
    case "shardStats": {
      const [shards, actors] = [fewEnough(message.shards), fewEnough(message.actors)];
      return {
        case: "shardCounts",
        value: create(proto.ShardCountsSchema, { ...writeAsked(message), shards, actors }),
      };
    }
  }
}

export function readShardReport(report: Report): ShardReport {
  switch (report.case) {
    case "shardQuestions": {
      const { actorType, shards } = report.value;
      const held = readShards(report.value.held);
      const asked = { type: readWord(actorType, "actor type"), shards: readShards(shards) };
      return { kind: "getShardHomes", ...asked, ...(held.length === 0 ? {} : { held }) };
    }
    case "shardKept":
      return { kind: "beginHandOffAck", ...readStep(report.value) };
    case "shardStopped":
      return { kind: "shardStopped", ...readStep(report.value.step), wasForced: report.value.forced };
    case "shardsStarted": {
      const { actorType, shards } = report.value;
      return { kind: "shardStarted", type: readWord(actorType, "actor type"), shards: readShards(shards) };
    }
    case "shardsLeft":
      return { kind: "leaveShards", types: readTypes(report.value.actorTypes, LIMITS.typesPerHost) };
    case "shardAdvice":
      return readAdvice(report.value);
    case "shardCounts": {
      const [shards, actors] = [readShards(report.value.shards), report.value.actors];
      if (actors.length !== shards.length) refuseMessage("the number of actor counts must equal the number of shards");
      return { kind: "shardStats", ...readAsked(report.value), shards, actors };
    }
  }
}

type Advice = Extract<ShardReport, { kind: "strategyAnswer" }>;

function writeAdvice(message: Advice): proto.ShardAdvice {
  const choices = fewEnough(message.choices).map(({ shard, incarnation }) => {
    return create(proto.ShardChoiceSchema, { shard, ...(incarnation === undefined ? {} : { incarnation }) });
  });
  const problem = message.problem === undefined ? {} : { problem: cutReason(message.problem) };
  return create(proto.ShardAdviceSchema, { ...writeAsked(message), choices, ...problem });
}

function readAdvice(advice: proto.ShardAdvice): Advice {
  const { choices, problem } = advice;
  if (choices.length > MOST_SHARDS) refuseMessage(`${choices.length} shards are more than the limit of ${MOST_SHARDS}`);
  return {
    kind: "strategyAnswer",
    ...readAsked(advice),
    choices: choices.map(({ shard, incarnation }) => ({
      shard: readShard(shard),
      incarnation: incarnation === undefined ? undefined : readId(incarnation, "the incarnation of a host"),
    })),
    problem: problem === undefined ? undefined : cutReason(problem),
  };
}

// ——— Messages of the leading scheduler.

type Reply = Extract<
  proto.SchedulerReply["reply"],
  { case: "shardHomes" | "shardGather" | "shardStop" | "shardAdvise" | "shardCount" }
>;

export const writeRegion = (region: ShardRegionEntry): proto.ShardRegion => {
  const { build, shards } = region;
  return create(proto.ShardRegionSchema, { host: writeTableHost(region), build, shards: fewEnough(shards) });
};

export function readRegion({ host, build, shards }: proto.ShardRegion): ShardRegionEntry {
  if (host === undefined) return refuseMessage("a list of shards does not name its host");
  return { ...readTableHost(host), build: readText(build, "the build of a host"), shards: readShards(shards) };
}

type Question = Extract<ShardOrder, { kind: "askStrategy" }>;

function writeQuestion(message: Question): proto.ShardAdviceRequest {
  const wanted = fewEnough(message.wanted).map(({ shard, asker }) => {
    return create(proto.WantedShardSchema, { shard, ...(asker === undefined ? {} : { asker }) });
  });
  const regions = message.regions.map(writeRegion);
  const moving = fewEnough(message.moving);
  return create(proto.ShardAdviceRequestSchema, { ...writeAsked(message), regions, moving, wanted });
}

function readQuestion(question: proto.ShardAdviceRequest): Question {
  const { regions, moving, wanted } = question;
  if (wanted.length > MOST_SHARDS) refuseMessage(`${wanted.length} shards are more than the limit of ${MOST_SHARDS}`);
  return {
    kind: "askStrategy",
    ...readAsked(question),
    regions: regions.map(readRegion),
    moving: readShards(moving),
    wanted: wanted.map(({ shard, asker }) => ({
      shard: readShard(shard),
      asker: asker === undefined ? undefined : readId(asker, "the incarnation of a host"),
    })),
  };
}

export function writeShardReply(message: ShardOrder): Reply {
  switch (message.kind) {
    case "shardHomes": {
      const homes = fewEnough(message.homes).map(({ shard, host }) => {
        return create(proto.ShardHomeSchema, { shard, ...(host === undefined ? {} : { host: writeTableHost(host) }) });
      });
      const { type, confirm = false } = message;
      return { case: "shardHomes", value: create(proto.ShardHomesSchema, { actorType: type, homes, confirm }) };
    }
    case "beginHandOff":
      return { case: "shardGather", value: writeStep(message) };
    case "handOff": {
      const { to } = message;
      const next = to === undefined ? {} : { next: writeTableHost(to) };
      return { case: "shardStop", value: create(proto.ShardStopSchema, { step: writeStep(message), ...next }) };
    }
    case "askStrategy":
      return { case: "shardAdvise", value: writeQuestion(message) };
    case "getShardStats":
      return { case: "shardCount", value: create(proto.ShardCountRequestSchema, writeAsked(message)) };
  }
}

export function readShardReply(reply: Reply): ShardOrder {
  switch (reply.case) {
    case "shardHomes": {
      const { actorType, homes, confirm } = reply.value;
      if (homes.length > MOST_SHARDS) refuseMessage(`${homes.length} shards are more than the limit of ${MOST_SHARDS}`);
      return {
        kind: "shardHomes",
        type: readWord(actorType, "actor type"),
        homes: homes.map(({ shard, host }) => ({ shard: readShard(shard), host: host && readTableHost(host) })),
        ...(confirm ? { confirm } : {}),
      };
    }
    case "shardGather":
      return { kind: "beginHandOff", ...readStep(reply.value) };
    case "shardStop": {
      const { step, next } = reply.value;
      return { kind: "handOff", ...readStep(step), to: next && readTableHost(next) };
    }
    case "shardAdvise":
      return readQuestion(reply.value);
    case "shardCount":
      return { kind: "getShardStats", ...readAsked(reply.value) };
  }
}
