// Shard messages are decoded as they were encoded, and invalid ones are rejected.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import type { ShardedRule } from "../../../kernel/sharded-rule.ts";
import { MOST_SHARDS } from "../../../kernel/shards.ts";
import type { ShardOrder, ShardReport } from "../../../ports/control-messages.ts";
import { MOVE_REASONS, type ShardSteering, type ShardsView } from "../../../ports/shard-admin.ts";
import * as proto from "../../proto/gen/limpet/control/v1/control_pb.js";
import { ReplyReader, readHostMessage, writeHostMessage, writeSchedulerMessage } from "./message-codec.ts";
import { SHARDS_VIEW, STEERING } from "./shards-view-codec.ts";

const travel = <D extends DescMessage>(schema: D, message: MessageShape<D>): MessageShape<D> =>
  fromBinary(schema, toBinary(schema, message));
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
const optional = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined });

const type = fc.constantFrom("Cart", "__proto__", "ä", "A B");
const shard = fc.oneof(fc.nat(5), fc.nat(MOST_SHARDS - 1));
const shards = fc.uniqueArray(shard, { maxLength: 5 });
const number = fc.oneof(fc.nat(9), fc.constant(Number.MAX_SAFE_INTEGER));
const id = fc.constantFrom("i-1", "8f0c");
const address = fc.constantFrom("10.0.0.1:7401", "[::1]:1");
const host = record({ address, incarnation: id, name: fc.constantFrom("", "web-1") });
const region = record({
  address,
  incarnation: id,
  name: fc.constantFrom("", "web-1"),
  build: fc.constantFrom("", "1.2"),
  shards,
});
const step = { type, shard, move: number };

const report: fc.Arbitrary<ShardReport> = fc.oneof(
  record({ kind: fc.constant("getShardHomes" as const), type, shards }),
  record({ kind: fc.constant("getShardHomes" as const), type, shards, held: fc.constant([3, 5]) }),
  record({ kind: fc.constant("shardStarted" as const), type, shards }),
  record({ kind: fc.constant("beginHandOffAck" as const), ...step }),
  record({ kind: fc.constant("shardStopped" as const), ...step, wasForced: fc.boolean() }),
  record({ kind: fc.constant("leaveShards" as const), types: fc.uniqueArray(type) }),
  record({
    kind: fc.constant("strategyAnswer" as const),
    question: number,
    type,
    choices: fc.array(record({ shard, incarnation: optional(id) }), { maxLength: 5 }),
    problem: optional(fc.constantFrom("", "no idea")),
  }),
  fc
    .tuple(type, number, fc.uniqueArray(fc.tuple(shard, fc.nat(9)), { selector: ([which]) => which, maxLength: 5 }))
    .map(([of, question, counts]) => ({
      kind: "shardStats" as const,
      question,
      type: of,
      shards: counts.map(([which]) => which),
      actors: counts.map(([, count]) => count),
    })),
);

const order: fc.Arbitrary<ShardOrder> = fc.oneof(
  record({
    kind: fc.constant("shardHomes" as const),
    type,
    homes: fc.array(record({ shard, host: optional(host) }), { maxLength: 5 }),
  }),
  record({
    kind: fc.constant("shardHomes" as const),
    type,
    confirm: fc.constant(true),
    homes: fc.array(record({ shard, host: optional(host) }), { maxLength: 5 }),
  }),
  record({ kind: fc.constant("beginHandOff" as const), ...step }),
  record({ kind: fc.constant("handOff" as const), ...step, to: optional(host) }),
  record({
    kind: fc.constant("askStrategy" as const),
    question: number,
    type,
    moving: shards,
    regions: fc.array(region, { maxLength: 3 }),
    wanted: fc.array(record({ shard, asker: optional(id) }), { maxLength: 5 }),
  }),
  record({ kind: fc.constant("getShardStats" as const), question: number, type }),
);

