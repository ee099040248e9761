// Operators' views and commands for shards, and hosts that disagree about a type, on several hosts in one
// process.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../../actors/actor.ts";
import { sharded } from "../../actors/options/sharded-options.ts";
import type { App } from "../../host/app.ts";
import { eventually, SHORT_LEASES, TestApps } from "../../host/cluster-kit.test.ts";
import type { ShardsView } from "../../ports/shard-admin.ts";
import { newCandidate } from "../../stores/contract/coordination-shared.contract.ts";
import { callAll, counting, homesOf, ids, named, SHARDS, viewOf } from "../shard-kit.test.ts";
import { resetShards } from "./reset-shards.ts";

const countOf = (seen: ShardsView, name: string): number => homesOf(seen)[name] ?? 0;
const BALANCED = { relativeLimit: 1 };

describe("views of shards", () => {
  it("a view shows shards with their homes, their actors and their moves", async () => {
    await using apps = new TestApps();
    const Plain = counting(BALANCED);
    const one = await apps.open([Plain], named("a"));
    await callAll(one);
    const two = await apps.open([Plain], { ...named("b"), worker: { build: "" } });
    await eventually(async () => countOf(await viewOf(one), "b") === SHARDS / 2, "b has its share");
    await callAll(two);
    // Requested at a process that does not lead, so that the answer crosses the wire.
    const seen = await viewOf(two);
    const actors = seen.hosts.flatMap((host) => host.actors ?? []);
    assert.equal(actors.length, SHARDS);
    assert.equal(
      actors.reduce((sum, count) => sum + count, 0),
      ids.length,
    );
    assert.deepEqual(
      { ...seen, hosts: seen.hosts.length, moved: seen.moved.length },
      {
        type: "Counting",
        shards: SHARDS,
        strategy: "least",
        paused: false,
        hosts: 2,
        moving: [],
        told: [],
        moved: SHARDS / 2,
        faults: 0,
      },
    );
    const [from, to] = ["a", "b"].map((name) => seen.hosts.find((host) => host.name === name)!.address);
    for (const move of seen.moved) {
      assert.deepEqual([move.from, move.to, move.reason, move.forced], [from, to, "balance", false]);
      assert.ok(move.tookMs >= 0 && move.at > 0);
    }
    const here = two.shards(Plain).here();
    assert.equal(here.homes.size, SHARDS / 2);
    assert.ok(here.homes.has(two.shards(Plain).shardOf(idOn(two, here.homes))));
    assert.equal(here.waiting.size, 0);
    for (const app of [one, two]) {
      const id = idOn(two, here.homes);
      const { owner, why, here: isHere } = await app.host.where("Counting", id);
      assert.equal(owner, seen.hosts.find((host) => host.name === "b")!.address);
      assert.equal(isHere, app === two);
      assert.equal(why, `it is in shard ${two.shards(Plain).shardOf(id)}, which lives there`);
    }
    assert.match(two.metrics(), /limpet_host_shards\{[^}]*type="Counting"\} 6/);
    const text = one.metrics();
    assert.match(text, /limpet_scheduler_shards\{[^}]*host="127[^}]*\} 6/);
    assert.match(text, /limpet_scheduler_shard_moves_total\{[^}]*reason="balance",result="moved"[^}]*\} 6/);
    assert.match(text, /limpet_scheduler_shard_hand_off_seconds_count\{[^}]*\} 6/);
    assert.match(text, /limpet_scheduler_shard_home_requests_total\{[^}]*\} \d+/);
  });

  const idOn = (app: App, homes: ReadonlyMap<number, number>): string =>
    ids.find((id) => homes.has(app.shards("Counting").shardOf(id)))!;

  it("a summary lists all types that have shards", async () => {
    await using apps = new TestApps();
    const types = [counting({}, "Zoo"), counting(undefined, "Plain"), counting({ strategy: "external" })];
    const one = await apps.open(types, named("a"));
    const two = await apps.open(types, named("b"));
    const nothing = { moving: 0, paused: false, faults: 0, hosts: 2, shards: SHARDS };
    const idle = { ...nothing, type: "Zoo", strategy: "least", used: 0, actors: 0 };
    await callAll(one);
    for (const app of [one, two]) {
      assert.deepEqual(await app.host.shardedTypes(), [
        { ...nothing, type: "Counting", strategy: "external", used: SHARDS, actors: ids.length },
        idle,
      ]);
    }
    const proxy = await apps.open([]);
    await proxy.shards("Counting").pause();
    assert.deepEqual(
      (await proxy.host.shardedTypes()).map(({ type, paused }) => [type, paused]),
      [
        ["Counting", true],
        ["Zoo", false],
      ],
    );
  });

  it("a view of a type without shards is rejected", async () => {
    await using apps = new TestApps();
    const one = await apps.open([counting(undefined, "Plain")]);
    await assert.rejects(one.shards("Plain").view(), { code: "NOT_SHARDED" });
    assert.throws(() => one.shards("Plain").shardOf("x"), { code: "NOT_SHARDED" });
    assert.throws(() => one.shards("no/name"), { code: "NAME_INVALID" });
  });

  it("a view may be requested again when another process has begun to lead and waits for its hosts", async () => {
    await using apps = new TestApps();
    const { coordination } = apps.store;
    const before = newCandidate({ hostLeaseMs: 2_000 });
    const { term } = await coordination.campaign(before);
    const member = { namespace: "default", incarnation: "i-1", address: "10.0.0.5:7401", machine: "other", pid: 1 };
    await coordination.persist(term, [{ kind: "save", member: { ...member, types: ["Counting"] }, isKnown: false }]);
    await coordination.resign(before.incarnation);
    const one = await apps.open([counting(undefined, "Plain")], { cluster: SHORT_LEASES });
    await assert.rejects(one.shards("Counting").view(), {
      code: "NOT_READY",
      message: /no host of Counting has connected to the new leader yet/,
    });
    await assert.rejects(one.shards("Counting").pause(), { code: "NOT_READY" });
    await assert.rejects(one.shards("Plain").view(), { code: "NOT_SHARDED" });
    const isOver = async () =>
      (await one
        .shards("Counting")
        .view()
        .catch(({ code }) => code)) === "NOT_SHARDED";
    await eventually(isOver, "nobody is waited for any more");
  });
});

