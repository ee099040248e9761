// Metrics of the cluster without a test elsewhere: each counts the events of its description, on virtual
// time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor, type ActorOptions, sharded } from "../../src/index.ts";
import { openWorld, type TestHost, type TestWorld } from "../../src/testing.ts";
import { metricValue } from "./metric-values.ts";

class Plain extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }
  add(): number {
    return ++this.state.n;
  }
  async hang(): Promise<void> {
    await new Promise(() => {});
  }
}

class Stuck extends Actor<{ n: number }> {
  static options = { placement: "sticky" } satisfies ActorOptions;
  initial() {
    return { n: 0 };
  }
  add(): number {
    return ++this.state.n;
  }
}

let broken = false;

class Guard extends Actor<{ n: number }> {
  static options = { placement: sharded({ shards: 8, remember: true }) } satisfies ActorOptions;
  initial() {
    return { n: 0 };
  }
  override onActivate(): void {
    if (broken) throw new TypeError("this guard cannot start");
  }
  add(): number {
    return ++this.state.n;
  }
}

class SlowGuard extends Guard {
  static override options = {
    placement: sharded({ shards: 8, remember: true, startsPerSecond: 1 }),
  } satisfies ActorOptions;
}

class Room extends Actor<{ n: number }> {
  static options = { placement: sharded({ shards: 4, handOff: "60s" }) } satisfies ActorOptions;
  initial() {
    return { n: 0 };
  }
  add(): number {
    return ++this.state.n;
  }
  async hang(): Promise<void> {
    await new Promise(() => {});
  }
}

const read = (host: TestHost, name: string, labels = {}): number | undefined =>
  metricValue(host.app.metrics(), `limpet_${name}`, labels);
const sum = (world: TestWorld, name: string, labels = {}): number =>
  world.hosts.reduce((total, host) => total + (read(host, name, labels) ?? 0), 0);
const leaderOf = (world: TestWorld): TestHost => world.hosts.find((host) => read(host, "scheduler_leading") === 1)!;

