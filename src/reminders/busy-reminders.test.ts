// Reminders of actors that are too busy to handle them: the wait is not an attempt.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../index.ts";
import { openWorld, testLimpet } from "../testing.ts";

let gate = Promise.withResolvers<void>();
let ticks: { name: string; attempt: number }[] = [];

class Busy extends Actor {
  static options = { callTimeout: "2s" };

  async work() {
    await gate.promise;
  }

  override onReminder(name: string, _data: unknown, { attempt }: { attempt: number }) {
    ticks.push({ name, attempt });
  }
}

class Slow extends Busy {
  override async onReminder(name: string, _data: unknown, { attempt }: { attempt: number }) {
    ticks.push({ name, attempt });
    await gate.promise;
  }
}

const ONCE = { due: 0, onFailure: { attempts: 2, pause: "1s" } } as const;

function begin(): void {
  gate = Promise.withResolvers();
  ticks = [];
}

describe("reminders that time out", () => {
  it("a timeout is no attempt when the actor was busy all the time", async () => {
    begin();
    await using app = await testLimpet({ actors: [Busy] });
    const work = app.actor(Busy, "a", { timeout: "1h" }).work();
    await app.reminders.set(Busy, "a", "tea", ONCE);
    await app.advance("1m");
    assert.deepEqual(ticks, []);
    gate.resolve();
    await work;
    await app.advance("1m");
    assert.deepEqual(ticks, [{ name: "tea", attempt: 1 }]);
  });

  it("a timeout is no attempt when the busy actor lives on another host", async () => {
    begin();
    await using world = await openWorld({ actors: [Busy], hosts: [{ name: "client", actors: [] }, "kitchen"] });
    const client = world.host("client");
    const work = client.run((app) => app.actor(Busy, "a", { timeout: "1h" }).work());
    await world.advance("1s");
    await client.run((app) => app.reminders.set("Busy", "a", "tea", ONCE));
    await world.advance("1m");
    assert.deepEqual(ticks, []);
    gate.resolve();
    await world.advance("1m");
    await work;
    assert.deepEqual(ticks, [{ name: "tea", attempt: 1 }]);
  });

  it("a timeout is an attempt when the handler took too long, also when it still runs at the next one", async () => {
    begin();
    await using app = await testLimpet({ actors: [Slow] });
    await app.reminders.set(Slow, "a", "tea", ONCE);
    await app.advance("10s");
    assert.deepEqual(ticks, [{ name: "tea", attempt: 1 }]);
    assert.equal((await app.store.reminders.listDead({ namespace: "default", limit: 10 })).length, 1);
    gate.resolve();
  });
});
