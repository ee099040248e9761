import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor, isLimpetError, LimpetError } from "../index.ts";
import type { Commit, CommitOutcome, Store } from "../ports/store/store.ts";
import { MemoryStore, type TestApp, testLimpet } from "../testing.ts";

class Counter extends Actor<{ n: number; log?: Map<string, number[]> }> {
  initial() {
    return { n: 0 };
  }
  inc(by = 1) {
    this.state.n += by;
    return this.state.n;
  }
  read() {
    return this.state.n;
  }
  incAndThrow() {
    this.state.n += 100;
    this.state.log = new Map([["x", [1]]]);
    throw new Error("no");
  }
  incBadly() {
    this.state.n += 100;
    (this.state as { f?: unknown }).f = () => 1;
  }
  forget() {
    this.clear();
    return this.state.n;
  }
}

/** A store whose commits can be held, lost on the way there, or lost on the way back. */
class Unreliable extends MemoryStore {
  readonly commits: Commit[][] = [];
  takes = 0;
  before: (() => Promise<void> | void) | undefined;
  after: (() => Promise<void> | void) | undefined;

  override async take(...args: Parameters<Store["take"]>) {
    this.takes++;
    await this.before?.();
    return super.take(...args);
  }

  override async commit(batch: readonly Commit[]): Promise<CommitOutcome[]> {
    this.commits.push([...batch]);
    await this.before?.();
    const outcomes = await super.commit(batch);
    await this.after?.();
    return outcomes;
  }
}

/** The outcome of a call while this much time passes. */
async function after<T>(time: string, app: TestApp, call: Promise<T>): Promise<T> {
  await app.advance(time);
  return call;
}

const unavailable = (): never => {
  throw new LimpetError("STORE_UNAVAILABLE", "down");
};
const lost = (): never => {
  throw new LimpetError("COMMIT_UNKNOWN", "connection lost");
};

describe("a turn", () => {
  it("a turn is committed before its reply leaves", async () => {
    const store = new Unreliable();
    await using app = await testLimpet({ actors: [Counter], stateStore: store });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await app.actor(Counter, "a").read();
    store.before = () => held;
    let replied = false;
    const call = app
      .actor(Counter, "a")
      .inc()
      .then(() => {
        replied = true;
      });
    await app.advance("1s");
    assert.equal(replied, false);
    release();
    await call;
    assert.equal((await store.find({ namespace: "default", type: "Counter", id: "a" }))?.version, 1);
  });

  it("a turn that throws, or changes the state to something not storable, leaves the last committed state", async () => {
    await using app = await testLimpet({ actors: [Counter] });
    const counter = app.actor(Counter, "a");
    await counter.inc();
    await assert.rejects(counter.incAndThrow(), { message: "no" });
    assert.equal(await counter.read(), 1);
    await assert.rejects(counter.incBadly(), { code: "STATE_INVALID", message: /^state\.f \(a function\)/ });
    assert.equal(await counter.inc(), 2);
  });

  it("a turn that only reads writes nothing, and an actor without state never uses the store", async () => {
    class Echo extends Actor {
      say(text: string) {
        return text;
      }
      look() {
        return this.state;
      }
    }
    const store = new Unreliable();
    await using app = await testLimpet({ actors: [Counter, Echo], stateStore: store });
    await app.actor(Counter, "a").read();
    await app.actor(Echo, "e").say("hi");
    assert.equal(store.takes, 1);
    assert.equal(store.commits.length, 0);
    await assert.rejects(app.actor(Echo, "e").look(), { code: "STATE_MISSING" });
  });

  it("turns of different actors that end at the same moment share a transaction", async () => {
    const store = new Unreliable();
    await using app = await testLimpet({ actors: [Counter], stateStore: store });
    await Promise.all(Array.from({ length: 100 }, (_, i) => app.actor(Counter, `c${i}`).inc()));
    assert.ok(store.commits.length <= 2, `${store.commits.length} transactions`);
    assert.ok(store.takes <= 2, `${store.takes} takes`);
  });

  it("a turn is not delayed by a slow turn of another actor", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    class Slow extends Actor<{ n: number }> {
      initial() {
        return { n: 0 };
      }
      async go() {
        this.state.n++;
        await held;
        return this.state.n;
      }
    }
    await using app = await testLimpet({ actors: [Counter, Slow] });
    const slow = app.actor(Slow, "s").go();
    for (let i = 1; i <= 20; i++) assert.equal(await app.actor(Counter, "c").inc(), i);
    release();
    assert.equal(await slow, 1);
  });

  it("a turn can clear the stored state; the next activation starts from nothing, with a higher epoch", async () => {
    await using app = await testLimpet({ actors: [Counter] });
    const counter = app.actor(Counter, "a");
    await counter.inc(5);
    const find = () => app.store.find({ namespace: "default", type: "Counter", id: "a" });
    const before = await find();
    assert.equal(await counter.forget(), 0);
    assert.equal(await counter.read(), 0);
    await app.advance("1h");
    assert.equal(await counter.inc(), 1);
    const row = await find();
    assert.ok(row!.epoch > before!.epoch);
    assert.equal(row?.version, 3);
  });
});

