// The world as tests of applications use it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../index.ts";
import { isLimpetError } from "../kernel/errors.ts";
import { openWorld, type TestHost, type TestWorld } from "../testing.ts";

class Counter extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }
  add() {
    return ++this.state.n;
  }
  read() {
    return this.state.n;
  }
  async addAfterAsking(other: string) {
    await this.actor(Counter, other).read();
    return ++this.state.n;
  }
  /** Never ends, and ignores the cancellation of its caller. */
  async hang() {
    await new Promise(() => {});
  }
}

class Greeter extends Actor {
  greet() {
    return "hello";
  }
}

class PoliteGreeter extends Actor {
  static options = { name: "Greeter" };
  greet() {
    return "good morning";
  }
}

const open = (seed = 1): Promise<TestWorld> => openWorld({ actors: [Counter], hosts: 3, seed });
const others = (world: TestWorld, host: TestHost): TestHost[] => world.hosts.filter((one) => one !== host);

/** An actor on each of two hosts, so that one has to call the other. */
async function livingOn(world: TestWorld, host: TestHost): Promise<string> {
  for (let i = 0; i < 1_000; i++) if ((await world.where(Counter, `actor-${i}`)) === host) return `actor-${i}`;
  assert.fail(`nothing lives on ${host}`);
}

describe("a world", () => {
  it("a world has hosts that share their actors", async () => {
    await using world = await open();
    const counts = [];
    for (const host of world.hosts) counts.push(await host.actor(Counter, "a").add());
    assert.deepEqual(counts, [1, 2, 3]);
    assert.ok(world.hosts.includes((await world.where(Counter, "a"))!));
    assert.equal(await world.where("Counter", "a"), await world.where(Counter, "a"));
  });

  it("time passes in a world while the test awaits an answer, and only then", async () => {
    await using world = await open();
    const before = world.now;
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(world.now, before);
    await world.hosts[0].actor(Counter, "a").add();
    assert.ok(world.now > before);
    assert.ok(world.now < before + 1_000);
  });

  it("several parts of a test can wait for different moments", async () => {
    await using world = await open();
    const begin = world.now;
    const order: string[] = [];
    const wait = async (name: string, ms: number) => {
      await world.advance(ms);
      order.push(`${name} ${world.now - begin}`);
    };
    await Promise.all([wait("late", 2_000), wait("early", 500), wait("soon", 1_000)]);
    assert.deepEqual(order, ["early 500", "soon 1000", "late 2000"]);
  });

  it("a world simulates three days of a cluster: an actor leaves memory and is back with its state", async () => {
    const cluster = { lease: "5m", leaderLease: "1m", roundTimeout: "1m" };
    await using world = await openWorld({ actors: [Counter], hosts: 1, cluster, idleTimeout: "1h" });
    const [host] = world.hosts;
    await host.actor(Counter, "a").add();
    const begin = world.now;
    await world.advance("3d");
    assert.equal(world.now - begin, 3 * 86_400_000);
    assert.deepEqual(host.app.host.types(), [{ type: "Counter", active: 0 }]);
    assert.equal(await host.actor(Counter, "a").add(), 2);
  });

  it("a world has the same story when it runs again, and another one under another seed", async () => {
    const run = async (seed: number) => {
      await using world = await open(seed);
      for (let i = 0; i < 10; i++) await world.someHost().actor(Counter, `c${i}`).add();
      world.crash(world.pick(world.hosts));
      await world.advance("20s");
      return { trace: world.trace, story: world.story, random: world.random() };
    };
    const [first, again, other] = [await run(7), await run(7), await run(8)];
    assert.deepEqual(again, first);
    assert.notEqual(other.trace, first.trace);
  });

  it("a world takes hosts by name, by place and with their own settings", async () => {
    const hosts = ["shop", { name: "greeter", actors: [Greeter], idleTimeout: "1m" }] as const;
    await using world = await openWorld({ actors: [Counter], hosts });
    assert.equal(world.host("greeter"), world.hosts[1]);
    assert.equal(world.host(0), world.hosts[0]);
    assert.equal((await world.where(Greeter, "x"))?.name, "greeter");
    assert.equal(await world.host("shop").actor<Greeter>("Greeter", "x").greet(), "hello");
  });
});