describe("commands for shards", () => {
  it("a shard moves on command, and impossible commands are rejected", async () => {
    await using apps = new TestApps();
    const Plain = counting({});
    const one = await apps.open([Plain], named("a"));
    const two = await apps.open([Plain], named("b"));
    const shards = two.shards(Plain);
    await callAll(one);
    // Otherwise a shard would move back for the sake of balance.
    await shards.pause();
    const before = (await viewOf(two)).hosts.find(({ name }) => name === "a")!.shards;
    const shard = before[0]!;
    await shards.move(shard, "b");
    await eventually(async () => (await viewOf(two)).moved.length === 1, "it has moved");
    const { hosts, moved } = await viewOf(two);
    assert.ok(hosts.find(({ name }) => name === "b")!.shards.includes(shard));
    assert.deepEqual([moved[0]!.shard, moved[0]!.reason], [shard, "by hand"]);
    // The shard is there.
    await shards.move(shard, "b");
    const message = /^no host of Counting is called nobody; there are [ab] \(127[^)]*\), [ab] \(127[^)]*\)$/;
    await assert.rejects(shards.move(shard, "nobody"), { code: "HOST_UNKNOWN", message });
    await callAll(two);
  });

  it("a command with an invalid shard or host is rejected, and later commands still work", async () => {
    await using apps = new TestApps();
    const External = counting({ strategy: "external" });
    // The first of them leads, so no other process checks its requests on the way.
    for (const app of [await apps.open([External], named("a")), await apps.open([External], named("a"))]) {
      const shards = app.shards(External) as unknown as Record<
        "move" | "allocate",
        (...args: unknown[]) => Promise<void>
      >;
      await app.actor(External, "anybody").add();
      for (const shard of [SHARDS, -1, 1.5, "3", Number.NaN, undefined, 1e20]) {
        await assert.rejects(shards.move(shard, "a"), { code: "ARGUMENT_INVALID" }, String(shard));
        await assert.rejects(shards.allocate(new Map([[shard, "a"]])), { code: "ARGUMENT_INVALID" }, String(shard));
      }
      for (const host of [5, "", "a\0b", "\ud800", "x".repeat(5_000), {}]) {
        await assert.rejects(shards.move(0, host), { code: "ARGUMENT_INVALID" }, JSON.stringify(host));
        await assert.rejects(shards.allocate({ 0: host }), { code: "ARGUMENT_INVALID" }, JSON.stringify(host));
      }
      for (const places of [undefined, null, "0", ["a"], { seven: "a" }, { "-1": "a" }, { "": "a" }, { "1.5": "a" }]) {
        await assert.rejects(shards.allocate(places), { code: "ARGUMENT_INVALID" }, JSON.stringify(places));
      }
      await assert.rejects(shards.move(0, "a"), /several hosts of Counting are called a; use the address of one: a \(/);
      await shards.allocate({ 0: null, 1: undefined, 2: "later" });
      assert.throws(() => app.shards(undefined as never), { code: "NAME_INVALID" });
      await callAll(app);
    }
  });

  it("a shard cannot be sent elsewhere, or back, while it moves", async () => {
    await using apps = new TestApps();
    const held = Promise.withResolvers<void>();
    class Slow extends Actor {
      static options = { placement: sharded({ shards: 1 }) };
      async hold() {
        await held.promise;
      }
    }
    const one = await apps.open([Slow], named("a"));
    await apps.open([Slow], named("b"));
    const holding = one.actor(Slow, "it").hold();
    const shards = one.shards(Slow);
    const home = async () => (await viewOf(one, "Slow")).hosts.find((host) => host.shards.length > 0)!.name;
    await eventually(async () => (await viewOf(one, "Slow")).hosts.some((host) => host.actors?.[0] === 1), "it runs");
    const from = await home();
    await shards.move(0, from === "a" ? "b" : "a");
    for (const to of ["a", "b"])
      await assert.rejects(shards.move(0, to), { code: "NOT_READY", message: /moves already/ });
    held.resolve();
    await holding;
    await eventually(async () => (await viewOf(one, "Slow")).moved.length === 1, "it has moved");
    assert.notEqual(await home(), from);
  });

  it("a pause of rebalancing holds, also when another process leads", async () => {
    await using apps = new TestApps();
    const Plain = counting(BALANCED);
    const one = await apps.open([Plain], named("a"));
    const two = await apps.open([Plain], named("b"));
    await callAll(one);
    await eventually(async () => countOf(await viewOf(two), "b") === SHARDS / 2, "balance");
    await two.shards(Plain).pause();
    assert.equal((await viewOf(one)).paused, true);
    // The shards of a host that leaves move all the same.
    await one.stop();
    let seen: ShardsView | undefined;
    await eventually(async () => {
      seen = await viewOf(two);
      return countOf(seen, "b") === SHARDS;
    }, "another one leads, and has all of them");
    assert.equal(seen!.paused, true);
    await apps.open([Plain], named("c"));
    // Longer than several rebalance intervals.
    await new Promise((resolve) => setTimeout(resolve, 800));
    assert.equal(countOf(await viewOf(two), "c"), 0);
    await two.shards(Plain).resume();
    await eventually(async () => countOf(await viewOf(two), "c") === SHARDS / 2, "balance again");
  });
});

