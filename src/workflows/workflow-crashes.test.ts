// Workflows with a crash of their process at every point: right before and right after each write. The
// outcome must be the same as without a crash.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { isLimpetError } from "../kernel/errors.ts";
import { everyCrash } from "../testing.ts";
import { query, signal, update, workflow } from "./definition/definition.ts";

const go = signal<number>("go");

describe("workflows under crashes at every point", () => {
  it("a failing activity is tried as often as needed, wherever its process crashes", async () => {
    const flaky = workflow("flaky", async (ctx) =>
      ctx.activity<string>("works", undefined, { retry: { initial: "10s", attempts: 20 } }),
    );
    const works = async (): Promise<string> => "worked";
    await everyCrash({ workflows: [flaky], activities: { works } }, async (app) => {
      app.mock(works).fails({ times: 2 });
      const handle = await app.workflows.start(flaky, { id: "f", input: undefined });
      await app.advance("10m");
      assert.equal(await handle.result(), "worked");
    });
  });

  it("parallel activities reach the same result, and none is called under two keys, wherever their process crashes", async () => {
    const fan = workflow("fan", async (ctx, n: number) => {
      const all = await Promise.all(Array.from({ length: n }, (_, i) => ctx.activity<number>("square", i)));
      return all.reduce((sum, each) => sum + each, 0);
    });
    const square = async (n: number): Promise<number> => n * n;
    await everyCrash({ workflows: [fan], activities: { square } }, async (app) => {
      const squaring = app.mock(square);
      const handle = await app.workflows.start(fan, { id: "f", input: 5 });
      await app.advance("1m");
      assert.equal(await handle.result(), 30);
      assert.equal(new Set(squaring.calls.map(({ idempotencyKey }) => idempotencyKey)).size, 5);
    });
  });

  it("a cancelled workflow cleans up, wherever its process crashes", async () => {
    const tidy = workflow("tidy", async (ctx) => {
      try {
        await ctx.sleep("30d");
      } finally {
        await ctx.shield(() => ctx.activity("clean"));
      }
    });
    const clean = async (): Promise<void> => {};
    await everyCrash({ workflows: [tidy], activities: { clean } }, async (app) => {
      const cleaning = app.mock(clean);
      const handle = await app.workflows.start(tidy, { id: "t", input: undefined });
      await app.advance("1d");
      await handle.cancel("never mind");
      await app.advance("1m");
      await assert.rejects(handle.result(), (error) => isLimpetError(error, "WORKFLOW_CANCELLED"));
      assert.ok(cleaning.calls.length >= 1);
    });
  });

  it("a workflow that continues as new keeps its unhandled signals, wherever its process crashes", async () => {
    const rounds = workflow("rounds", async (ctx, sum: number): Promise<number> => {
      const n = await ctx.signal(go);
      if (n === 0) return sum;
      return ctx.continueAsNew(sum + n);
    });
    await everyCrash({ workflows: [rounds] }, async (app) => {
      const { id } = await app.workflows.start(rounds, { id: "r", input: 0 });
      const handle = app.workflows.get(rounds, id);
      for (const n of [1, 2, 3, 0]) await handle.signal(go, n);
      await app.advance("1m");
      assert.equal(await handle.result(), 6);
    });
  });

  it("an update is handled once, with its answer, wherever its process crashes", async () => {
    const add = update<number, number>("add");
    const total = query<number>("total");
    const adds = workflow("adds", async (ctx) => {
      let sum = 0;
      ctx.onQuery(total, () => sum);
      ctx.onUpdate(add, async (n) => {
        sum += await ctx.activity<number>("same", n);
        return sum;
      });
      await ctx.signal(go);
      return sum;
    });
    const same = async (n: number): Promise<number> => n;
    await everyCrash({ workflows: [adds], activities: { same } }, async (app) => {
      const handle = await app.workflows.start(adds, { id: "a", input: undefined });
      const answers: number[] = [];
      for (const n of [1, 2]) {
        const done = handle.update(add, n);
        await app.advance("1m");
        answers.push(await done);
      }
      assert.deepEqual([answers, await handle.query(total)], [[1, 3], 3]);
      await handle.signal(go, 0);
      assert.equal(await handle.result(), 3);
    });
  });

  it("the first of a signal and a timer wins for good, wherever the process crashes", async () => {
    const waits = workflow("waits", async (ctx) => {
      const first = await ctx.signal(go, { within: "1h" });
      const second = await ctx.condition(() => false, { within: "1h" });
      return [first, second, (await ctx.signal(go, { within: "1h" })) ?? "nothing"];
    });
    await everyCrash({ workflows: [waits] }, async (app) => {
      const handle = await app.workflows.start(waits, { id: "w", input: undefined });
      await app.advance("30m");
      await handle.signal(go, 7);
      await app.advance("3h");
      assert.deepEqual(await handle.result(), [7, false, "nothing"]);
    });
  });

  it("a workflow that takes too long times out with its children, wherever its process crashes", async () => {
    const endless = workflow("endless", async (ctx) => ctx.sleep("30d"));
    const slow = workflow("slow", async (ctx) => ctx.child(endless, { id: "child", input: undefined }));
    await everyCrash({ workflows: [slow, endless] }, async (app) => {
      const handle = await app.workflows.start(slow, { id: "s", input: undefined, timeout: "1h" });
      await app.advance("2h");
      await assert.rejects(handle.result(), (error) => isLimpetError(error, "WORKFLOW_TIMED_OUT"));
      assert.equal((await app.workflows.get("child").describe()).status, "terminated");
    });
  });

  it("a workflow that an actor starts in its turn is started with the actor's state, and once", async () => {
    const books = workflow("books", async (ctx, key: string) => ctx.actor(Ledger, "l").book(key));
    class Ledger extends Actor<{ orders: string[]; booked: string[] }> {
      initial() {
        return { orders: [], booked: [] };
      }
      order(key: string) {
        this.state.orders.push(key);
        this.workflows.start(books, { id: key, input: key });
      }
      book(key: string) {
        if (!this.state.booked.includes(key)) this.state.booked.push(key);
      }
      all() {
        return this.state;
      }
    }
    await everyCrash({ workflows: [books], actors: [Ledger] }, async (app) => {
      const ledger = app.actor(Ledger, "l");
      // The caller of an actor that crashes has to check before it asks again.
      const isOrdered = await ledger.order("o").then(
        () => true,
        () => false,
      );
      if (!isOrdered && !(await ledger.all()).orders.includes("o")) await ledger.order("o");
      await app.advance("1m");
      await app.workflows.get("o").result();
      assert.deepEqual(await ledger.all(), { orders: ["o"], booked: ["o"] });
    });
  });
});
