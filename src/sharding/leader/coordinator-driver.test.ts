// Shards that a leader takes over from the previous one.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LeaderHost } from "../../ports/cluster/leader-feature.ts";
import type { SchedulerMessage } from "../../ports/control-messages.ts";
import { silentLog } from "../../ports/log.ts";
import { silentMeter } from "../../ports/meter.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { CoordinatorDriver } from "./coordinator-driver.ts";
import { ShardInstruments } from "./metrics.ts";

const RULE = {
  shards: 10,
  ownShards: false,
  strategy: { kind: "hashed" },
  movesAtOnce: 5,
  rebalanceMs: 10_000,
  handOffMs: 10_000,
  minHosts: 1,
  startMs: 10_000,
} as const;

/** A host that has come back to this leader, on the stream of that number, with these types. */
function host(incarnation: string, stream: number, types: readonly string[]): LeaderHost {
  const sharded = new Map(types.map((type) => [type, RULE]));
  return {
    incarnation,
    name: incarnation,
    build: "",
    confirmsHomes: incarnation === "b",
    address: `${incarnation}:1`,
    stream,
    types: new Set(types),
    sharded,
    held: new Set(["Cart"]),
  };
}

function lead(hosts: readonly LeaderHost[]) {
  const sent: string[] = [];
  const persisted: string[] = [];
  const mayHost = hosts.filter(({ types }) => types.has("Cart"));
  const leader = new CoordinatorDriver(
    {
      namespace: "default",
      clock: new VirtualClock(),
      log: silentLog,
      instruments: new ShardInstruments(silentMeter),
      host: (incarnation) => hosts.find((one) => one.incarnation === incarnation),
      speaker: (stream) => hosts.find((one) => one.stream === stream),
      hosts: () => hosts,
      table: (type) => ({ type, version: { term: 2, number: 1 }, hosts: mayHost }) as never,
      send: (streams, message: SchedulerMessage) => {
        const isToConfirm = message.kind === "shardHomes" && message.confirm;
        sent.push(`${message.kind}${isToConfirm ? " to confirm" : ""} → ${streams}`);
      },
      persist: ({ type, shard, incarnation }, written) => {
        persisted.push(`${type} ${shard} ${incarnation}`);
        written();
      },
    },
    [{ namespace: "default", type: "Cart", shard: 3, incarnation: "b" }],
  );
  leader.look(0);
  return { leader, sent, persisted };
}

describe("the shards of a new leader", () => {
  it("a new leader has shards handed over whose home gave the type up before its term", () => {
    const { leader, sent } = lead([host("a", 1, ["Cart"]), host("b", 2, [])]);
    assert.deepEqual(sent, ["beginHandOff → 1,2"]);
    assert.deepEqual([...leader.types.get("Cart")!.shards.moving], [3]);
  });

  it("a host that can confirm is asked to confirm its homes, and is notified again until it does", () => {
    const hosts = [host("a", 1, ["Cart"]), host("b", 2, ["Cart"])];
    const { leader, sent } = lead(hosts);
    for (const asker of hosts) leader.message(asker, { kind: "getShardHomes", type: "Cart", shards: [3] }, 0);
    assert.deepEqual(sent.splice(0), ["shardHomes → 1", "shardHomes to confirm → 2"]);
    leader.returned("b", 1);
    assert.deepEqual(sent.splice(0), ["shardHomes to confirm → 2"]);
    leader.message(hosts[1]!, { kind: "shardStarted", type: "Cart", shards: [3] }, 2);
    leader.returned("b", 3);
    assert.deepEqual(sent, []);
  });

  it("a new leader leaves shards where they are when their home still has the type", () => {
    const { leader, sent } = lead([host("a", 1, ["Cart"]), host("b", 2, ["Cart"])]);
    assert.deepEqual(sent, []);
    assert.equal(leader.types.get("Cart")!.shards.homeOf(3), "b");
  });
});

describe("a leader after a restore of the store", () => {
  const [a, b] = [host("a", 1, ["Cart"]), host("b", 2, ["Cart"])];

  it("a host that is the home of a shard stays its home, and the home is persisted again", () => {
    const { leader, sent, persisted } = lead([a, b]);
    leader.message(a, { kind: "getShardHomes", type: "Cart", shards: [5, 6], held: [5, 6] }, 0);
    assert.deepEqual(persisted, ["Cart 5 a", "Cart 6 a"]);
    assert.deepEqual(sent, ["shardHomes → 1"]);
    assert.equal(leader.types.get("Cart")!.shards.homeOf(5), "a");
  });

  it("a host that leaves hands over the shards that the store has forgotten", () => {
    const { leader, sent } = lead([a, b]);
    leader.message(a, { kind: "leaveShards", types: ["Cart"] }, 0);
    leader.message(a, { kind: "getShardHomes", type: "Cart", shards: [5], held: [5] }, 0);
    assert.deepEqual(sent, ["beginHandOff → 1,2"]);
  });

  it("a shard of a type that no host has named yet stays where it is held", () => {
    const { leader, persisted } = lead([a, b]);
    leader.message(a, { kind: "getShardHomes", type: "Box", shards: [5], held: [5] }, 0);
    assert.deepEqual(persisted, ["Box 5 a"]);
    assert.equal(leader.isHome("a", "Box"), true);
  });
});