describe("hosts that disagree about a type", () => {
  it("hosts with different numbers of shards, or different rules for them, cannot join one cluster", async () => {
    await using apps = new TestApps();
    await apps.open([counting({})]);
    await assert.rejects(apps.open([counting({ shards: SHARDS + 1 })]), {
      code: "OPTION_INVALID",
      message: /Counting has 12 shards by hash, but this host has 13 shards by hash.*limpet shards Counting --reset/,
    });
    await assert.rejects(apps.open([counting({ shardOf: (id) => id.length, version: "1" })]), {
      message: /12 shards by hash, but this host has 12 shards by its own shardOf of version "1"; to change it/,
      code: "OPTION_INVALID",
    });
    // The same when the class comes later.
    const late = await apps.open([]);
    await assert.rejects(late.add(counting({ shards: 3 })), { code: "OPTION_INVALID" });
    await late.add(counting({}));
    await callAll(late);
  });

  for (const [first, second] of [
    [{}, undefined],
    [undefined, {}],
  ] as const) {
    const words = (options: object | undefined) => (options === undefined ? "without shards" : "with shards");
    it(`a host ${words(second)} cannot join a cluster with a host ${words(first)}`, async () => {
      await using apps = new TestApps();
      const one = await apps.open([counting(first)]);
      await callAll(one);
      await assert.rejects(apps.open([counting(second)], { cluster: SHORT_LEASES }), {
        code: "NOT_READY",
        message: /its actors live in .*shards on the other hosts and in .*shards here; all hosts/,
      });
      await callAll(one);
    });
  }

  it("a host with another number of shards can join after all others have stopped and the type was reset", async () => {
    await using apps = new TestApps();
    const { store } = apps;
    const one = await apps.open([counting({ strategy: "external" })]);
    await one.shards("Counting").allocate({ 1: "x" });
    await callAll(one);
    const never = (): boolean => false;
    await assert.rejects(resetShards(store, "default", "Counting", never), { code: "NOT_READY", message: /127/ });
    await one.stop();
    await assert.rejects(apps.open([counting({ shards: 5 })]), { code: "OPTION_INVALID" });
    await resetShards(store, "default", "Counting", never);
    assert.deepEqual(await store.shards.homes(), []);
    const two = await apps.open([counting({ shards: 5 })]);
    await callAll(two);
    const { shards, told } = await two.shards("Counting").view();
    assert.deepEqual([shards, told], [5, []]);
  });
});
