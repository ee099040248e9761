// Sharded actors on several hosts in one process.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { sharded } from "../actors/options/sharded-options.ts";
import type { App } from "../host/app.ts";
import { eventually, TestApps } from "../host/cluster-kit.test.ts";

class Counter extends Actor<{ count: number }> {
  static options = { placement: sharded({ shards: 20, rebalance: "200ms", relativeLimit: 1 }) };
  initial() {
    return { count: 0 };
  }
  add() {
    return ++this.state.count;
  }
}

const ids = Array.from({ length: 200 }, (_, i) => `id-${i}`);
const activeOn = (app: App): number => app.host.types()[0]?.active ?? 0;

describe("sharded actors", () => {
  it("sharded actors live at the home of their shard, and are reached from everywhere", async () => {
    await using apps = new TestApps();
    const [one, two] = [await apps.open([Counter]), await apps.open([Counter])];
    for (const id of ids) assert.equal(await one.actor(Counter, id).add(), 1);
    for (const id of ids) assert.equal(await two.actor(Counter, id).add(), 2);
    assert.equal(activeOn(one) + activeOn(two), ids.length);
    assert.ok(activeOn(one) > 0 && activeOn(two) > 0);
    const homes = await apps.store.shards.homes();
    assert.equal(homes.length, 20);
    assert.deepEqual([...new Set(homes.map(({ incarnation }) => incarnation))].length, 2);
  });

  it("sharded actors move with their shards to a host that joins, and no call fails meanwhile", async () => {
    await using apps = new TestApps();
    const one = await apps.open([Counter]);
    await Promise.all(ids.map((id) => one.actor(Counter, id).add()));
    let isOver = false;
    const calls = Promise.all(
      ids.slice(0, 50).map(async (id) => {
        let count = 1;
        while (!isOver) {
          assert.equal(await one.actor(Counter, id).add(), ++count);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }),
    );
    const two = await apps.open([Counter]);
    await eventually(async () => {
      const homes = await apps.store.shards.homes();
      const counts = [...Map.groupBy(homes, ({ incarnation }) => incarnation).values()].map(({ length }) => length);
      return counts.length === 2 && Math.abs(counts[0]! - counts[1]!) <= 1;
    }, "both have half of the shards");
    isOver = true;
    await calls;
    assert.ok(activeOn(two) > 0);
  });

  it("sharded actors go to other hosts when their host stops", async () => {
    await using apps = new TestApps();
    const [one, two] = [await apps.open([Counter]), await apps.open([Counter])];
    await Promise.all(ids.map((id) => one.actor(Counter, id).add()));
    // Calls that come while they move are buffered, and none fails.
    let isOver = false;
    let extra = 0;
    const calls = (async () => {
      for (; !isOver; extra++) await one.actor(Counter, `extra-${extra % 50}`).add();
    })();
    await two.stop();
    isOver = true;
    await calls;
    assert.ok(extra > 0);
    const counts = await Promise.all(ids.map((id) => one.actor(Counter, id).add()));
    assert.deepEqual(new Set(counts), new Set([2]));
  });
});