describe("a stale activation", () => {
  it("a stale activation cannot commit: its caller gets a retryable error, and its successor loses nothing", async () => {
    const store = new MemoryStore();
    await using one = await testLimpet({ actors: [Counter], stateStore: store });
    await using two = await testLimpet({ actors: [Counter], stateStore: store });
    await one.actor(Counter, "a").inc();
    await two.actor(Counter, "a").inc();
    await assert.rejects(one.actor(Counter, "a").inc(), { code: "FENCED", retry: "now" });
    assert.equal(await after("10ms", one, one.actor(Counter, "a").inc()), 3);
    await assert.rejects(two.actor(Counter, "a").forget(), { code: "FENCED" });
    assert.equal(await after("10ms", two, two.actor(Counter, "a").read()), 3);
  });

  it("a stale activation runs no more hooks or timers; the calls behind it reach the next activation", async () => {
    const events: string[] = [];
    class Watched extends Counter {
      static options = { name: "Counter" };
      override onActivate() {
        events.push("activate");
        this.timers.set("t", { every: "1s" }, () => events.push("tick"));
      }
      override onDeactivate() {
        events.push("deactivate");
      }
    }
    const store = new MemoryStore();
    await using one = await testLimpet({ actors: [Watched], stateStore: store });
    await using two = await testLimpet({ actors: [Counter], stateStore: store });
    await one.actor(Watched, "a").inc();
    await two.actor(Counter, "a").inc();
    const sent = Promise.allSettled([1, 2, 3].map(() => one.actor(Watched, "a").inc()));
    const calls = await after("10ms", one, sent);
    assert.deepEqual(
      calls.map((call) => (call.status === "fulfilled" ? call.value : (call.reason as LimpetError).code)),
      ["FENCED", 3, 4],
    );
    assert.deepEqual(events, ["activate", "activate"]);
  });

  it("increments of a stale activation and its successor add up, none is lost or counted twice", async () => {
    const store = new MemoryStore();
    await using one = await testLimpet({ actors: [Counter], stateStore: store });
    await using two = await testLimpet({ actors: [Counter], stateStore: store });
    const load = async (app: typeof one): Promise<void> => {
      for (let done = 0; done < 500; ) {
        try {
          await app.actor(Counter, "a").inc();
          done++;
        } catch (error) {
          assert.ok(isLimpetError(error, "FENCED"));
        }
      }
    };
    const loads = Promise.all([load(one), load(two), load(one), load(two)]);
    let done = false;
    void loads.then(() => {
      done = true;
    });
    while (!done) await Promise.all([one.advance("5ms"), two.advance("3ms")]);
    await loads;
    await using three = await testLimpet({ actors: [Counter], stateStore: store });
    assert.equal(await three.actor(Counter, "a").read(), 2_000);
  });
});

