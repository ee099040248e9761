import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ActorType } from "../../actors/actor-type.ts";
import type { KnownTable } from "../../ports/cluster/host-feature.ts";
import { HERE, WAIT } from "../../ports/placement.ts";
import { type ShardHome, ShardRegion } from "../model/shard-region.ts";
import { ShardRouter } from "./shard-router.ts";

const host = (incarnation: string) => ({ incarnation, address: `${incarnation}:1`, name: incarnation });

const tableOf = (hosts: readonly string[], ownShards = false): KnownTable => {
  return { hosts: hosts.map(host), sticky: false, shards: 4, ownShards };
};

function open(table: KnownTable) {
  let hosts = table.hosts;
  const there = ({ incarnation }: ShardHome) => hosts.find((one) => one.incarnation === incarnation);
  const region = new ShardRegion(() => "me", there);
  const lease = { held: true };
  const asked: number[] = [];
  const waits = (shard: number, ask: boolean) => void (ask && asked.push(shard));
  const router = new ShardRouter("Cart", region, { lease, outside: (id) => `outside/${id}`, waits });
  let edition = 1;
  const renew = (next: KnownTable, known?: ActorType) => {
    hosts = next.hosts;
    router.renew(next, ++edition, known);
  };
  router.renew(table, edition, undefined);
  return { router, region, lease, asked, renew, isFor: (next: KnownTable) => router.isFor(next, edition) };
}

const ownClass = { options: { sharded: { rule: { ownShards: true, shards: 4 }, shardOf: () => 3 } } };

describe("the route to sharded actors", () => {
  it("a route leads to the home of the shard, under the address that the table has", () => {
    const table = tableOf(["me", "b"]);
    const { router, region } = open(table);
    region.setHome(1, { ...host("b") });
    region.setHome(2, { ...host("me") });
    assert.equal(router.route("a", 1), table.hosts[1]!.address);
    assert.equal(router.route("a", 2), HERE);
  });

  it("a route is requested, and waited for, while the home is unknown, and while there is no lease", () => {
    const { router, region, lease, asked } = open(tableOf(["b"]));
    assert.equal(router.route("a", 1), WAIT);
    assert.deepEqual(asked, [1]);
    region.setHome(1, host("b"));
    assert.equal(router.route("a", 1), "b:1");
    lease.held = false;
    assert.equal(router.route("a", 1), WAIT);
    assert.deepEqual(asked, [1]);
  });

  it("a route is computed anew with every table, also for shards that were found before", () => {
    const before = tableOf(["b", "c"]);
    const { router, region, asked, renew, isFor } = open(before);
    region.setHome(1, host("b"));
    assert.equal(router.route("a", 1), "b:1");
    assert.equal(isFor(before), true);
    assert.equal(isFor(tableOf(["b", "c"])), false);
    renew(tableOf(["c"]));
    assert.equal(router.route("a", 1), WAIT);
    assert.deepEqual(asked, [1]);
    renew(tableOf([]));
    assert.equal(router.route("a", 1), "outside/a");
  });

  it("a route leads outside while only hosts with the class can compute the shard, until this host has it", () => {
    const { router, region, renew } = open(tableOf(["b"], true));
    region.setHome(3, host("b"));
    assert.deepEqual([router.knows, router.shardOf("a")], [false, undefined]);
    assert.equal(router.route("a", router.shardOf("a")), "outside/a");
    renew(tableOf(["b"], true), ownClass as unknown as ActorType);
    assert.deepEqual([router.knows, router.shardOf("a")], [true, 3]);
    assert.equal(router.route("a", router.shardOf("a")), "b:1");
  });
});
