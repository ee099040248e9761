// Remembered actors in a process that is alone, and in one that crashes. Several hosts are in
// remembered-hosts.test.ts.
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { Actor } from "../../actors/actor.ts";
import { sharded } from "../../actors/options/sharded-options.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { testLimpet } from "../../testing.ts";

const SHARDS = 4;
let events: string[] = [];
let broken = new Set<string>();
/** Actors that find nothing left to do when they are activated. */
let finished = new Set<string>();
/** Actors that passivate when they are deactivated, for any reason. */
let leavingForGood = new Set<string>();

class Guard extends Actor<{ n: number }> {
  static options = { placement: sharded({ shards: SHARDS, remember: true, restartAfter: "10s" }), idleTimeout: "1m" };
  initial() {
    return { n: 0 };
  }
  override onActivate() {
    events.push(`+${this.id}`);
    if (broken.has(this.id)) throw new RangeError("not today");
    if (finished.has(this.id)) this.passivate();
  }
  override onDeactivate(reason: string) {
    events.push(`-${this.id} ${reason}`);
    if (leavingForGood.has(this.id)) this.passivate();
  }
  inc() {
    return ++this.state.n;
  }
  fail() {
    throw new RangeError("no");
  }
  leave() {
    this.deactivate();
  }
  done() {
    this.passivate();
    return ++this.state.n;
  }
  async remind() {
    await this.reminders.set("end", { due: "2m" });
  }
  override onReminder() {
    this.passivate();
  }
}

class Other extends Actor {
  static options = { idleTimeout: "1m" };
  ping() {
    return "pong";
  }
}

const remembered = async ({ shards }: MemoryStore, namespace = "default"): Promise<string[]> => {
  const key = (shard: number) => ({ namespace, type: "Guard", shard });
  const all = await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) => shards.remembered(key(shard), undefined, 1_000)),
  );
  return all.flat().sort();
};

async function open(store = new MemoryStore(), more: { maxResident?: number } = {}) {
  const app = await testLimpet({ actors: [Guard, Other], stateStore: store, ...more });
  return { app, store, [Symbol.asyncDispose]: () => app.stop() };
}

beforeEach(() => {
  events = [];
  broken = new Set();
  finished = new Set();
  leavingForGood = new Set();
});

