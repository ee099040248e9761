// A machine sleeps for longer than the lease of its host. The wall clock shows it first; timers come later.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import type { Clock } from "../ports/clock.ts";
import type { TakeRequest } from "../ports/store.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
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

describe("a host that slept through its lease", () => {
  for (const method of ["read", "refuse", "outer"] as const) {
    it(`answers nobody whose turn ran then (${method})`, async () => {
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
