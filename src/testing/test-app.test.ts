// The app of a test: mocks of activities, and processes that crash, restart and lose their memory.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { isLimpetError } from "../kernel/errors.ts";
import { everyCrash, testLimpet } from "../testing.ts";
import { signal, update, workflow } from "../workflows/definition/definition.ts";
import type { ActivityMock } from "./activity-mock.ts";
import { CrashFailed } from "./every-crash.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const expectType = <_Holds extends true>(): void => {};

const charge = async (amount: number): Promise<string> => `paid ${amount}`;
const note = async (_: { readonly what: string }): Promise<void> => {};
const go = signal<number>("go");

const pay = workflow("pay", async (ctx, amount: number) => {
  const receipt = await ctx.activity(charge, amount, { retry: { attempts: 3, initial: "1s" } });
  await ctx.sleep("1d");
  await ctx.activity(note, { what: receipt });
  return receipt;
});

const definitions = { workflows: [pay], activities: { charge, note } };

describe("a mock", () => {
  it("a mock runs instead of its activity, and records its calls", async () => {
    await using app = await testLimpet(definitions);
    const charging = app.mock(charge, (amount) => `mocked ${amount}`);
    const noting = app.mock("note");
    const handle = await app.workflows.start(pay, { id: "p", input: 7 });
    await app.advance("1d");
    assert.equal(await handle.result(), "mocked 7");
    const [call] = charging.calls;
    assert.equal(charging.calls.length, 1);
    assert.deepEqual([call?.input, call?.workflowId, call?.attempt, call?.outcome], [7, "p", 1, "completed"]);
    assert.equal(noting.calls[0]?.input.what, "mocked 7");
    assert.equal(noting.calls[0]?.at, app.clock.now());
  });

  it("a mock has the types of its activity, also by name", async () => {
    await using app = await testLimpet(definitions);
    expectType<Equal<ReturnType<typeof byName>, ActivityMock<typeof charge>>>();
    const byName = () => app.mock("charge", (amount) => String(amount + 1));
    const wrong = [
      // @ts-expect-error: charge gives a text.
      () => app.mock(charge, () => 7),
      // @ts-expect-error: nor does it take one.
      () => app.mock(charge, (amount: string) => amount),
      // @ts-expect-error: there is no activity of that name.
      () => app.mock("chrage"),
      // @ts-expect-error: by name as well.
      () => app.mock("charge").returns(7),
    ];
    assert.equal(wrong.length, 4);
    byName();
  });

  it("a mock fails the given number of times with the given error, and then continues", async () => {
    await using app = await testLimpet(definitions);
    const charging = app
      .mock(charge)
      .returns("at last")
      .fails({ times: 2, error: new RangeError("too much") });
    const handle = await app.workflows.start(pay, { input: 7 });
    await app.advance("2d");
    assert.equal(await handle.result(), "at last");
    assert.deepEqual(
      charging.calls.map(({ attempt, outcome }) => [attempt, outcome]),
      [
        [1, "failed"],
        [2, "failed"],
        [3, "completed"],
      ],
    );
    assert.ok(charging.calls[0]?.error instanceof RangeError);
    charging.fails();
    const fails = assert.rejects((await app.workflows.start(pay, { input: 8 })).result(), (error) =>
      isLimpetError(error, "WORKFLOW_FAILED"),
    );
    await app.advance("1m");
    await fails;
  });

  it("a mock hangs until its timeout", async () => {
    await using app = await testLimpet(definitions);
    const charging = app.mock(charge).hangs();
    const handle = await app.workflows.start(pay, { input: 7 });
    await app.advance("9m");
    assert.equal(charging.calls[0]?.outcome, "running");
    charging.returns("now");
    await app.advance("2d");
    assert.equal(await handle.result(), "now");
  });

  it("a restored mock leaves the activity to itself", async () => {
    await using app = await testLimpet({ ...definitions, workflows: [pay] });
    const charging = app.mock(charge).returns("mocked");
    charging.restore();
    const handle = await app.workflows.start(pay, { input: 7 });
    await app.advance("1d");
    assert.equal(await handle.result(), "paid 7");
    assert.equal(charging.calls.length, 0);
    assert.throws(() => charging.hangs(), { code: "OPTION_INVALID" });
    app.mock(charge).returns("again");
    charging.restore();
    const other = await app.workflows.start(pay, { input: 7 });
    await app.advance("1d");
    assert.equal(await other.result(), "again", "it takes away nobody else");
  });

  it("a mock of an unknown activity is rejected", async () => {
    await using app = await testLimpet(definitions);
    const refused = (error: unknown): boolean =>
      isLimpetError(error, "ACTIVITY_UNKNOWN") && /charge, note/.test(error.message);
    assert.throws(() => app.mock("refund" as "charge"), refused);
    assert.throws(() => app.mock(async () => 1), refused);
  });
});

