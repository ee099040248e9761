import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { isLimpetError, LimpetError } from "../errors.ts";
import { KeyedBatcher } from "./keyed-batcher.ts";

const unavailable = (): LimpetError => new LimpetError("STORE_UNAVAILABLE", "no answer");
const unknown = (): LimpetError => new LimpetError("COMMIT_UNKNOWN", "no answer");

/** A store that answers each request with the request itself, when and how the test requires. */
class TestStore {
  readonly clock = new VirtualClock();
  readonly sent: (readonly string[])[] = [];
  answer: (batch: readonly string[]) => Promise<readonly string[]> = async (batch) => batch;
  readonly batcher: KeyedBatcher<string, string>;

  constructor(
    keyOf?: (request: string) => string,
    width: { lanes?: number; largest?: number; late?: "COMMIT_UNKNOWN" } = {},
  ) {
    this.batcher = new KeyedBatcher<string, string>({
      clock: this.clock,
      ...width,
      send: (batch) => {
        this.sent.push(batch);
        return this.answer(batch);
      },
      ...(keyOf === undefined ? {} : { keyOf }),
    });
  }

  ask(request: string, patienceMs = 1_000): Promise<string> {
    const asked = this.batcher.ask(request, this.clock.monotonic() + patienceMs);
    asked.catch(() => {});
    return asked;
  }
}