describe("a remembered actor", () => {
  it("an actor is remembered before its first call is answered, also if that fails", async () => {
    await using it = await open();
    assert.equal(await it.app.actor(Guard, "a").inc(), 1);
    assert.deepEqual(await remembered(it.store), ["a"]);
    await assert.rejects(it.app.actor(Guard, "b").fail(), RangeError);
    assert.deepEqual(await remembered(it.store), ["a", "b"]);
    await it.app.actor(Other, "o").ping();
    assert.deepEqual(await remembered(it.store), ["a", "b"]);
  });

  it("a remembered actor is activated after a crash, without a call, and so is its state", async () => {
    await using it = await open();
    const ids = Array.from({ length: 50 }, (_, i) => `id-${i}`);
    for (const id of ids) await it.app.actor(Guard, id).inc();
    events = [];
    await it.app.crash();
    await it.app.advance("5s");
    assert.deepEqual(events.toSorted(), ids.map((id) => `+${id}`).sort());
    for (const id of ids) assert.equal(await it.app.actor(Guard, id).inc(), 2);
    assert.equal(events.length, ids.length, "they were there");
    assert.match(it.app.metrics(), /limpet_remembered_starts_total\{.*outcome="success",type="Guard"\} 50\n/);
    assert.match(it.app.metrics(), /limpet_remembered_shards_waiting\{.*type="Guard"\} 0\n/);
  });

  it("a remembered actor is activated when its process restarts in good order", async () => {
    await using it = await open();
    await it.app.actor(Guard, "a").inc();
    await it.app.restart();
    await it.app.advance("5s");
    assert.deepEqual(events, ["+a", "-a stop", "+a"]);
  });

  it("a remembered actor that deactivates itself comes back after a pause, or with its next call", async () => {
    await using it = await open();
    await it.app.actor(Guard, "a").leave();
    await it.app.advance("9s");
    assert.deepEqual(events, ["+a", "-a explicit"]);
    await it.app.advance("2s");
    assert.deepEqual(events, ["+a", "-a explicit", "+a"]);
    await it.app.actor(Guard, "a").leave();
    await it.app.actor(Guard, "a").inc();
    events = [];
    await it.app.advance("1m");
    assert.deepEqual(events, [], "it is there already");
  });

  it("a remembered actor whose onActivate throws is retried after a pause, until it succeeds", async () => {
    await using it = await open();
    broken.add("a");
    await assert.rejects(it.app.actor(Guard, "a").inc(), RangeError);
    await it.app.advance("35s");
    assert.deepEqual(events, ["+a", "+a", "+a"]);
    broken.clear();
    await it.app.advance("1m");
    assert.deepEqual(events, ["+a", "+a", "+a", "+a"]);
    assert.equal(await it.app.actor(Guard, "a").inc(), 1);
  });

  it("a remembered actor that passivates is forgotten for good, until its next call", async () => {
    await using it = await open();
    await it.app.actor(Guard, "a").inc();
    assert.equal(await it.app.actor(Guard, "a").done(), 2);
    assert.deepEqual(await remembered(it.store), [], "when it has answered");
    await it.app.advance("5m");
    await it.app.crash();
    await it.app.advance("5m");
    assert.deepEqual(events, ["+a", "-a explicit"]);
    assert.equal(await it.app.actor(Guard, "a").inc(), 3);
    assert.deepEqual(await remembered(it.store), ["a"]);
  });

  it("a remembered actor that passivates in the turn of a reminder is forgotten", async () => {
    await using it = await open();
    await it.app.actor(Guard, "a").remind();
    await it.app.advance("1m");
    assert.deepEqual([events, await remembered(it.store)], [["+a"], ["a"]]);
    await it.app.advance("2m");
    assert.deepEqual([events, await remembered(it.store)], [["+a", "-a explicit"], []]);
    await it.app.crash();
    await it.app.advance("5m");
    assert.equal(events.length, 2);
  });

  it("a remembered actor that passivates as soon as it is activated, without a call, is forgotten", async () => {
    await using it = await open();
    for (const id of ["a", "b"]) await it.app.actor(Guard, id).inc();
    finished.add("a");
    events = [];
    await it.app.crash();
    await it.app.advance("5m");
    assert.deepEqual(await remembered(it.store), ["b"]);
    assert.deepEqual(events.toSorted(), ["+a", "+b", "-a explicit"]);
    assert.equal(await it.app.actor(Guard, "a").inc(), 2);
  });

  it("a remembered actor that passivates in onDeactivate is forgotten, also when its process stops", async () => {
    const store = new MemoryStore();
    {
      await using it = await open(store);
      for (const id of ["a", "b", "c"]) await it.app.actor(Guard, id).inc();
      leavingForGood = new Set(["a", "c"]);
      await it.app.actor(Guard, "a").leave();
      await it.app.advance("5m");
      assert.deepEqual(await remembered(store), ["b", "c"]);
    }
    assert.deepEqual(await remembered(store), ["b"]);
  });

  it("a remembered actor that passivates while calls wait for it is forgotten, and remembered again by its next activation", async () => {
    await using it = await open();
    const calls = [it.app.actor(Guard, "a").done(), it.app.actor(Guard, "a").inc(), it.app.actor(Guard, "a").inc()];
    assert.deepEqual(await Promise.all(calls), [1, 2, 3]);
    assert.deepEqual(events, ["+a", "-a explicit", "+a"]);
    assert.deepEqual(await remembered(it.store), ["a"]);
  });

  it("a call in which an actor passivates is answered only when the actor is forgotten", async () => {
    const store = new MemoryStore();
    await using it = await open(store);
    await it.app.actor(Guard, "a").inc();
    const gate = Promise.withResolvers<void>();
    const { remember } = store.shards;
    store.shards.remember = async (...args) => {
      await gate.promise;
      return remember.apply(store.shards, args);
    };
    let isAnswered = false;
    const call = it.app.actor(Guard, "a").done();
    void call.then(() => {
      isAnswered = true;
    });
    const behind = it.app.actor(Guard, "a").inc();
    await it.app.advance("1s");
    assert.equal(isAnswered, false);
    gate.resolve();
    assert.deepEqual(await Promise.all([call, behind]), [2, 3]);
  });

  it("an actor that cannot be forgotten goes on, and its caller learns that the outcome is unknown", async () => {
    const store = new MemoryStore();
    await using it = await open(store);
    await it.app.actor(Guard, "a").inc();
    const { remember } = store.shards;
    store.shards.remember = async () => {
      throw new LimpetError("STORE_UNAVAILABLE", "down");
    };
    const call = assert.rejects(it.app.actor(Guard, "a").done(), { code: "COMMIT_UNKNOWN" });
    await it.app.advance("29s");
    await call;
    store.shards.remember = remember;
    events = [];
    await it.app.advance("30s");
    assert.deepEqual(events, ["+a"]);
    assert.deepEqual(await remembered(it.store), ["a"]);
    assert.equal(await it.app.actor(Guard, "a").inc(), 3, "the effect of its turn is stored");
  });

  it("an actor that cannot be remembered does not begin, and its callers get the error", async () => {
    const store = new MemoryStore();
    await using it = await open(store);
    const { remember } = store.shards;
    store.shards.remember = async () => {
      throw new LimpetError("STORE_UNAVAILABLE", "down");
    };
    const call = assert.rejects(it.app.actor(Guard, "a").inc(), { code: "STORE_UNAVAILABLE" });
    await it.app.advance("29s");
    await call;
    assert.deepEqual(events, []);
    store.shards.remember = remember;
    const again = it.app.actor(Guard, "a").inc();
    await it.app.advance("5s");
    assert.equal(await again, 1);
  });

  it("an actor that may or may not be remembered is activated later, as it would be after a crash", async () => {
    const store = new MemoryStore();
    await using it = await open(store);
    const { remember } = store.shards;
    store.shards.remember = async (...args) => {
      await remember.apply(store.shards, args);
      throw new LimpetError("STORE_UNAVAILABLE", "the answer was lost");
    };
    const call = assert.rejects(it.app.actor(Guard, "a").inc(), { code: "STORE_UNAVAILABLE" });
    await it.app.advance("29s");
    await call;
    assert.deepEqual(events, []);
    store.shards.remember = remember;
    await it.app.advance("30s");
    assert.deepEqual(events, ["+a"]);
  });

  it("a remembered actor whose state cannot be read is retried after a pause", async () => {
    const store = new MemoryStore();
    await using it = await open(store);
    const take = store.take.bind(store);
    store.take = async () => {
      throw new LimpetError("STORE_UNAVAILABLE", "down");
    };
    const call = assert.rejects(it.app.actor(Guard, "a").inc(), { code: "STORE_UNAVAILABLE" });
    await it.app.advance("29s");
    await call;
    store.take = take;
    await it.app.advance("30s");
    assert.deepEqual(events, ["+a"]);
  });

  it("a process whose class has another number of shards does not start", async () => {
    const store = new MemoryStore();
    {
      await using before = await open(store);
      await before.app.actor(Guard, "a").inc();
    }
    class Otherwise extends Guard {
      static override options = {
        name: "Guard",
        placement: sharded({ shards: SHARDS + 1, remember: true }),
        idleTimeout: "1m",
      };
    }
    const opened = testLimpet({ actors: [Otherwise], stateStore: store });
    await assert.rejects(opened, {
      code: "OPTION_INVALID",
      message: /Guard has 4 shards by hash, but this host has 5/,
    });
  });

  it("a remembered actor of a class that is added later is activated then", async () => {
    const store = new MemoryStore();
    {
      await using before = await open(store);
      await before.app.actor(Guard, "a").inc();
    }
    events = [];
    await using app = await testLimpet({ actors: [Other], stateStore: store });
    await app.advance("1m");
    assert.deepEqual(events, []);
    await app.add(Guard);
    await app.advance("5s");
    assert.deepEqual(events, ["+a"]);
  });

  it("an actor is retried soon when the store rejects its home, and the call is not lost", async () => {
    const store = new MemoryStore();
    await using it = await open(store);
    const { remember } = store.shards;
    let refusals = 3;
    store.shards.remember = async (home, changes) =>
      refusals-- > 0 ? changes.map(() => false) : remember.call(store.shards, home, changes);
    const calls = [it.app.actor(Guard, "a").inc(), it.app.actor(Guard, "a").inc()];
    await it.app.advance("2s");
    assert.deepEqual(await Promise.all(calls), [1, 2]);
    assert.deepEqual(events, ["+a"], "nothing of it ran before");
  });
});