describe("a crash", () => {
  it("a crash loses everything in memory, and nothing durable", async () => {
    await using app = await testLimpet(definitions);
    const charging = app.mock(charge);
    const handle = await app.workflows.start(pay, { input: 7 });
    await app.advance("1h");
    await app.crash();
    await app.advance("23h");
    assert.equal(await handle.result(), "paid 7");
    assert.equal(charging.calls.length, 1);
  });

  it("a crash in the middle of an activity lets it run again, under the same key", async () => {
    await using app = await testLimpet(definitions);
    const charging = app.mock(charge, async () => {
      if (charging.calls.length === 1) await app.crash();
      return "paid";
    });
    const handle = await app.workflows.start(pay, { input: 7 });
    await app.advance("1d");
    assert.equal(await handle.result(), "paid");
    assert.equal(charging.calls.length, 2);
    assert.equal(charging.calls[0]?.idempotencyKey, charging.calls[1]?.idempotencyKey);
  });

  it("a crash before a step leaves nothing of it, after a step all of it", async () => {
    for (const [when, times] of [
      ["crashBefore", 2],
      ["crashAfter", 1],
    ] as const) {
      await using app = await testLimpet(definitions);
      const charging = app.mock(charge);
      app[when]("ActivityCompleted");
      const handle = await app.workflows.start(pay, { input: 7 });
      await app.advance("1d");
      assert.equal(await handle.result(), "paid 7");
      assert.equal(charging.calls.length, times);
    }
  });

  it("a crash is over at once: no process waits for the leases of an ended one", async () => {
    await using app = await testLimpet(definitions);
    app.crashAfter("ActivityScheduled note");
    const handle = await app.workflows.start(pay, { input: 7 });
    await app.advance("1d");
    assert.equal(await handle.result(), "paid 7");
    assert.equal(app.clock.now(), new Date("2030-01-02").getTime());
  });

  it("a crash may take a while: overdue events happen when the process is up again", async () => {
    await using app = await testLimpet(definitions);
    const noting = app.mock(note);
    await app.workflows.start(pay, { input: 7 });
    await app.advance("1h");
    await app.crash({ downFor: "3d" });
    await app.advance("1s");
    assert.equal(noting.calls.length, 1);
  });

  it("a crash does not end the waits of the test", async () => {
    const add = update<number, number>("add");
    const counter = workflow("counter", async (ctx) => {
      let sum = 0;
      ctx.onUpdate(add, (n) => (sum += n));
      await ctx.condition(() => sum >= 10);
      return sum;
    });
    await using app = await testLimpet({ workflows: [counter] });
    const handle = await app.workflows.start(counter, { id: "c", input: undefined });
    const result = handle.result();
    const first = handle.update(add, 4);
    await app.advance("1s");
    assert.equal(await first, 4);
    await app.crash();
    const second = handle.update(add, 6);
    await app.advance("1s");
    assert.equal(await second, 10);
    assert.equal(await result, 10);
  });

  it("a crash leaves the caller of an actor with an ambiguous outcome, and the actor as it was committed", async () => {
    const halfway = Promise.withResolvers<void>();
    class Cart extends Actor<{ items: string[] }> {
      initial() {
        return { items: [] };
      }
      async add(item: string) {
        this.state.items.push(item);
        if (item === "milk") await halfway.promise;
        return this.state.items.length;
      }
    }
    await using app = await testLimpet({ actors: [Cart] });
    const cart = app.actor(Cart, "alice");
    assert.equal(await cart.add("tea"), 1);
    const lost = assert.rejects(cart.add("milk"), (error) => isLimpetError(error, "ANSWER_LOST"));
    await app.crash();
    halfway.resolve();
    await lost;
    assert.equal(await cart.add("bread"), 2);
  });
});