const strategy: fc.Arbitrary<ShardedRule["strategy"]> = fc.oneof(
  fc.constantFrom({ kind: "hashed" as const }, { kind: "external" as const }, { kind: "custom" as const }),
  record({
    kind: fc.constant("least" as const),
    absoluteLimit: fc.nat(100),
    relativeLimit: fc.constantFrom(0, 0.1, 1),
    threshold: fc.integer({ min: 1, max: 9 }),
  }),
);
const rule: fc.Arbitrary<ShardedRule> = record({
  shards: fc.integer({ min: 1, max: MOST_SHARDS }),
  ownShards: fc.boolean(),
  strategy,
  movesAtOnce: fc.integer({ min: 1, max: 1_000 }),
  rebalanceMs: fc.nat(99_999),
  handOffMs: fc.nat(99_999),
  minHosts: fc.integer({ min: 1, max: 9 }),
  startMs: fc.integer({ min: 1, max: 99_999 }),
});

const ms = fc.constantFrom(0, 1.25, 99_999);
const reason = fc.constantFrom(...MOVE_REASONS);
const place = record({ shard, host: optional(fc.constantFrom("alpha", "10.0.0.1:1")) });
const view: fc.Arbitrary<ShardsView> = record({
  type: fc.constant("Cart"),
  shards: fc.integer({ min: 1, max: MOST_SHARDS }),
  paused: fc.boolean(),
  faults: number,
  strategy: fc.constantFrom("least" as const, "hashed" as const, "external" as const, "custom" as const),
  hosts: fc.array(
    fc.tuple(region, fc.boolean(), fc.boolean()).map(([one, leaving, isSilent]) => {
      return { ...one, leaving, actors: isSilent ? undefined : one.shards.map((_, i) => i) };
    }),
    { maxLength: 3 },
  ),
  moving: fc.array(
    record({
      shard,
      reason,
      from: address,
      to: optional(address),
      forMs: ms,
      waitsFor: fc.uniqueArray(address),
      phase: fc.constantFrom("buffering" as const, "stopping" as const, "allocating" as const, "persisting" as const),
    }),
    { maxLength: 3 },
  ),
  moved: fc.array(
    record({
      shard,
      reason,
      from: address,
      to: optional(address),
      tookMs: ms,
      forced: fc.boolean(),
      at: fc.constantFrom(0, 1_700_000_000_000),
    }),
    { maxLength: 3 },
  ),
  told: fc.array(place, { maxLength: 3 }),
});

const steering: fc.Arbitrary<ShardSteering> = fc.oneof(
  record({ kind: fc.constant("move" as const), shard, host: fc.constantFrom("alpha", "10.0.0.1:1") }),
  record({ kind: fc.constant("pause" as const), paused: fc.boolean() }),
  record({ kind: fc.constant("allocate" as const), places: fc.array(place, { maxLength: 4 }) }),
);