describe("batches of requests", () => {
  it("requests of the same moment form one batch, and each gets its own answer", async () => {
    const store = new TestStore();
    const answers = await Promise.all(["a", "b", "c"].map((request) => store.ask(request)));
    assert.deepEqual([answers, store.sent], [["a", "b", "c"], [["a", "b", "c"]]]);
  });

  it("a batcher that ends rejects requests whose attempt failed, and sends each of the others once", async () => {
    const store = new TestStore(undefined, { largest: 1 });
    const attempt = Promise.withResolvers<void>();
    store.answer = async () => {
      attempt.resolve();
      throw unavailable();
    };
    const [tried, untried] = [store.ask("a", 60_000), store.ask("b", 60_000)];
    await attempt.promise;
    await store.clock.advance(0);
    store.batcher.end();
    await assert.rejects(tried, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
    await assert.rejects(untried, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
    await store.clock.advance(60_000);
    assert.deepEqual(store.sent, [["a"], ["b"]]);
  });

  it("every request to a silent store is rejected when its time ends, and the batcher continues when the store answers", async () => {
    const store = new TestStore(undefined, { late: "COMMIT_UNKNOWN" });
    const silence = Promise.withResolvers<readonly string[]>();
    store.answer = () => silence.promise;
    const sent = store.ask("a");
    await store.clock.advance(400);
    const behind = store.ask("b");
    await store.clock.advance(600);
    await assert.rejects(sent, (error) => isLimpetError(error, "COMMIT_UNKNOWN"));
    assert.equal(await Promise.race([behind, "still waiting"]), "still waiting");
    await store.clock.advance(400);
    await assert.rejects(behind, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
    store.answer = async (batch) => batch;
    silence.resolve(["a"]);
    assert.equal(await store.ask("c"), "c");
  });

  it("the next batch gathers while one is in progress", async () => {
    const store = new TestStore();
    const going = Promise.withResolvers<readonly string[]>();
    store.answer = () => going.promise;
    const first = store.ask("a");
    await store.clock.advance(1);
    store.answer = async (batch) => batch;
    const others = ["b", "c"].map((request) => store.ask(request));
    await store.clock.advance(1);
    assert.deepEqual(store.sent, [["a"]]);
    going.resolve(["a"]);
    await Promise.all([first, ...others]);
    assert.deepEqual(store.sent, [["a"], ["b", "c"]]);
  });

  it("a request that follows a single one of its own key does not wait for others", async () => {
    const store = new TestStore((request) => request[0]!);
    await store.ask("a1");
    void store.ask("a2");
    assert.deepEqual(store.sent, [["a1"], ["a2"]]);
    await store.clock.advance(1);
    const others = ["b1", "c1"].map((request) => store.ask(request));
    assert.equal(store.sent.length, 2);
    await Promise.all(others);
    await Promise.all(["b2", "c2"].map((request) => store.ask(request)));
    assert.deepEqual(store.sent.slice(2), [
      ["b1", "c1"],
      ["b2", "c2"],
    ]);
  });

  it("a batch has a largest size", async () => {
    const store = new TestStore();
    const all = Array.from({ length: 2_500 }, (_, i) => `${i}`);
    assert.deepEqual(await Promise.all(all.map((request) => store.ask(request))), all);
    assert.deepEqual(
      store.sent.map(({ length }) => length),
      [1_000, 1_000, 500],
    );
  });

  it("a batch never has two requests of a key, and keeps their order", async () => {
    const store = new TestStore((request) => request[0]!);
    await Promise.all(["a1", "b1", "a2", "c1", "a3", "b2"].map((request) => store.ask(request)));
    assert.deepEqual(store.sent, [["a1", "b1", "c1"], ["a2", "b2"], ["a3"]]);
  });

  it("requests of a key keep their order also when the first one is retried", async () => {
    const store = new TestStore((request) => request[0]!);
    let failures = 2;
    store.answer = async (batch) => {
      if (failures-- > 0) throw unavailable();
      return batch;
    };
    const asked = ["a1", "b1", "a2"].map((request) => store.ask(request));
    await store.clock.advance(1_000);
    await Promise.all(asked);
    assert.deepEqual(store.sent, [["a1", "b1"], ["a1", "b1"], ["a1", "b1"], ["a2"]]);
  });

  it("unanswered requests are retried at growing pauses until the store answers", async () => {
    const store = new TestStore();
    const at: number[] = [];
    store.answer = async (batch) => {
      at.push(store.clock.monotonic());
      if (at.length < 6) throw at.length % 2 === 0 ? unknown() : unavailable();
      return batch;
    };
    const asked = store.ask("a", 10_000);
    await store.clock.advance(10_000);
    assert.equal(await asked, "a");
    assert.deepEqual(at, [0, 20, 60, 140, 300, 620]);
  });

  it("a request is rejected when its patience is over, and not before, and the others are retried further", async () => {
    const store = new TestStore();
    let isDown = true;
    store.answer = async (batch) => {
      if (isDown) throw unavailable();
      return batch;
    };
    const [short, long] = [store.ask("short", 500), store.ask("long", 60_000)];
    let gaveUpAt = 0;
    short.catch(() => {
      gaveUpAt = store.clock.monotonic();
    });
    await store.clock.advance(5_000);
    await assert.rejects(short, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
    assert.ok(gaveUpAt >= 500 && gaveUpAt < 1_000, `${gaveUpAt}`);
    isDown = false;
    await store.clock.advance(2_000);
    assert.equal(await long, "long");
    assert.deepEqual(store.sent.at(-1), ["long"]);
  });

  it("a request gets at least one attempt, however little patience it has", async () => {
    const store = new TestStore();
    assert.equal(await store.ask("a", -1_000), "a");
  });

  it("a request with an unanswered attempt is ambiguous, also when its last attempt failed for certain", async () => {
    for (const last of [unavailable, () => new LimpetError("STORE_INCOMPATIBLE", "too old")]) {
      const store = new TestStore();
      let attempts = 0;
      store.answer = async () => {
        throw attempts++ === 0 ? unknown() : last();
      };
      const asked = store.ask("a", 500);
      await store.clock.advance(5_000);
      await assert.rejects(asked, (error) => isLimpetError(error, "COMMIT_UNKNOWN"));
    }
  });

  it("a request that fails permanently does not fail the others", async () => {
    const store = new TestStore();
    store.answer = async (batch) => {
      if (batch.includes("bad")) throw new LimpetError("REMINDER_INVALID", "this one");
      return batch;
    };
    const [good, bad, other] = ["good", "bad", "other"].map((request) => store.ask(request));
    assert.deepEqual([await good, await other], ["good", "other"]);
    await assert.rejects(bad!, (error) => isLimpetError(error, "REMINDER_INVALID"));
    assert.deepEqual(store.sent, [["good", "bad", "other"], ["good"], ["bad"], ["other"]]);
    // Later requests form a batch again.
    await Promise.all([store.ask("x"), store.ask("y")]);
    assert.deepEqual(store.sent.at(-1), ["x", "y"]);
  });

  it("requests that are sent alone are retried with the same patience", async () => {
    const store = new TestStore();
    let failures = 2;
    store.answer = async (batch) => {
      if (batch.includes("bad")) throw new LimpetError("REMINDER_INVALID", "this one");
      if (failures-- > 0) throw unavailable();
      return batch;
    };
    const asked = ["good", "bad"].map((request) => store.ask(request));
    await store.clock.advance(1_000);
    assert.equal(await asked[0], "good");
  });

  it("a request is rejected when too many wait already", async () => {
    const store = new TestStore();
    store.answer = () => new Promise(() => {});
    for (let i = 0; i < 100_000; i++) void store.batcher.ask("a", 0);
    await assert.rejects(store.ask("one more"), (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
  });

  describe("batches with two lanes", () => {
    /** Batches are answered on demand of the test, by their number. */
    class SlowStore extends TestStore {
      readonly #answers: (() => void)[] = [];

      constructor(keyOf?: (request: string) => string) {
        super(keyOf, { lanes: 2, largest: 2 });
        this.answer = (batch) => new Promise((resolve) => this.#answers.push(() => resolve(batch)));
      }

      async answered(batch: number): Promise<void> {
        this.#answers[batch]!();
        await this.clock.advance(0);
      }
    }

    it("a second full batch is sent while one is in progress, and never a third", async () => {
      const store = new SlowStore();
      for (const request of ["a", "b", "c"]) store.ask(request);
      await store.clock.advance(0);
      assert.deepEqual(store.sent, [["a", "b"]]);
      for (const request of ["d", "e", "f"]) store.ask(request);
      await store.clock.advance(0);
      assert.deepEqual(store.sent.slice(1), [["c", "d"]]);
      await store.answered(1);
      assert.deepEqual(store.sent.slice(2), [["e", "f"]]);
    });

    it("gathered requests are sent when a batch is answered, however few they are", async () => {
      const store = new SlowStore();
      for (const request of ["a", "b", "c"]) store.ask(request);
      await store.clock.advance(0);
      await store.answered(0);
      assert.deepEqual(store.sent, [["a", "b"], ["c"]]);
    });

    it("two requests of the same key are never in progress at once", async () => {
      const store = new SlowStore((request) => request[0]!);
      for (const request of ["a1", "b1", "a2", "a3", "c1"]) store.ask(request);
      await store.clock.advance(0);
      assert.deepEqual(store.sent, [["a1", "b1"], ["c1"]]);
      await store.answered(1);
      assert.equal(store.sent.length, 2);
      await store.answered(0);
      await store.answered(2);
      assert.deepEqual(store.sent.slice(2), [["a2"], ["a3"]]);
    });
  });
});
