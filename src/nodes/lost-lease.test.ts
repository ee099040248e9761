// A machine sleeps for longer than the lease of its host. The wall clock shows it first; timers come later.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import type { Clock } from "../ports/clock.ts";
import type { TakeRequest } from "../ports/store.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { openWorld } from "../testing.ts";
import { isBusy, SHORT_LEASES, TestApps } from "./cluster-kit.test.ts";
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
let activated = 0;

class SleepingMachine {
  #slept = 0;
  readonly clock: Clock = { ...systemClock, now: () => systemClock.now() + this.#slept };

  sleep(): void {
    this.#slept += 60_000;
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

/** It sleeps longer than its lease by its wall clock. How long it waits for another one depends on the lease. */
const SLEEPERS = { ...SHORT_LEASES, lease: isBusy ? "20s" : "4s" } as const;

/** Two hosts; that of the actor sleeps while its turn runs. */
async function sleepThrough(method: "read" | "refuse" | "outer", ms: number): Promise<unknown> {
  begun = Promise.withResolvers();
  asleep = Promise.withResolvers();
  await using world = await openWorld({ actors: [Sleepy], hosts: ["one", "two"] });
  const { owner } = await world.host("one").run((app) => app.host.where("Sleepy", "a"));
  const isOne = (await world.host("one").run(async (app) => app.host.status().address)) === owner;
  const [at, caller] = isOne ? ["one", "two"] : ["two", "one"];
  const call = world.host(caller!).run((app): Promise<unknown> => app.actor(Sleepy, "a", { timeout: "5m" })[method]());
  const outcome = call.then(
    (value) => value,
    (error: Error & { code?: string }) => error.code ?? error.name,
  );
  await world.advance("1s");
  await begun.promise;
  world.pause(at!, ms);
  // Its code goes on at a moment at which others have its actors.
  await world.advance(ms - 1_000);
  asleep.resolve();
  await world.advance(60_000);
  return outcome;
}

describe("a host that slept through its lease", () => {
  for (const method of ["read", "refuse", "outer"] as const) {
    it(`the host answers no caller of a turn that ran then, when a leader has reassigned its actors (${method})`, async () => {
      const outcome = String(await sleepThrough(method, 60_000));
      assert.ok(["LEASE_LOST", "ANSWER_LOST"].includes(outcome), outcome);
    });
  }

  for (const [method, expected] of [
    ["read", 0],
    ["refuse", "RangeError"],
    ["outer", 0],
  ] as const) {
    it(`goes on with its turns when it is still a member (${method})`, async () => {
      await using apps = new TestApps();
      begun = Promise.withResolvers();
      asleep = Promise.withResolvers();
      const machine = new SleepingMachine();
      const app = await apps.open([Sleepy], {}, { clock: machine.clock });
      const call = app.actor(Sleepy, "a")[method]();
      await begun.promise;
      machine.sleep();
      asleep.resolve();
      assert.equal(await call.catch(({ name }: Error) => name), expected);
    });
  }

  it("brings nobody to life before it has another lease", async () => {
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
