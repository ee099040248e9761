// A machine sleeps for longer than the lease of its host. The wall clock shows it first; timers come later.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import type { Clock } from "../ports/clock.ts";
import type { TakeRequest } from "../ports/store/store.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { openWorld } from "../testing.ts";
import { eventually, isBusy, SHORT_LEASES, TestApps } from "./cluster-kit.test.ts";
import { systemClock } from "./system.ts";

class Sleepy extends Actor<{ count: number }> {
  static options = { reentrant: true };

  initial() {
    return { count: 0 };
  }

  async read() {
    begun.resolve();
    await asleep.promise;
    return this.state.count;
  }

  async refuse() {
    begun.resolve();
    await asleep.promise;
    throw new RangeError("not enough");
  }

  async outer(): Promise<number> {
    return this.actor(Sleepy, this.id).read();
  }

  ping() {
    return "pong";
  }

  async add() {
    begun.resolve();
    await asleep.promise;
    return ++this.state.count;
  }

  /** The event loop is blocked while the turn runs. */
  crunch() {
    block();
    return ++this.state.count;
  }
}

class Hooked extends Sleepy {
  override onActivate() {
    activated++;
  }

  touch() {
    return "touched";
  }
}

let begun = Promise.withResolvers<void>();
let asleep = Promise.withResolvers<void>();
let block = (): void => {};
let activated = 0;

class SleepingMachine {
  #slept = 0;
  #blocked = 0;
  readonly clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + this.#slept + this.#blocked,
    monotonic: () => systemClock.monotonic() + this.#blocked,
  };

  /** The monotonic clock stops. */
  sleep(): void {
    this.#slept += 60_000;
  }

  /** All clocks continue, but the event loop of the process is blocked. */
  block(): void {
    this.#blocked += 60_000;
  }
}

class SlowStore extends MemoryStore {
  readonly taking = Promise.withResolvers<void>();
  held: Promise<void> = Promise.resolve();

  override async take(batch: readonly TakeRequest[]): ReturnType<MemoryStore["take"]> {
    this.taking.resolve();
    await this.held;
    return super.take(batch);
  }
}

/** The sleep exceeds the lease by the wall clock. The wait for a new lease depends on its length. */
const SLEEPERS = { ...SHORT_LEASES, lease: isBusy ? "20s" : "4s" } as const;

describe("a host that slept through its lease", () => {
  for (const method of ["read", "refuse", "outer"] as const) {
    it(`a host that slept through its lease sends no answer for the turn that ran (${method})`, async () => {
      await using apps = new TestApps();
      begun = Promise.withResolvers();
      asleep = Promise.withResolvers();
      const machine = new SleepingMachine();
      const app = await apps.open([Sleepy], { cluster: SLEEPERS }, { clock: machine.clock });
      const call = app.actor(Sleepy, "a")[method]();
      await begun.promise;
      machine.sleep();
      asleep.resolve();
      await assert.rejects(call, { code: "LEASE_LOST" });
      assert.equal(await app.actor(Sleepy, "a").read(), 0);
    });
  }

  it("a host that slept through its lease activates no actor before it has a new one", async () => {
    await using apps = new TestApps();
    const machine = new SleepingMachine();
    const store = new SlowStore();
    const app = await apps.open([Hooked], { cluster: SLEEPERS }, { clock: machine.clock, store });
    const held = Promise.withResolvers<void>();
    store.held = held.promise;
    const call = app.actor(Hooked, "a").touch();
    await store.taking.promise;
    machine.sleep();
    held.resolve();
    assert.equal(await call, "touched");
    assert.equal(activated, 1);
  });
});