describe("the explanation of a remembered actor that has stopped", () => {
  it("an explanation names the time of the next start", async () => {
    await using it = await open();
    await it.app.actor(Guard, "a").inc();
    await it.app.actor(Guard, "a").leave();
    await it.app.advance("3s");
    const summary = async () => (await it.app.host.explain("Guard", "a")).summary;
    assert.equal(
      await summary(),
      "Guard/a is remembered and has stopped; it is started again in 7s, or by its next call",
    );
    await it.app.advance("8s");
    assert.match(await summary(), /^Guard\/a is in memory and idle/);
    await it.app.actor(Guard, "a").done();
    await it.app.advance("1s");
    assert.equal(await summary(), "Guard/a is not in memory; the next call brings it back from the store");
  });

  it("an explanation names the wait for room when there is none", async () => {
    await using it = await open(new MemoryStore(), { maxResident: 2 });
    await it.app.actor(Guard, "a").inc();
    await it.app.actor(Guard, "a").leave();
    for (const id of ["o-1", "o-2"]) await it.app.actor(Other, id).ping();
    await it.app.advance("15s");
    const { summary } = await it.app.host.explain("Guard", "a");
    assert.match(summary, /it is started again when its turn comes, or by its next call$/);
  });
});

describe("remembered actors that do not all fit into memory", () => {
  it("remembered actors wait until there is room, and give way to called ones", async () => {
    const store = new MemoryStore();
    {
      await using before = await open(store);
      for (let i = 0; i < 20; i++) await before.app.actor(Guard, `id-${i}`).inc();
    }
    await using it = await open(store, { maxResident: 10 });
    await it.app.advance("1m");
    const active = (type: string) => it.app.host.types().find((one) => one.type === type)!.active;
    assert.equal(active("Guard"), 10);
    for (let i = 0; i < 5; i++) assert.equal(await it.app.actor(Other, `o-${i}`).ping(), "pong");
    await it.app.advance("1s");
    assert.deepEqual(
      [active("Guard"), active("Other")],
      [9, 1],
      "one of them, as long as there are others that may go",
    );
    assert.equal((await remembered(it.store)).length, 20, "nobody is forgotten");
    // Other actors are idle after a while and leave; then there is room again.
    await it.app.advance("3m");
    assert.deepEqual([active("Guard"), active("Other")], [10, 0]);
  });
});
