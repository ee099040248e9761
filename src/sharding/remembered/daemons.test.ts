// Actors that always run: a single one of a class, or a number of them, through crashes, restarts and changes
// of their number.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { App } from "../../host/app.ts";
import { Actor, type ActorOptions, daemons, sharded, singleton, sticky } from "../../index.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { openWorld, type TestHost, type TestWorld, testLimpet } from "../../testing.ts";

class Poller extends Actor<{ polls: number }> {
  static options = { placement: sharded({ rebalance: "1s", restartAfter: "1s" }) } satisfies ActorOptions;
  initial() {
    return { polls: 0 };
  }
  poll() {
    return ++this.state.polls;
  }
  leave() {
    this.passivate();
  }
}

class Clock extends Actor<{ ticks: number }> {
  initial() {
    return { ticks: 0 };
  }
  tick() {
    return ++this.state.ticks;
  }
}

async function activeOn(app: App, type: string): Promise<string[]> {
  const { actors } = await app.host.list({ type, active: true, limit: 1_000 });
  return actors.map(({ id }) => id);
}

const upHosts = ({ hosts }: TestWorld): TestHost[] => hosts.filter(({ isUp, isAsleep }) => isUp && !isAsleep);

/** Running daemons, host by host. */
async function running(world: TestWorld, type: string): Promise<string[][]> {
  return Promise.all(upHosts(world).map((host) => host.run((app) => activeOn(app, type))));
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i));

/** Waits until exactly these run, each on one host. */
async function untilRun(world: TestWorld, type: string, expected: readonly string[]): Promise<void> {
  const wanted = JSON.stringify(expected.toSorted());
  for (let i = 0; i < 180; i++) {
    const all = (await running(world, type)).flat().sort();
    if (JSON.stringify(all) === wanted) return;
    await world.advance("1s");
  }
  assert.deepEqual((await running(world, type)).flat().sort(), expected.toSorted());
}

describe("daemons", () => {
  it("all daemons run without a call, spread over the hosts, and again after crashes and a restart of everything", async () => {
    await using world = await openWorld({ actors: [daemons(Poller, 9)], hosts: 3 });
    await untilRun(world, "Poller", numbers(9));
    // Hosts join one after the other: shards move until they are spread evenly.
    for (let i = 0; i < 120 && (await running(world, "Poller")).some(({ length }) => length !== 3); i++)
      await world.advance("1s");
    assert.deepEqual(
      (await running(world, "Poller")).map(({ length }) => length),
      [3, 3, 3],
    );
    const [first] = world.hosts;
    assert.equal(await first.actor(Poller, "8").poll(), 1, "the class itself leads to its daemons");
    world.crash(1);
    await untilRun(world, "Poller", numbers(9));
    world.losePower(2);
    await untilRun(world, "Poller", numbers(9));
    for (const host of upHosts(world)) world.crash(host);
    await world.advance("1m");
    for (const host of world.hosts) await world.restart(host);
    await untilRun(world, "Poller", numbers(9));
    assert.equal(await world.hosts[1]!.actor(Poller, "8").poll(), 2, "their state is durable");
  });

  it("new daemons start and surplus ones stop for good when a version changes their number", async () => {
    await using world = await openWorld({ actors: [daemons(Poller, 3)], hosts: 2 });
    await untilRun(world, "Poller", numbers(3));
    for (const count of [6, 2]) {
      for (const host of world.hosts) {
        await world.stopHost(host);
        await world.restart(host, { actors: [daemons(Poller, count)] });
      }
      await untilRun(world, "Poller", numbers(count));
    }
    await world.advance("2m");
    await untilRun(world, "Poller", numbers(2));
  });

  it("the number of daemons changes while they run when a function returns another number", async () => {
    let count = 2;
    await using world = await openWorld({ actors: [daemons(Poller, () => count)], hosts: 2 });
    await untilRun(world, "Poller", numbers(2));
    count = 5;
    await untilRun(world, "Poller", numbers(5));
    count = 1;
    await untilRun(world, "Poller", numbers(1));
    count = Number.NaN;
    await world.advance("1m");
    await untilRun(world, "Poller", numbers(1));
  });

  it("a daemon that passivates comes back, and a number beyond the last is rejected", async () => {
    await using world = await openWorld({ actors: [daemons(Poller, 2)], hosts: 1 });
    const [host] = world.hosts;
    await untilRun(world, "Poller", numbers(2));
    await host.actor(Poller, "1").leave();
    await untilRun(world, "Poller", numbers(2));
    await assert.rejects(() => host.actor(Poller, "2").poll(), { code: "SHARD_INVALID", message: /daemons 0 to 1/ });
    await assert.rejects(() => host.actor(Poller, "x").poll(), { code: "SHARD_INVALID" });
    await world.advance("1m");
    await untilRun(world, "Poller", numbers(2));
  });

  it("daemons run in a process that is in no cluster as well", async () => {
    const store = new MemoryStore();
    for (const count of [3, 1]) {
      const app = await testLimpet({ actors: [daemons(Poller, count)], stateStore: store });
      await app.advance("1m");
      const { actors } = await app.host.list({ type: "Poller", active: true, limit: 10 });
      assert.deepEqual(
        actors.map(({ id }) => id),
        numbers(count),
      );
      await app.stop();
    }
  });

  it("a class that cannot be a daemon is rejected with advice", () => {
    const refused = (make: () => unknown, message: RegExp) => assert.throws(make, { code: "OPTION_INVALID", message });
    class Sticky extends Actor {
      static options = { placement: sticky() } satisfies ActorOptions;
    }
    class Own extends Actor {
      static options = { placement: sharded({ shardOf: (id) => id, version: "1" }) } satisfies ActorOptions;
    }
    refused(() => daemons(Sticky, 2), /the class must have the placement sharded\(\), or none/);
    refused(() => daemons(Own, 2), /sharded\(\{ shardOf \}\) cannot be set as well/);
    for (const count of [-1, 1.5, Number.NaN, 1e9]) refused(() => daemons(Poller, count), /whole number from 0 to/);
    refused(() => singleton({} as never), /needs a class that extends Actor/);
  });
});

describe("a singleton", () => {
  it("a singleton runs on one host without a call, and on another one when its host crashes", async () => {
    await using world = await openWorld({ actors: [singleton(Clock)], hosts: 3 });
    await untilRun(world, "Clock", ["0"]);
    assert.equal(await world.hosts[0].actor(Clock, "0").tick(), 1);
    for (let i = 0; i < 2; i++) {
      const home = (await world.where(Clock, "0"))!;
      world.crash(home);
      await untilRun(world, "Clock", ["0"]);
      assert.notEqual(await world.where(Clock, "0"), home);
    }
    assert.equal(await upHosts(world)[0]!.actor(Clock, "0").tick(), 2);
    await assert.rejects(() => upHosts(world)[0]!.actor(Clock, "1").tick(), { code: "SHARD_INVALID" });
  });
});