describe("a failing store", () => {
  it("a store that failed before it applied a commit is retried, and the turn succeeds once it is back", async () => {
    const store = new Unreliable();
    await using app = await testLimpet({ actors: [Counter], stateStore: store });
    await app.actor(Counter, "a").inc();
    store.before = unavailable;
    const call = app.actor(Counter, "a").inc();
    await app.advance("3s");
    store.before = undefined;
    await app.advance("2s");
    assert.equal(await call, 2);
  });

  it("a store that lost its answer after a commit is asked by commit id: the turn counts once", async () => {
    const store = new Unreliable();
    await using app = await testLimpet({ actors: [Counter], stateStore: store });
    await app.actor(Counter, "a").read();
    store.after = lost;
    const call = app.actor(Counter, "a").inc();
    await app.advance("3s");
    store.after = undefined;
    await app.advance("2s");
    assert.equal(await call, 1);
    assert.ok(store.commits.length > 1);
    assert.equal(new Set(store.commits.flat().map(({ id }) => id)).size, 1);
    assert.equal(await app.actor(Counter, "a").inc(), 2);
  });

  it("a store that fails for too long gives an error that states whether the turn may have been applied", async () => {
    const store = new Unreliable();
    await using app = await testLimpet({ actors: [Counter], stateStore: store, storeTimeout: "5s" });
    await app.actor(Counter, "a").inc();
    await app.actor(Counter, "b").inc();

    store.before = unavailable;
    const surely = assert.rejects(app.actor(Counter, "a").inc(), { code: "STORE_UNAVAILABLE", retry: "later" });
    await app.advance("7s");
    await surely;
    store.before = undefined;
    await app.advance("2s");
    assert.equal(await app.actor(Counter, "a").read(), 1);

    store.after = lost;
    const maybe = assert.rejects(app.actor(Counter, "b").inc(), { code: "COMMIT_UNKNOWN", retry: "unknown" });
    await app.advance("7s");
    await maybe;
    store.after = undefined;
    await app.advance("2s");
    assert.equal(await app.actor(Counter, "b").read(), 2, "it had been committed, and is read back");
  });

  it("one bad commit in a batch fails alone", async () => {
    const store = new Unreliable();
    await using app = await testLimpet({ actors: [Counter], stateStore: store });
    await Promise.all(["a", "b", "c"].map((id) => app.actor(Counter, id).read()));
    const bad = new LimpetError("STATE_INVALID", "the store cannot hold this");
    store.before = () => {
      const batch = store.commits.at(-1)!;
      if (batch.some(({ write }) => write.kind === "whole" && write.data.includes("13"))) throw bad;
    };
    const results = await Promise.allSettled([
      app.actor(Counter, "a").inc(1),
      app.actor(Counter, "b").inc(13),
      app.actor(Counter, "c").inc(2),
    ]);
    assert.deepEqual(
      results.map((result) => (result.status === "fulfilled" ? result.value : result.reason)),
      [1, bad, 2],
    );
    store.before = undefined;
    assert.equal(await app.actor(Counter, "b").read(), 0);
  });

  it("a store that fails while an actor is read fails the waiting calls, and the next call retries", async () => {
    const store = new Unreliable();
    await using app = await testLimpet({ actors: [Counter], stateStore: store, storeTimeout: "1s" });
    store.before = unavailable;
    const calls = Promise.allSettled([app.actor(Counter, "a").inc(), app.actor(Counter, "a").inc()]);
    await app.advance("4s");
    for (const call of await calls) {
      assert.ok(call.status === "rejected" && isLimpetError(call.reason, "STORE_UNAVAILABLE"));
    }
    store.before = undefined;
    assert.equal(await app.actor(Counter, "a").inc(), 1);
  });
});