describe("shard message codec", () => {
  it("shard messages of hosts and of the leader are decoded as they were encoded", () => {
    fc.assert(
      fc.property(report, (message) => {
        assert.deepEqual(readHostMessage(travel(proto.HostReportSchema, writeHostMessage(message))), message);
      }),
    );
    fc.assert(
      fc.property(order, (message) => {
        const [reply] = writeSchedulerMessage(message);
        assert.deepEqual(new ReplyReader().read(travel(proto.SchedulerReplySchema, reply!)), message);
      }),
    );
  });

  it("sharding rules are decoded as they were encoded", () => {
    fc.assert(
      fc.property(rule, (one) => {
        const message = { kind: "types" as const, types: ["Cart"], sharded: new Map([["Cart", one]]) };
        assert.deepEqual(readHostMessage(travel(proto.HostReportSchema, writeHostMessage(message))), message);
      }),
    );
  });

  it("a rule of a host that does not know the newer options has their defaults", () => {
    const old = create(proto.ShardedRuleSchema, {
      shards: 10,
      movesAtOnce: 5,
      strategy: { case: "least", value: create(proto.LeastShardsSchema) },
    });
    const value = create(proto.HostedTypesSchema, { actorTypes: ["Cart"], sharded: { Cart: old } });
    const message = readHostMessage(create(proto.HostReportSchema, { report: { case: "types", value } }));
    assert.ok(message.kind === "types");
    const { minHosts, startMs, strategy } = message.sharded!.get("Cart")!;
    assert.deepEqual([minHosts, startMs, strategy.kind === "least" && strategy.threshold], [1, 10_000, 1]);
  });

  it("strategies of rules keep the field names of release 0.1 on the wire", () => {
    const others = { hashed: "hashed", external: "told", custom: "own" } as const;
    const base = fc.sample(rule, 1)[0]!;
    for (const kind of ["hashed", "external", "custom"] as const) {
      const sharded = new Map([["Cart", { ...base, strategy: { kind } }]]);
      const message = { kind: "types" as const, types: ["Cart"], sharded };
      const { report } = writeHostMessage(message);
      assert.ok(report.case === "types");
      const written = report.value.sharded.Cart!;
      assert.deepEqual(written.strategy, { case: others[kind], value: true });
      const older = create(proto.ShardedRuleSchema, { ...written, strategy: { case: others[kind], value: true } });
      const value = create(proto.HostedTypesSchema, { actorTypes: ["Cart"], sharded: { Cart: older } });
      assert.deepEqual(readHostMessage(create(proto.HostReportSchema, { report: { case: "types", value } })), message);
    }
  });

  it("strategies and phases of views keep the words of release 0.1 on the wire", () => {
    const move = { shard: 1, reason: "balance", from: "10.0.0.1:1", to: undefined, forMs: 0, waitsFor: [] } as const;
    const empty = { type: "Cart", shards: 4, paused: false, faults: 0, hosts: [], moved: [], told: [] };
    const strategies = { least: "least", hashed: "hashed", external: "told", custom: "own" } as const;
    for (const strategy of ["least", "hashed", "external", "custom"] as const) {
      const response = SHARDS_VIEW.write({ ...empty, strategy, moving: [] });
      assert.equal(response.strategy, strategies[strategy]);
      assert.equal(SHARDS_VIEW.read(response).strategy, strategy);
    }
    const phases = {
      buffering: "gathering",
      stopping: "stopping",
      allocating: "choosing",
      persisting: "saving",
    } as const;
    for (const phase of ["buffering", "stopping", "allocating", "persisting"] as const) {
      const response = SHARDS_VIEW.write({ ...empty, strategy: "least", moving: [{ ...move, phase }] });
      assert.equal(response.moving[0]!.phase, phases[phase]);
      assert.equal(SHARDS_VIEW.read(response).moving[0]!.phase, phase);
    }
    const unknown = create(proto.DescribeShardsResponseSchema, { shards: 4, strategy: "toString" });
    assert.throws(() => SHARDS_VIEW.read(unknown), /unknown value of the strategy of shards: toString/);
  });

  it("shard views and operator requests are decoded as they were encoded", () => {
    fc.assert(
      fc.property(view, (one) => {
        const response = travel(proto.DescribeShardsResponseSchema, SHARDS_VIEW.write(one));
        assert.deepEqual({ type: "Cart", ...SHARDS_VIEW.read(response) }, one);
      }),
    );
    fc.assert(
      fc.property(steering, (one) => {
        const request = travel(
          proto.SteerShardsRequestSchema,
          STEERING.write({ namespace: "n", type: "Cart", steering: one }),
        );
        assert.deepEqual(STEERING.read(request), { namespace: "n", type: "Cart", steering: one });
      }),
    );
  });

  it("an invalid shard message is rejected", () => {
    const refused = { code: "PROTOCOL" };
    const said = (report: proto.HostReport["report"]) => () =>
      readHostMessage(create(proto.HostReportSchema, { report }));
    const counts = create(proto.ShardCountsSchema, { actorType: "Cart", shards: [1, 2], actors: [1] });
    assert.throws(said({ case: "shardCounts", value: counts }), refused);
    const beyond = create(proto.ShardQuestionsSchema, { actorType: "Cart", shards: [MOST_SHARDS] });
    assert.throws(said({ case: "shardQuestions", value: beyond }), refused);
    assert.throws(
      () => STEERING.read(create(proto.SteerShardsRequestSchema, { namespace: "n", actorType: "T" })),
      refused,
    );
    const nowhere = create(proto.SteerShardsRequestSchema, {
      namespace: "n",
      actorType: "T",
      act: { case: "move", value: create(proto.ShardPlaceSchema, { shard: 1 }) },
    });
    assert.throws(() => STEERING.read(nowhere), refused);
    const odd = create(proto.DescribeShardsResponseSchema, { shards: 1, strategy: "luck" });
    assert.throws(() => SHARDS_VIEW.read(odd), refused);
  });
});
