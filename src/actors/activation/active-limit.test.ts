// The limit on actors of one type in memory.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../../index.ts";
import { testLimpet } from "../../testing.ts";
import { sharded } from "../options/sharded-options.ts";
import { events, Recorded } from "../recorded-kit.test.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
let hold = Promise.withResolvers<void>();

class Guest extends Recorded {
  static options = { placement: sharded({ maxActive: 3 }), idleTimeout: "1d" };
  async wait() {
    await hold.promise;
    return ++this.state.n;
  }
}

class Other extends Actor {
  ping() {
    return "pong";
  }
}

function open() {
  events.length = 0;
  hold = Promise.withResolvers();
  return testLimpet({ actors: [Guest, Other] });
}

const active = (app: Awaited<ReturnType<typeof open>>, type: string): number =>
  app.host.types().find((one) => one.type === type)!.active;

describe("the limit on active actors of a type", () => {
  it("the least recently used actors of a type leave at its limit, and other types stay", async () => {
    await using app = await open();
    for (const id of ["o1", "o2", "o3", "o4"]) await app.actor(Other, id).ping();
    for (const id of ["a", "b", "c"]) await app.actor(Guest, id).inc();
    await app.actor(Guest, "a").inc();
    await app.actor(Guest, "d").inc();
    await app.advance("1s");
    assert.deepEqual(events.toSorted(), ["+a", "+b", "+c", "+d", "-b memory"]);
    assert.equal(active(app, "Guest"), 3);
    assert.equal(active(app, "Other"), 4);
    assert.equal(await app.actor(Guest, "b").inc(), 2, "its state is as it was");
    await app.advance("1s");
    assert.equal(active(app, "Guest"), 3);
    assert.ok(events.includes("-c memory"));
  });

  it("the limit holds when many actors arrive one by one while others are still leaving", async () => {
    await using app = await open();
    for (let i = 0; i < 50; i++) assert.equal(await app.actor(Guest, `${i}`).inc(), 1);
    await app.advance("1s");
    assert.equal(active(app, "Guest"), 3);
    assert.equal(events.filter((event) => event.startsWith("-")).length, 47, "nobody had to go who need not");
  });

  it("busy actors exceed the limit without a rejected call, and the limit holds again when they are idle", async () => {
    await using app = await open();
    const busy = Array.from({ length: 100 }, (_, i) => app.actor(Guest, `busy-${i}`).wait());
    await app.advance("1s");
    assert.equal(active(app, "Guest"), 100);
    assert.equal(await app.actor(Guest, "one more").inc(), 1);
    hold.resolve();
    assert.deepEqual(new Set(await Promise.all(busy)), new Set([1]));
    await app.advance("1m");
    assert.equal(active(app, "Guest"), 3);
  });

  it("no call to an actor that has to leave is lost", async () => {
    await using app = await open();
    const ids = Array.from({ length: 20 }, (_, i) => `${i}`);
    const counts = new Map<string, number[]>(ids.map((id) => [id, []]));
    const calls: Promise<unknown>[] = [];
    for (let i = 0; i < 400; i++) {
      const id = ids[(i * 7) % ids.length]!;
      calls.push(
        app
          .actor(Guest, id)
          .inc()
          .then((count) => counts.get(id)!.push(count)),
      );
      if (i % 3 === 0) await tick();
    }
    await Promise.all(calls);
    for (const [id, seen] of counts) {
      assert.deepEqual(
        seen,
        Array.from({ length: 20 }, (_, i) => i + 1),
        id,
      );
    }
  });
});
