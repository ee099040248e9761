import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentMeter } from "../../ports/meter.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { LimpetError } from "../errors.ts";
import { FencedBatcher, type FencedBatcherDeps } from "./fenced-batcher.ts";

type Send = FencedBatcherDeps<number, string>["send"];

function batching(send: Send, more: Partial<FencedBatcherDeps<number, string>> = {}) {
  const clock = new VirtualClock();
  const histogram = silentMeter.histogram("h", "h", []);
  const batcher = new FencedBatcher<number, string>({
    clock,
    random: { number: () => 0.5, id: () => "" },
    lanes: 1,
    eager: 256,
    patienceMs: 10_000,
    weigh: () => 1,
    keyOf: (n) => n,
    send,
    batchSize: histogram,
    seconds: histogram,
    retries: silentMeter.counter("c", "c"),
    ...more,
  });
  return { batcher, clock };
}

const echo: Send = async (batch) => batch.map(String);
const unavailable = new LimpetError("STORE_UNAVAILABLE", "down");
const lost = new LimpetError("COMMIT_UNKNOWN", "lost");
const many = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe("a fenced batcher", () => {
  it("requests of the same moment are sent together, and answered in order", async () => {
    const sent: number[][] = [];
    const { batcher } = batching((batch) => {
      sent.push(batch);
      return echo(batch);
    });
    assert.deepEqual(await Promise.all(many(20).map((n) => batcher.submit(n))), many(20).map(String));
    assert.deepEqual(sent, [many(20)]);
  });

  it("every member of a batch gets its own outcome, also one that differs from the first", async () => {
    const outcomes = ["committed", "fenced", "committed", "void", "fenced"];
    const { batcher } = batching(async (batch) => batch.map((n) => outcomes[n]!));
    assert.deepEqual(await Promise.all(many(5).map((n) => batcher.submit(n))), outcomes);
    assert.deepEqual(await Promise.all([1, 0, 3].map((n) => batcher.submit(n))), ["fenced", "committed", "void"]);
  });

  it("a request without an answer of its own is rejected as a bug, and the others get theirs", async () => {
    const { batcher } = batching(async (batch) => batch.slice(0, -1).map(String));
    const outcomes = await Promise.allSettled(many(3).map((n) => batcher.submit(n)));
    assert.deepEqual(
      outcomes.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as LimpetError).code)),
      ["0", "1", "INVARIANT"],
    );
  });

  it("batches stay within their size and weight, and a heavy request travels alone", async () => {
    const sizes: number[] = [];
    const send: Send = (batch) => {
      sizes.push(batch.length);
      return echo(batch);
    };
    const { batcher } = batching(send, { weigh: (n) => (n === 5 ? 2 ** 21 : 1) });
    await Promise.all(many(1_100).map((n) => batcher.submit(n)));
    assert.deepEqual(
      sizes.toSorted((a, b) => a - b),
      [1, 5, 70, 512, 512],
    );
  });

  it("requests that are given up are not retried, neither waiting ones nor ones in progress that fail or find a locked row", async () => {
    const sent: number[][] = [];
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { batcher, clock } = batching(
      async (batch) => {
        sent.push(batch);
        await gate;
        if (batch.includes(1)) throw unavailable;
        return batch.map((n) => (n === 3 ? "locked" : String(n)));
      },
      { lanes: 2, eager: 1 },
    );
    const outcomes = [1, 3, 5].map((n) => batcher.submit(n).catch((error: LimpetError) => error.code));
    await clock.settled();
    batcher.giveUp();
    open();
    await clock.advance(60_000);
    assert.deepEqual(await Promise.all(outcomes), Array(3).fill("STORE_UNAVAILABLE"));
    assert.deepEqual(sent, [[1], [3]]);
    assert.equal(await batcher.submit(4), "4");
  });

  it("an actor is in a batch only once, even while a request of its earlier incarnation is unanswered", async () => {
    const sent: number[][] = [];
    const send: Send = (batch) => {
      sent.push(batch);
      return sent.length === 1 ? Promise.reject(lost) : echo(batch);
    };
    const { batcher, clock } = batching(send, { keyOf: (n) => n % 10 });
    const first = [batcher.submit(1), batcher.submit(2)];
    await clock.advance(0);
    const second = [batcher.submit(3), batcher.submit(11), batcher.submit(4), batcher.submit(21)];
    await clock.advance("1s");
    assert.deepEqual(await Promise.all([...first, ...second]), ["1", "2", "3", "11", "4", "21"]);
    assert.deepEqual(sent, [[1, 2], [1, 2, 3], [11, 4], [21]]);
  });

  it("a full batch is sent at once while a lane is free, and a few requests wait for each other", async () => {
    for (const [count, expected] of [
      [600, [256, 256, 88]],
      [200, [200]],
    ] as const) {
      const sizes: number[] = [];
      const { batcher } = batching(
        (batch) => {
          sizes.push(batch.length);
          return echo(batch);
        },
        { lanes: 2 },
      );
      await Promise.all(many(count).map((n) => batcher.submit(n)));
      assert.deepEqual(sizes, expected);
    }
  });

  it("requests are retried with pauses while the store does not answer, and succeed when it is back", async () => {
    let attempts = 0;
    const { batcher, clock } = batching((batch) => (++attempts < 5 ? Promise.reject(unavailable) : echo(batch)));
    const answer = batcher.submit(1);
    await clock.advance("9s");
    assert.equal(await answer, "1");
    assert.equal(attempts, 5);
  });

  it("the patience of each caller ends on its own, and the error states whether something may have happened", async () => {
    let error = unavailable;
    const { batcher, clock } = batching(() => Promise.reject(error));
    const surely = assert.rejects(batcher.submit(1), { code: "STORE_UNAVAILABLE" });
    await clock.advance("12s");
    await surely;
    error = lost;
    const maybe = assert.rejects(batcher.submit(2), { code: "COMMIT_UNKNOWN" });
    await clock.advance("5s");
    error = unavailable;
    const later = batcher.submit(3).catch(({ code }: LimpetError) => code);
    await clock.advance("7s");
    await maybe;
    assert.equal(await Promise.race([later, "still waiting"]), "still waiting");
    await clock.advance("5s");
    assert.equal(await later, "STORE_UNAVAILABLE");
  });

  for (const [isHarmless, code] of [
    [false, "COMMIT_UNKNOWN"],
    [true, "STORE_UNAVAILABLE"],
  ] as const) {
    it(`every caller of a silent store gets an answer when its patience ends, with ${code} if it was sent`, async () => {
      const silence = Promise.withResolvers<string[]>();
      const { batcher, clock } = batching((batch) => (batch.includes(1) ? silence.promise : echo(batch)), {
        isHarmless,
      });
      const sent = assert.rejects(batcher.submit(1), { code });
      await clock.advance("4s");
      const behind = batcher.submit(2).catch(({ code }: LimpetError) => code);
      await clock.advance("6s");
      await sent;
      assert.equal(await Promise.race([behind, "still waiting"]), "still waiting");
      await clock.advance("4s");
      // The request was never sent.
      assert.equal(await behind, "STORE_UNAVAILABLE");
      silence.resolve(["1"]);
      assert.equal(await batcher.submit(3), "3");
    });
  }

  it("a batch that can never succeed is split, so that one bad member fails alone", async () => {
    const bad = new LimpetError("STATE_INVALID", "bad");
    const { batcher } = batching((batch) => (batch.includes(3) ? Promise.reject(bad) : echo(batch)));
    const results = await Promise.allSettled(many(5).map((n) => batcher.submit(n)));
    assert.deepEqual(
      results.map((result) => (result.status === "fulfilled" ? result.value : result.reason)),
      ["0", "1", "2", bad, "4"],
    );
  });

  it("a locked row delays only its own request, which is retried alone until the row is free", async () => {
    const sent: number[][] = [];
    let free = false;
    const { batcher, clock } = batching(async (batch) => {
      sent.push(batch);
      return batch.map((n) => (n === 2 && !free ? "locked" : String(n)));
    });
    const locked = batcher.submit(2);
    assert.deepEqual(await Promise.all([batcher.submit(1), batcher.submit(3)]), ["1", "3"]);
    for (const n of many(20)) if (n !== 2) assert.equal(await batcher.submit(n), String(n));
    await clock.advance("2s");
    free = true;
    await clock.advance("2s");
    assert.equal(await locked, "2");
    assert.ok(sent.slice(1).every((batch) => !batch.includes(2) || batch.length === 1));
  });

  it("a caller whose row stays locked for too long gets the error that nothing was changed", async () => {
    const { batcher, clock } = batching(async (batch) => batch.map(() => "locked"));
    const answer = assert.rejects(batcher.submit(1), { code: "STORE_UNAVAILABLE", message: /holds the row/ });
    await clock.advance("12s");
    await answer;
  });

  it("an answer after an unanswered attempt is treated as ambiguous", async () => {
    let attempts = 0;
    const { batcher, clock } = batching(async () => (attempts++ === 0 ? Promise.reject(lost) : ["fenced"]), {
      resolveAmbiguous: (answer) => (answer === "fenced" ? lost : answer),
    });
    const doubtful = assert.rejects(batcher.submit(1), { code: "COMMIT_UNKNOWN" });
    await clock.advance("2s");
    await doubtful;
    assert.equal(await batcher.submit(2), "fenced", "nothing of the second one was lost");
  });

  it("requests beyond the limit of waiting ones are rejected", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { batcher } = batching(
      async (batch) => {
        await held;
        return echo(batch);
      },
      { eager: 1_000_000 },
    );
    const answers = many(101_000).map((n) => batcher.submit(n).catch((error: LimpetError) => error.code));
    release();
    const refused = (await Promise.all(answers)).filter((answer) => answer === "STORE_UNAVAILABLE");
    assert.equal(refused.length, 1_000);
  });
});