describe("the metrics of the cluster", () => {
  it("limpet_scheduler_leading is 1 on the leader alone, and limpet_scheduler_term grows with each leader", async () => {
    await using world = await openWorld({ actors: [Plain], hosts: 3 });
    assert.equal(sum(world, "scheduler_leading"), 1);
    const first = leaderOf(world);
    const term = read(first, "scheduler_term")!;
    assert.ok(term >= 1);
    await world.stopHost(first);
    await world.settled();
    const next = world.hosts.find((host) => host !== first && read(host, "scheduler_leading") === 1)!;
    assert.ok(read(next, "scheduler_term")! > term);
  });

  it("limpet_scheduler_streams counts the hosts that are connected to the leader", async () => {
    await using world = await openWorld({ actors: [Plain], hosts: 3 });
    assert.equal(read(leaderOf(world), "scheduler_streams"), 3);
    const other = world.hosts.find((host) => host !== leaderOf(world))!;
    await world.stopHost(other);
    await world.settled();
    assert.equal(read(leaderOf(world), "scheduler_streams"), 2);
  });

  it("limpet_scheduler_rounds_in_progress counts rounds, and limpet_scheduler_evictions_total hosts that held one up", async () => {
    await using world = await openWorld({ actors: [Plain], hosts: 3 });
    const leader = leaderOf(world);
    const others = world.hosts.filter((host) => host !== leader);
    // A host that gets no messages acknowledges nothing, and a join makes the leader wait for it.
    await world.stopHost(others[0]!);
    await world.settled();
    world.cut(leader, others[1]!);
    const joined = world.restart(others[0]!);
    await world.advance("3s");
    assert.ok(read(leader, "scheduler_rounds_in_progress")! >= 1);
    await world.advance("1m");
    await joined;
    assert.equal(read(leader, "scheduler_rounds_in_progress"), 0);
    assert.ok(read(leader, "scheduler_evictions_total")! >= 1);
  });

  it("limpet_take_seconds observes each read that takes actors", async () => {
    await using world = await openWorld({ actors: [Plain], hosts: 1 });
    const before = read(world.hosts[0], "take_seconds_count") ?? 0;
    await world.hosts[0].actor(Plain, "a").add();
    assert.equal(read(world.hosts[0], "take_seconds_count"), before + 1);
    assert.ok(read(world.hosts[0], "take_seconds_sum")! > 0);
  });

  it("limpet_sticky_activations_total counts sticky actors that come into memory", async () => {
    await using world = await openWorld({ actors: [Stuck], hosts: 2 });
    for (const id of ["a", "b", "c"]) await world.hosts[0].actor(Stuck, id).add();
    assert.equal(sum(world, "sticky_activations_total", { type: "Stuck" }), 3);
  });

  it("limpet_scheduler_sticky_releases_total counts sticky actors that hosts let go of", async () => {
    await using world = await openWorld({ actors: [Stuck], hosts: 2 });
    for (const id of ["a", "b", "c"]) await world.hosts[0].actor(Stuck, id).add();
    await world.hosts[0].run((app) => app.host.release("Stuck", "a"));
    await world.advance("5s");
    assert.equal(sum(world, "scheduler_sticky_releases_total", { type: "Stuck" }), 1);
  });

  it("limpet_scheduler_sticky_claims_total counts claims of hosts at a new leader", async () => {
    await using world = await openWorld({ actors: [Stuck], hosts: 3 });
    for (let i = 0; i < 12; i++) await world.hosts[0].actor(Stuck, `a-${i}`).add();
    const first = leaderOf(world);
    world.crash(first);
    await world.advance("30s");
    await world.settled();
    const next = world.hosts.find((host) => host !== first && read(host, "scheduler_leading") === 1)!;
    const held = world.hosts
      .filter((host) => host !== first)
      .reduce((total, host) => total + read(host, "host_sticky_actors", { type: "Stuck" })!, 0);
    assert.ok(held > 0);
    assert.equal(read(next, "scheduler_sticky_claims_total", { outcome: "accepted" }), held);
  });

  it("limpet_remember_batch_size and limpet_remember_seconds observe writes of remembered actors", async () => {
    await using world = await openWorld({ actors: [Guard], hosts: 1 });
    for (const id of ["a", "b"]) await world.hosts[0].actor(Guard, id).add();
    assert.equal(read(world.hosts[0], "remember_batch_size_sum"), 2);
    assert.ok(read(world.hosts[0], "remember_seconds_count")! >= 1);
    assert.ok(read(world.hosts[0], "remember_seconds_sum")! > 0);
  });

  it("limpet_remembered_restarts_waiting counts remembered actors that could not be started", async () => {
    await using world = await openWorld({ actors: [Guard], hosts: 1 });
    for (const id of ["a", "b"]) await world.hosts[0].actor(Guard, id).add();
    broken = true;
    try {
      await world.restart(0);
      await world.advance("15s");
      assert.equal(read(world.hosts[0], "remembered_restarts_waiting", { type: "Guard" }), 2);
    } finally {
      broken = false;
    }
  });

  it("limpet_host_shards_waited_for, limpet_host_shard_calls_waiting and limpet_scheduler_shards_moving count shards and calls that wait for a move", async () => {
    await using world = await openWorld({ actors: [Room], hosts: 2 });
    await world.hosts[0].actor(Room, "a").add();
    const home = (await world.where(Room, "a"))!;
    const other = world.hosts.find((host) => host !== home)!;
    // The turn does not end, so the shard stays between two homes.
    void home
      .actor(Room, "a")
      .hang()
      .catch(() => undefined);
    await world.advance("100ms");
    const moved = other.run((app) => app.shards(Room).move(app.shards(Room).shardOf("a"), other.name));
    await world.advance("1s");
    void other
      .actor(Room, "a")
      .add()
      .catch(() => undefined);
    await world.advance("1s");
    assert.equal(read(leaderOf(world), "scheduler_shards_moving", { type: "Room" }), 1);
    assert.equal(read(other, "host_shards_waited_for", { type: "Room" }), 1);
    assert.equal(read(other, "host_shard_calls_waiting", { type: "Room" }), 1);
    world.crash(home);
    await moved;
  });

  it("limpet_store_retries_total counts batches that are sent to the store again", async () => {
    await using world = await openWorld({ actors: [Plain], hosts: 1 });
    await world.hosts[0].actor(Plain, "a").add();
    assert.equal(read(world.hosts[0], "store_retries_total") ?? 0, 0);
    world.database.goDown();
    const added = world.hosts[0].actor(Plain, "a").add();
    await world.advance("2s");
    world.database.comeBack();
    await added;
    assert.ok(read(world.hosts[0], "store_retries_total")! >= 1);
  });

  it("limpet_host_sticky_granted_total, _released_total and _cache_total count grants, releases and cache hits of sticky actors", async () => {
    await using world = await openWorld({ actors: [Stuck], hosts: 2 });
    for (const id of ["a", "b", "c"]) for (const host of world.hosts) await host.actor(Stuck, id).add();
    assert.equal(sum(world, "host_sticky_granted_total", { type: "Stuck" }), 3);
    for (const id of ["a", "b", "c"]) for (const host of world.hosts) await host.actor(Stuck, id).add();
    assert.ok(sum(world, "host_sticky_cache_total", { type: "Stuck", result: "miss" }) >= 1);
    assert.ok(sum(world, "host_sticky_cache_total", { type: "Stuck", result: "hit" }) >= 1);
    await world.hosts[0].run((app) => app.host.release("Stuck", "a"));
    await world.advance("5s");
    assert.equal(sum(world, "host_sticky_released_total", { type: "Stuck" }), 1);
  });

  it("limpet_host_sticky_cleared_total counts sticky actors that a host lost together with its lease", async () => {
    await using world = await openWorld({ actors: [Stuck], hosts: 3 });
    for (let i = 0; i < 12; i++) await world.hosts[0].actor(Stuck, `a-${i}`).add();
    const host = world.hosts.find((one) => one !== leaderOf(world) && read(one, "host_sticky_actors")! > 0)!;
    const held = read(host, "host_sticky_actors")!;
    world.pause(host, "30s");
    await world.advance("1m");
    assert.equal(read(host, "host_sticky_cleared_total"), held);
  });

  it("limpet_remembered_shards_waiting counts shards whose remembered actors are still to be started", async () => {
    await using world = await openWorld({ actors: [SlowGuard], hosts: 1 });
    for (let i = 0; i < 20; i++) await world.hosts[0].actor(SlowGuard, `g-${i}`).add();
    await world.restart(0);
    await world.advance("2s");
    // One start a second: most shards have to wait.
    assert.ok(read(world.hosts[0], "remembered_shards_waiting", { type: "SlowGuard" })! > 0);
    await world.advance("1m");
    assert.equal(read(world.hosts[0], "remembered_shards_waiting", { type: "SlowGuard" }), 0);
  });
});