describe("faults of a world", () => {
  it("a partition separates two hosts, until it is healed", async () => {
    await using world = await open();
    const [a, b] = world.hosts as [TestHost, TestHost, TestHost];
    const id = await livingOn(world, b);
    await a.actor(Counter, id).add();
    world.partition(a, b);
    const cut = a.actor(Counter, id, { timeout: "2s" }).add();
    await assert.rejects(cut, (error) => isLimpetError(error) && ["CALL_TIMEOUT", "ANSWER_LOST"].includes(error.code));
    world.heal();
    await world.settled();
    assert.ok((await a.actor(Counter, id).add()) >= 2);
  });

  it("a paused host continues with its old state, and commits nothing by it", async () => {
    await using world = await open();
    const [owner, other, third] = world.hosts as [TestHost, TestHost, TestHost];
    const [id, far] = [await livingOn(world, owner), await livingOn(world, other)];
    await owner.actor(Counter, id).add();
    world.lag(owner, other, "2s");
    const late = owner.actor(Counter, id, { timeout: "5m" }).addAfterAsking(far);
    const refused = assert.rejects(late, (error) => isLimpetError(error));
    await world.advance("100ms");
    world.pause(owner, "1m");
    assert.ok(owner.isAsleep);
    await world.advance("30s");
    assert.equal(await third.actor(Counter, id).add(), 2);
    assert.notEqual(await world.where(Counter, id), owner);
    await world.advance("30s");
    assert.ok(!owner.isAsleep);
    await refused;
    world.heal();
    await world.settled();
    assert.equal(await owner.actor(Counter, id).read(), 2);
  });

  it("a call through a paused host waits until the host resumes", async () => {
    await using world = await open();
    const [host] = world.hosts;
    world.pause(host, "3s");
    const since = world.now;
    await host.actor(Counter, "a").add();
    assert.ok(world.now - since >= 3_000);
  });

  it("a call through a host that crashes is rejected, and so is a call while it is down", async () => {
    await using world = await open();
    const [host] = world.hosts;
    const hanging = assert.rejects(host.actor(Counter, "a").hang(), { code: "ANSWER_LOST" });
    await world.advance("1s");
    world.crash(host);
    await hanging;
    assert.ok(!host.isUp);
    const handle = host.actor(Counter, "a");
    await assert.rejects(handle.add(), { code: "NOT_READY", message: /world\.restart\("host-1"\)/ });
    world.note("it is down");
    const [crashed, lost, refused, noted] = world.story.slice(-4);
    assert.match(crashed!, /s host-1 {3}crashes$/);
    assert.match(lost!, /host-1 .*failed: Counter\/a\.hang err="ANSWER_LOST/);
    assert.match(refused!, /host-1 .*failed: Counter\/a\.add err="NOT_READY/);
    assert.match(noted!, /test {5}it is down$/);
    await world.restart(host);
    assert.equal(await handle.add(), 1);
  });

  it("committed state survives crashes, and the power loss of every machine", async () => {
    await using world = await open();
    for (let i = 0; i < 3; i++) await world.hosts[i]!.actor(Counter, "a").add();
    for (const host of world.hosts) world.losePower(host);
    await world.advance("1m");
    await Promise.all(world.hosts.map((host) => world.restart(host)));
    await world.settled();
    assert.equal(await world.hosts[0].actor(Counter, "a").read(), 3);
  });

  it("a restart with other actors and settings is an upgrade", async () => {
    await using world = await openWorld({ actors: [Greeter], hosts: 1 });
    const [host] = world.hosts;
    assert.equal(await host.actor<Greeter>("Greeter", "x").greet(), "hello");
    await world.restart(host, { actors: [PoliteGreeter], idleTimeout: "1s" });
    assert.equal(await host.actor<Greeter>("Greeter", "x").greet(), "good morning");
    await world.advance("10s");
    assert.deepEqual(host.app.host.types(), [{ type: "Greeter", active: 0 }]);
  });

  it("a restart does not fail because of another one: the last one starts the host", async () => {
    await using world = await open();
    const [host] = world.hosts;
    await host.actor(Counter, "a").add();
    const first = assert.rejects(world.restart(host), { code: "ANSWER_LOST" });
    await world.restart(host);
    await first;
    await world.settled();
    assert.equal(await host.actor(Counter, "a").add(), 2);
  });

  it("a host that is cut off does not join: it can be called when it has joined, and stopped before", async () => {
    await using world = await open();
    const host = world.host(2);
    world.crash(host);
    world.isolate(host);
    const starting = assert.rejects(world.restart(host), { code: "ANSWER_LOST" });
    await world.advance("1s");
    await assert.rejects(host.actor(Counter, "a").add(), { code: "NOT_READY", message: /not part of the cluster yet/ });
    await world.stopHost(host);
    await starting;
    world.heal();
    await world.restart(host);
    assert.equal(await host.actor(Counter, "a").add(), 1);
  });

  it("a world does not settle while a host sleeps", async () => {
    await using world = await open();
    const since = world.now;
    world.pause(0, "20s");
    await assert.rejects(world.settled("5s"), { code: "NOT_SETTLED", message: /host-1 is asleep/ });
    await world.settled();
    assert.ok(world.now - since >= 20_000);
  });

  it("actors move away from a host that stops in an orderly way", async () => {
    await using world = await open();
    const owner = (await world.where(Counter, "a"))!;
    await owner.actor(Counter, "a").add();
    await world.stopHost(owner);
    assert.ok(!owner.isUp);
    await world.settled();
    assert.equal(await others(world, owner)[0]!.actor(Counter, "a").add(), 2);
  });

  it("calls wait for a database that is down, and a lost response causes no lost commit and no second one", async () => {
    await using world = await open();
    const [host] = world.hosts;
    world.database.goDown();
    const waiting = host.actor(Counter, "a").add();
    await world.advance("1s");
    world.database.comeBack();
    assert.equal(await waiting, 1);
    world.database.losingAnswers(0.8);
    const sure = host.actor(Counter, "a").add();
    assert.equal(await sure, 2);
    world.database.heal();
    assert.equal(await host.actor(Counter, "a").read(), 2);
    world.database.failing();
    await assert.rejects(host.actor(Counter, "b").add(), (error) => isLimpetError(error) && error.retry === "later");
  });

  it("neither a wall clock that jumps nor one that drifts moves an actor", async () => {
    await using world = await open();
    const owner = (await world.where(Counter, "a"))!;
    await owner.actor(Counter, "a").add();
    world.jumpClock(owner, "1h");
    world.jumpClock(others(world, owner)[0]!, "-2d");
    world.drift(owner, 1.02);
    await world.advance("1m");
    assert.equal(await world.where(Counter, "a"), owner);
    assert.equal(await owner.actor(Counter, "a").add(), 2);
  });
});

describe("mistakes with a world", () => {
  it("an unknown host is rejected", async () => {
    await using world = await open();
    await using other = await open();
    const unknown = { code: "HOST_UNKNOWN", message: /this world has host-1 \(0\), host-2 \(1\), host-3 \(2\)/ };
    assert.throws(() => world.crash("host-4"), unknown);
    assert.throws(() => world.pause(3, "1s"), unknown);
    assert.throws(() => world.isolate(other.hosts[0]), unknown);
    await assert.rejects(world.restart("nobody"), unknown);
    assert.throws(() => world.partition("host-1", 0), { code: "ARGUMENT_INVALID" });
  });

  it("an invalid value is rejected", async () => {
    await using world = await open();
    const invalid = { code: "OPTION_INVALID" };
    assert.throws(() => world.pause(0, "soon"), invalid);
    assert.throws(() => world.drift(0, 0), invalid);
    assert.throws(() => world.database.failing(2), invalid);
    await assert.rejects(world.advance("3 weeks"), invalid);
    assert.throws(() => world.pick([]), { code: "ARGUMENT_INVALID" });
    world.crash(0);
    assert.throws(() => world.pause(0, "1s"), { code: "NOT_READY" });
  });

  it("an option that the world provides itself is rejected, and so is an invalid number of hosts", async () => {
    const refused = (more: object, message: RegExp) =>
      assert.rejects(openWorld({ actors: [Counter], ...more }), { code: "OPTION_INVALID", message });
    await refused({ store: "memory:" }, /world\.database/);
    await refused({ http: true }, /no HTTP server/);
    await refused({ cluster: false }, /testLimpet/);
    await refused({ hosts: 0 }, /1 to 100/);
    await refused({ hosts: ["a", "a"] }, /two are called a/);
    await refused({ hosts: ["a", ""] }, /hosts: "" will not do/);
    await refused({ hosts: [5] }, /hosts: 5 will not do/);
    await refused({ hosts: [null] }, /hosts: null will not do/);
    await refused({ actors: undefined }, /actors must be a list of classes/);
    await refused({ seed: 0.5 }, /whole number/);
    await refused({ idleTimout: "1s" }, /idleTimout/);
  });

  it("a stopped world cannot be used, and pending waits are rejected", async () => {
    const world = await open();
    const waits = assert.rejects(world.advance("1d"), { code: "STOPPING" });
    const [host] = world.hosts;
    await world.stop();
    await waits;
    await world.stop();
    await assert.rejects(host.actor(Counter, "a").add(), { code: "STOPPING", message: /openWorld/ });
    await assert.rejects(world.advance("1s"), { code: "STOPPING" });
    assert.throws(() => world.crash(0), { code: "STOPPING" });
  });

  it("a wait that can never end is rejected", async () => {
    await using world = await openWorld({ actors: [Counter], hosts: 1, cluster: { lease: "5m", leaderLease: "1m" } });
    const [host] = world.hosts;
    await assert.rejects(host.actor(Counter, "a").hang(), { code: "CALL_TIMEOUT" });
    await assert.rejects(
      host.run(() => new Promise(() => {})),
      { code: "CALL_TIMEOUT", message: /there will be no answer/ },
    );
  });

  it("a world that cannot settle rejects with the reason", async () => {
    await using world = await open();
    for (const host of world.hosts) world.crash(host);
    await assert.rejects(world.settled("10s"), { code: "NOT_SETTLED", message: /no host is up/ });
    assert.equal(await world.where(Counter, "a"), undefined);
  });
});