describe("a crash at every point", () => {
  it("a crash at any point does not change the results of timers, children, signals and actors", async () => {
    class Ledger extends Actor<{ booked: Record<string, number> }> {
      initial() {
        return { booked: {} };
      }
      book(key: string, amount: number) {
        this.state.booked[key] = amount;
        return Object.values(this.state.booked).reduce((sum, each) => sum + each, 0);
      }
    }
    const part = workflow("part", async (ctx, n: number) => {
      await ctx.sleep("1h");
      return ctx.actor(Ledger, "l").book(ctx.info.workflowId, n);
    });
    const whole = workflow("whole", async (ctx) => {
      const parts = [1, 2].map((n) => ctx.child(part, { id: `part ${n}`, input: n }));
      const more = ctx.signal(go);
      await Promise.all(parts);
      return ctx.actor(Ledger, "l").book("whole", await more);
    });
    const crashes = await everyCrash({ workflows: [part, whole], actors: [Ledger] }, async (app) => {
      const handle = await app.workflows.start(whole, { id: "w", input: undefined });
      await app.advance("30m");
      await handle.signal(go, 10);
      await app.advance("1h");
      assert.equal(await handle.result(), 13);
    });
    assert.ok(crashes >= 20, String(crashes));
  });

  it("a failure at one of the points is found and reported with its step", async () => {
    let charged = 0;
    const careless = async (): Promise<void> => void charged++;
    const once = workflow("once", async (ctx) => ctx.activity(careless));
    await assert.rejects(
      everyCrash({ workflows: [once], activities: { careless } }, async (app) => {
        charged = 0;
        await (await app.workflows.start(once, { id: "o", input: undefined })).result();
        assert.equal(charged, 1);
      }),
      (error) =>
        error instanceof CrashFailed &&
        /crash before step 3, o: ActivityCompleted, WorkflowCompleted/.test(error.message) &&
        error.cause instanceof assert.AssertionError,
    );
  });
});

describe("runs in memory", () => {
  it("runs in memory can be dropped at any time, and are replayed from the history", async () => {
    const listens = workflow("listens", async (ctx) => [await ctx.signal(go), await ctx.signal(go)]);
    await using app = await testLimpet({ workflows: [listens] });
    const handle = await app.workflows.start(listens, { input: undefined });
    await app.advance("1s");
    await handle.signal(go, 1);
    await app.advance("1s");
    assert.equal(app.dropWarmRuns(), 1);
    assert.equal(app.dropWarmRuns(), 0);
    await handle.signal(go, 2);
    assert.deepEqual(await handle.result(), [1, 2]);
    const numbers = app.metrics().match(/(?<=limpet_workflow_cache_(hits|misses)\{.*\} )\d+/g);
    assert.deepEqual(numbers, ["1", "1"]);
  });
});

describe("a restart", () => {
  it("a restart brings other code to open runs", async () => {
    const make = (greeting: string) =>
      workflow("greet", async (ctx) => {
        await ctx.sleep("1h");
        return greeting;
      });
    await using app = await testLimpet({ workflows: [make("hello")] });
    const handle = await app.workflows.start("greet", { input: undefined });
    await app.restart({ workflows: [make("good morning")] });
    await app.advance("1h");
    assert.equal(await handle.result(), "good morning");
  });
});
