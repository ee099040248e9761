// Hand-off of a shard: turns end, or are cut off when they take too long, and calls that come meanwhile wait
// for the next home.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { sharded } from "../actors/options/sharded-options.ts";
import type { App } from "../host/app.ts";
import { eventually, TestApps } from "../host/cluster-kit.test.ts";
import { named, slowApps, slowlyNamed } from "./shard-kit.test.ts";

/** State inside actors, which a test can block. */
const inside = { begun: 0, ended: 0, goOn: () => {} };

class Slow extends Actor<{ count: number }> {
  static options: object = { placement: sharded({ shards: 4, strategy: "external", handOff: "5m" }) };
  initial() {
    return { count: 0 };
  }
  add() {
    return ++this.state.count;
  }
  async addSlowly() {
    this.state.count++;
    inside.begun++;
    await new Promise<void>((resolve) => {
      inside.goOn = resolve;
    });
    inside.ended++;
    return this.state.count;
  }
}

class Hasty extends Slow {
  static override options = { placement: sharded({ shards: 4, strategy: "external", handOff: "700ms" }) };
}

class Clinging extends Actor<{ count: number }> {
  static options = { placement: sharded({ shards: 4, strategy: "external", handOff: "300ms" }) };
  initial() {
    return { count: 0 };
  }
  add() {
    return ++this.state.count;
  }
  override onDeactivate() {
    return new Promise<void>(() => {});
  }
}

const activeOn = (app: App, type: string): number => app.host.types().find((one) => one.type === type)?.active ?? 0;

/** Two hosts, of which the first is the home of every shard. */
async function open(apps: TestApps, type: typeof Slow | typeof Clinging, as = named): Promise<[App, App]> {
  const one = await apps.open([type], as("one"));
  await one.shards(type).allocate({ 0: "one", 1: "one", 2: "one", 3: "one" });
  await one.actor<Slow>(type.name, "a").add();
  return [one, await apps.open([type], as("two"))];
}

const moveTo = async (app: App, type: typeof Slow | typeof Clinging, host: string): Promise<void> => {
  const shards = app.shards(type);
  await shards.allocate({ [shards.shardOf("a")]: host });
};

const isKept = (app: App, type: typeof Slow) => async () => (await app.shards(type).view()).moving.length > 0;

describe("the hand-off of a shard", () => {
  it("actors that were used lately are in memory at the new home before their first call", async () => {
    await using apps = slowApps();
    const [one, two] = await open(apps, Slow, slowlyNamed);
    const ids = Array.from({ length: 50 }, (_, i) => `id-${i}`);
    await Promise.all(ids.map((id) => one.actor(Slow, id).add()));
    await one.shards(Slow).allocate({ 0: "two", 1: "two", 2: "two", 3: "two" });
    await eventually(async () => activeOn(two, "Slow") === ids.length + 1, "all of them are there");
    assert.equal(activeOn(one, "Slow"), 0);
    assert.deepEqual(new Set(await Promise.all(ids.map((id) => two.actor(Slow, id).add()))), new Set([2]));
  });

  it("a new home takes the actors of the shard once, while the move is still being persisted", async () => {
    await using apps = slowApps();
    const [one, two] = await open(apps, Slow, slowlyNamed);
    await one.actor(Slow, "a").add();
    const { store } = apps;
    const taken: string[] = [];
    const take = store.take.bind(store);
    store.take = (batch) => {
      taken.push(...batch.map(({ id }) => id));
      return take(batch);
    };
    const note = store.shards.noteHomes.bind(store.shards);
    store.shards.noteHomes = async (term, changes) => {
      // The move is persisted only after the actor was taken and called.
      if (calls.length === 0 && changes.some(({ type }) => type === "Slow")) {
        await eventually(async () => taken.length > 0, "it is taken ahead");
        calls.push(one.actor(Slow, "a").add(), two.actor(Slow, "a").add());
      }
      return note(term, changes);
    };
    const calls: Promise<number>[] = [];
    await moveTo(one, Slow, "two");
    await eventually(async () => activeOn(two, "Slow") === 1, "it is there");
    assert.deepEqual((await Promise.all(calls)).sort(), [3, 4]);
    assert.deepEqual(taken, ["a"]);
  });

  it("a shard waits for a turn that ends in time and answers its caller; newer calls run after it, elsewhere", async () => {
    await using apps = new TestApps();
    const [one, two] = await open(apps, Slow);
    const begun = inside.begun;
    const slow = one.actor(Slow, "a").addSlowly();
    await eventually(async () => inside.begun > begun, "it runs");
    await moveTo(one, Slow, "two");
    await eventually(isKept(one, Slow), "it is about to move");
    const after = Promise.all([one.actor(Slow, "a").add(), two.actor(Slow, "a").add()]);
    inside.goOn();
    assert.equal(await slow, 2);
    assert.deepEqual((await after).sort(), [3, 4]);
    assert.deepEqual([activeOn(one, "Slow"), activeOn(two, "Slow")], [0, 1]);
  });

  it("a turn that takes too long is cut off, and none of its changes are kept", async () => {
    await using apps = new TestApps();
    const [one, two] = await open(apps, Hasty);
    const { begun, ended } = inside;
    const slow = one.actor(Hasty, "a").addSlowly();
    slow.catch(() => {});
    await eventually(async () => inside.begun > begun, "it runs");
    await moveTo(one, Hasty, "two");
    await assert.rejects(slow, { code: "CALL_CANCELLED" });
    assert.equal(await one.actor(Hasty, "a").add(), 2);
    assert.equal(await two.actor(Hasty, "a").add(), 3);
    // Its code still runs at the former home, where its changes are void.
    inside.goOn();
    await eventually(async () => inside.ended > ended, "it has ended");
    assert.equal(await one.actor(Hasty, "a").add(), 4);
    assert.deepEqual([activeOn(one, "Hasty"), activeOn(two, "Hasty")], [0, 1]);
    const { moved } = await one.shards(Hasty).view();
    assert.ok(moved.some(({ forced }) => forced));
  });

  it("a shard does not wait for ever for an actor that does not stop", async () => {
    await using apps = new TestApps();
    const [one, two] = await open(apps, Clinging);
    await moveTo(one, Clinging, "two");
    await eventually(async () => activeOn(one, "Clinging") === 0, "it is gone");
    assert.equal(await one.actor(Clinging, "a").add(), 2);
    assert.equal(activeOn(two, "Clinging"), 1);
  });
});
