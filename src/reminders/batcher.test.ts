import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { Batcher } from "./batcher.ts";

const unavailable = (): LimpetError => new LimpetError("STORE_UNAVAILABLE", "nobody answers");
const unknown = (): LimpetError => new LimpetError("COMMIT_UNKNOWN", "no answer");

/** A store that answers each request with the request itself, when and how the test requires. */
class Desk {
  readonly clock = new VirtualClock();
  readonly sent: (readonly string[])[] = [];
  answer: (batch: readonly string[]) => Promise<readonly string[]> = async (batch) => batch;
  readonly batcher: Batcher<string, string>;

  constructor(
    keyOf?: (request: string) => string,
    width: { lanes?: number; largest?: number; late?: "COMMIT_UNKNOWN" } = {},
  ) {
    this.batcher = new Batcher<string, string>({
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
    const desk = new Desk();
    const answers = await Promise.all(["a", "b", "c"].map((request) => desk.ask(request)));
    assert.deepEqual([answers, desk.sent], [["a", "b", "c"], [["a", "b", "c"]]]);
  });

  it("a batcher that ends rejects requests whose attempt failed, and sends each of the others once", async () => {
    const desk = new Desk(undefined, { largest: 1 });
    const attempt = Promise.withResolvers<void>();
    desk.answer = async () => {
      attempt.resolve();
      throw unavailable();
    };
    const [tried, untried] = [desk.ask("a", 60_000), desk.ask("b", 60_000)];
    await attempt.promise;
    await desk.clock.advance(0);
    desk.batcher.end();
    await assert.rejects(tried, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
    await assert.rejects(untried, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
    await desk.clock.advance(60_000);
    assert.deepEqual(desk.sent, [["a"], ["b"]]);
  });

  it("every request to a silent store is rejected when its time ends, and the batcher continues when the store answers", async () => {
    const desk = new Desk(undefined, { late: "COMMIT_UNKNOWN" });
    const silence = Promise.withResolvers<readonly string[]>();
    desk.answer = () => silence.promise;
    const sent = desk.ask("a");
    await desk.clock.advance(400);
    const behind = desk.ask("b");
    await desk.clock.advance(600);
    await assert.rejects(sent, (error) => isLimpetError(error, "COMMIT_UNKNOWN"));
    assert.equal(await Promise.race([behind, "still waiting"]), "still waiting");
    await desk.clock.advance(400);
    await assert.rejects(behind, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
    desk.answer = async (batch) => batch;
    silence.resolve(["a"]);
    assert.equal(await desk.ask("c"), "c");
  });

  it("the next batch gathers while one is in progress", async () => {
    const desk = new Desk();
    const going = Promise.withResolvers<readonly string[]>();
    desk.answer = () => going.promise;
    const first = desk.ask("a");
    await desk.clock.advance(1);
    desk.answer = async (batch) => batch;
    const others = ["b", "c"].map((request) => desk.ask(request));
    await desk.clock.advance(1);
    assert.deepEqual(desk.sent, [["a"]]);
    going.resolve(["a"]);
    await Promise.all([first, ...others]);
    assert.deepEqual(desk.sent, [["a"], ["b", "c"]]);
  });

  it("a request that follows a single one of its own key does not wait for others", async () => {
    const desk = new Desk((request) => request[0]!);
    await desk.ask("a1");
    void desk.ask("a2");
    assert.deepEqual(desk.sent, [["a1"], ["a2"]]);
    await desk.clock.advance(1);
    const others = ["b1", "c1"].map((request) => desk.ask(request));
    assert.equal(desk.sent.length, 2);
    await Promise.all(others);
    await Promise.all(["b2", "c2"].map((request) => desk.ask(request)));
    assert.deepEqual(desk.sent.slice(2), [
      ["b1", "c1"],
      ["b2", "c2"],
    ]);
  });

  it("a batch has a largest size", async () => {
    const desk = new Desk();
    const all = Array.from({ length: 2_500 }, (_, i) => `${i}`);
    assert.deepEqual(await Promise.all(all.map((request) => desk.ask(request))), all);
    assert.deepEqual(
      desk.sent.map(({ length }) => length),
      [1_000, 1_000, 500],
    );
  });

  it("a batch never has two requests of a key, and keeps their order", async () => {
    const desk = new Desk((request) => request[0]!);
    await Promise.all(["a1", "b1", "a2", "c1", "a3", "b2"].map((request) => desk.ask(request)));
    assert.deepEqual(desk.sent, [["a1", "b1", "c1"], ["a2", "b2"], ["a3"]]);
  });

  it("requests of a key keep their order also when the first one is retried", async () => {
    const desk = new Desk((request) => request[0]!);
    let failures = 2;
    desk.answer = async (batch) => {
      if (failures-- > 0) throw unavailable();
      return batch;
    };
    const asked = ["a1", "b1", "a2"].map((request) => desk.ask(request));
    await desk.clock.advance(1_000);
    await Promise.all(asked);
    assert.deepEqual(desk.sent, [["a1", "b1"], ["a1", "b1"], ["a1", "b1"], ["a2"]]);
  });

  it("unanswered requests are retried at growing pauses until the store answers", async () => {
    const desk = new Desk();
    const at: number[] = [];
    desk.answer = async (batch) => {
      at.push(desk.clock.monotonic());
      if (at.length < 6) throw at.length % 2 === 0 ? unknown() : unavailable();
      return batch;
    };
    const asked = desk.ask("a", 10_000);
    await desk.clock.advance(10_000);
    assert.equal(await asked, "a");
    assert.deepEqual(at, [0, 20, 60, 140, 300, 620]);
  });

  it("a request is rejected when its patience is over, and not before, and the others are retried further", async () => {
    const desk = new Desk();
    let isDown = true;
    desk.answer = async (batch) => {
      if (isDown) throw unavailable();
      return batch;
    };
    const [short, long] = [desk.ask("short", 500), desk.ask("long", 60_000)];
    let gaveUpAt = 0;
    short.catch(() => {
      gaveUpAt = desk.clock.monotonic();
    });
    await desk.clock.advance(5_000);
    await assert.rejects(short, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
    assert.ok(gaveUpAt >= 500 && gaveUpAt < 1_000, `${gaveUpAt}`);
    isDown = false;
    await desk.clock.advance(2_000);
    assert.equal(await long, "long");
    assert.deepEqual(desk.sent.at(-1), ["long"]);
  });

  it("a request gets at least one attempt, however little patience it has", async () => {
    const desk = new Desk();
    assert.equal(await desk.ask("a", -1_000), "a");
  });

  it("a request with an unanswered attempt is ambiguous, also when its last attempt failed for certain", async () => {
    for (const last of [unavailable, () => new LimpetError("STORE_INCOMPATIBLE", "too old")]) {
      const desk = new Desk();
      let attempts = 0;
      desk.answer = async () => {
        throw attempts++ === 0 ? unknown() : last();
      };
      const asked = desk.ask("a", 500);
      await desk.clock.advance(5_000);
      await assert.rejects(asked, (error) => isLimpetError(error, "COMMIT_UNKNOWN"));
    }
  });

  it("a request that fails permanently does not fail the others", async () => {
    const desk = new Desk();
    desk.answer = async (batch) => {
      if (batch.includes("bad")) throw new LimpetError("REMINDER_INVALID", "this one");
      return batch;
    };
    const [good, bad, other] = ["good", "bad", "other"].map((request) => desk.ask(request));
    assert.deepEqual([await good, await other], ["good", "other"]);
    await assert.rejects(bad!, (error) => isLimpetError(error, "REMINDER_INVALID"));
    assert.deepEqual(desk.sent, [["good", "bad", "other"], ["good"], ["bad"], ["other"]]);
    // Later requests form a batch again.
    await Promise.all([desk.ask("x"), desk.ask("y")]);
    assert.deepEqual(desk.sent.at(-1), ["x", "y"]);
  });

  it("requests that are sent alone are retried with the same patience", async () => {
    const desk = new Desk();
    let failures = 2;
    desk.answer = async (batch) => {
      if (batch.includes("bad")) throw new LimpetError("REMINDER_INVALID", "this one");
      if (failures-- > 0) throw unavailable();
      return batch;
    };
    const asked = ["good", "bad"].map((request) => desk.ask(request));
    await desk.clock.advance(1_000);
    assert.equal(await asked[0], "good");
  });

  it("a request is rejected when too many wait already", async () => {
    const desk = new Desk();
    desk.answer = () => new Promise(() => {});
    for (let i = 0; i < 100_000; i++) void desk.batcher.ask("a", 0);
    await assert.rejects(desk.ask("one more"), (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
  });

  describe("batches with two lanes", () => {
    /** Batches are answered on demand of the test, by their number. */
    class SlowDesk extends Desk {
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
      const desk = new SlowDesk();
      for (const request of ["a", "b", "c"]) desk.ask(request);
      await desk.clock.advance(0);
      assert.deepEqual(desk.sent, [["a", "b"]]);
      for (const request of ["d", "e", "f"]) desk.ask(request);
      await desk.clock.advance(0);
      assert.deepEqual(desk.sent.slice(1), [["c", "d"]]);
      await desk.answered(1);
      assert.deepEqual(desk.sent.slice(2), [["e", "f"]]);
    });

    it("gathered requests are sent when a batch is answered, however few they are", async () => {
      const desk = new SlowDesk();
      for (const request of ["a", "b", "c"]) desk.ask(request);
      await desk.clock.advance(0);
      await desk.answered(0);
      assert.deepEqual(desk.sent, [["a", "b"], ["c"]]);
    });

    it("two requests of the same key are never in progress at once", async () => {
      const desk = new SlowDesk((request) => request[0]!);
      for (const request of ["a1", "b1", "a2", "a3", "c1"]) desk.ask(request);
      await desk.clock.advance(0);
      assert.deepEqual(desk.sent, [["a1", "b1"], ["c1"]]);
      await desk.answered(1);
      assert.equal(desk.sent.length, 2);
      await desk.answered(0);
      await desk.answered(2);
      assert.deepEqual(desk.sent.slice(2), [["a2"], ["a3"]]);
    });
  });
});