describe("an event loop that was blocked for longer than the lease", () => {
  for (const [method, expected] of [
    ["read", 0],
    ["refuse", "RangeError"],
    ["outer", 0],
    ["add", 1],
    ["crunch", 1],
  ] as const) {
    it(`a lone host continues its turns after a blocked event loop (${method})`, async () => {
      await using apps = new TestApps();
      begun = Promise.withResolvers();
      asleep = Promise.withResolvers();
      const machine = new SleepingMachine();
      block = () => machine.block();
      const app = await apps.open([Sleepy], {}, { clock: machine.clock });
      const { incarnation } = (await app.host.cluster()).hosts[0]!;
      assert.equal(await app.actor(Sleepy, "other").ping(), "pong");
      const call = app.actor(Sleepy, "a", { timeout: "10m" })[method]();
      if (method !== "crunch") {
        await begun.promise;
        machine.block();
        asleep.resolve();
      }
      assert.equal(await call.catch(({ name }: Error) => name), expected);
      assert.equal(app.host.types()[0]!.active, 2);
      assert.equal(await app.actor(Sleepy, "other").ping(), "pong");
      await eventually(async () => app.host.status().scheduler?.leads === true, "it leads again");
      await eventually(async () => (await app.host.cluster()).hosts.length > 0, "the host is a member again");
      assert.equal((await app.host.cluster()).hosts[0]!.incarnation, incarnation);
      assert.equal(Number(/^limpet_host_leases_lost_total\S* (\d+)$/m.exec(app.metrics())?.[1] ?? 0), 0);
    });
  }

  it("a lone host drops all actors if another scheduler led meanwhile", async () => {
    await using apps = new TestApps();
    begun = Promise.withResolvers();
    asleep = Promise.withResolvers();
    const machine = new SleepingMachine();
    const app = await apps.open([Sleepy], {}, { clock: machine.clock });
    const call = app.actor(Sleepy, "a", { timeout: "10m" }).add();
    await begun.promise;
    const { incarnation } = (await app.host.cluster()).schedulers[0]!;
    const other = { machine: "elsewhere", pid: 1, incarnation: "other", address: "", dedicated: false };
    await apps.store.coordination.campaign({ ...other, leaseMs: 1, hostLeaseMs: 30_000 }, [incarnation]);
    await apps.store.coordination.resign("other");
    machine.block();
    asleep.resolve();
    await assert.rejects(call, { code: "LEASE_LOST" });
    await eventually(async () => (await app.actor(Sleepy, "a").ping()) === "pong", "the host is a member again");
  });
});

describe("a pause that is longer than the lease", () => {
  /** The outcome of a turn during which its host is paused, and the number of actors right after. */
  async function pausedFor(ms: number, { leads, alone = false }: { leads: boolean; alone?: boolean }) {
    begun = Promise.withResolvers();
    asleep = Promise.withResolvers();
    await using world = await openWorld({ actors: [Sleepy], hosts: alone ? ["one"] : ["one", "two"] });
    const [one, ...others] = alone ? ["one"] : ["one", "two"];
    const isLeader = await world.host(one!).run(async (app) => app.host.status().scheduler?.leads === true);
    const at = isLeader === leads ? one! : others[0]!;
    const id = await world.host(at).run(async (app) => {
      const { address } = app.host.status();
      for (let i = 0; ; i++) if ((await app.host.where("Sleepy", `a${i}`)).owner === address) return `a${i}`;
    });
    const call = world.host(at).run((app) => app.actor(Sleepy, id, { timeout: "5m" }).add());
    const outcome = call.then(
      (value) => value,
      (error: Error & { code?: string }) => error.code,
    );
    await world.advance("1s");
    await begun.promise;
    world.pause(at, ms);
    await world.advance(ms - 100);
    asleep.resolve();
    await world.advance(1_100);
    const active = await world.host(at).run(async (app) => app.host.types()[0]!.active);
    await world.advance("1m");
    return [await outcome, active];
  }

  it("a lone host keeps its actors after a pause longer than the lease", async () => {
    assert.deepEqual(await pausedFor(60_000, { leads: true, alone: true }), [1, 1]);
  });

  it("a host drops all actors after a pause if its leader is in another process, even while that leader waits for it", async () => {
    assert.deepEqual(await pausedFor(9_500, { leads: false }), ["LEASE_LOST", 0]);
  });

  it("a host drops all actors after a pause if it led, and another host leads now", async () => {
    assert.deepEqual(await pausedFor(60_000, { leads: true }), ["LEASE_LOST", 0]);
  });
});
