// Health of a host while calls wait for the home of a shard and no leader announces it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { invariant } from "../../kernel/errors.ts";
import type { ControlStream, HostMessage } from "../../ports/control-messages.ts";
import { type Log, silentLog } from "../../ports/log.ts";
import { WAIT } from "../../ports/placement.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { ShardRegion } from "../model/shard-region.ts";
import { ID, joined } from "./played-leader-kit.test.ts";
import { RegionDriver, type RegionDriverDeps } from "./region-driver.ts";

test("a host is unhealthy while calls have waited for a home for too long, and healthy again when the home is announced", async () => {
  const clock = new VirtualClock();
  const home = { address: "10.0.0.1:1", incarnation: "other", name: "" };
  const table = { hosts: [home], sticky: false, shards: 4, ownShards: false };
  const member = new RegionDriver({
    clock,
    log: silentLog,
    mayHost: () => true,
    incarnation: () => "me",
    opened() {},
    stopped() {},
    catalog: { types: new Map(), edition: 1, sharding: () => ({ retryMs: 3_000, bufferSize: 1 }) },
    lease: { held: true },
    tables: { newest: () => table, shards: () => table.shards, hostAt: () => home },
  } as unknown as RegionDriverDeps);
  const route = () => member.router("Cart").route("alice", member.shardOf("Cart", "alice"));
  const sent: HostMessage[] = [];
  const stream: ControlStream<HostMessage> = { send: (message) => void sent.push(message), close() {} };
  member.joined(stream);
  /** As a waiting call does. */
  const wait = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      assert.equal(route(), WAIT);
      await clock.advance(1_000);
    }
  };
  const shard = member.shardOf("Cart", "alice")!;
  await wait(10);
  assert.equal(
    sent.filter(({ kind }) => kind === "getShardHomes").length,
    4,
    "the leader is asked again every three seconds",
  );
  member.message({ kind: "shardHomes", type: "Cart", homes: [{ shard, host: undefined }] });
  await wait(10);
  assert.equal(member.problem, undefined);
  assert.equal(route(), WAIT);
  await clock.advance(1);
  assert.equal(member.problem, `calls for shard ${shard} of Cart have waited for a home for 20 seconds`);
  assert.deepEqual([...member.here("Cart").waiting], [[shard, 20_001]]);
  member.message({ kind: "shardHomes", type: "Cart", homes: [{ shard, host: home }] });
  assert.equal(member.problem, undefined);
  assert.equal(route(), home.address);
});

test("a broken invariant of a request is logged, and the host goes on", async () => {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  const log: Log = { ...silentLog, error: (event, fields) => void errors.push([event, fields?.type, fields?.shard]) };
  const table = { hosts: [], sticky: false, shards: 4, ownShards: false };
  const driver = new RegionDriver({
    clock,
    log,
    incarnation: () => "me",
    catalog: { types: new Map(), edition: 1 },
    lease: { held: true },
    tables: { newest: () => table, shards: () => table.shards, hostAt: () => undefined },
  } as unknown as RegionDriverDeps);
  const sent: HostMessage[] = [];
  driver.joined({ send: (message) => void sent.push(message), close() {} });
  const { region } = driver.router("Cart");
  const { requested } = ShardRegion.prototype;
  region.requested = (shard, now) => {
    invariant(shard !== 2, "a host holds no shard that it requests");
    requested.call(region, shard, now);
  };
  driver.find("Cart", [2, 3]);
  await clock.advance(1);
  assert.deepEqual(errors, [["shard.invariant-broken", "Cart", 2]]);
  assert.deepEqual(sent, [{ kind: "getShardHomes", type: "Cart", shards: [3] }]);
});

test("a process whose calls wait for the home of a shard is unhealthy as a whole, and healthy again when there is one", async () => {
  const it = await joined();
  const order = { kind: "order", operation: "update", namespace: "n", term: 1, round: 0, types: ["Guard"] } as const;
  it.send({ ...order, tables: [], replicationFactor: 1 });
  assert.equal(it.placement.membership.problem, undefined);
  const call = it.call(ID, "ping");
  await it.clock.advance(15_000);
  assert.equal(it.placement.membership.problem, undefined);
  await it.clock.advance(10_000);
  assert.match(it.placement.membership.problem ?? "", /^calls for shard 0 of Guard have waited for a home/);
  await it.lives(it.me);
  await it.clock.advance(1_000);
  assert.equal(it.placement.membership.problem, undefined);
  await call;
  it.placement.membership.goodbye();
});
