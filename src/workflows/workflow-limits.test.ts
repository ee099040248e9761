// Limits of workflows: a full history, payloads above 2 MiB, ten thousand signals. Each has a defined
// outcome, loses no data and does not affect other runs.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { OPTIONS } from "../config/options.ts";
import { blockedBy, go, hasCode, healthy, isWell, NAMESPACE, step } from "../host/faults-kit.test.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type TestApp, testLimpet } from "../testing.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import type { WorkflowHandle } from "./client/client.ts";
import { update, workflow } from "./definition/definition.ts";
import { type HistoryEvent, writeEventBatch } from "./engine/events.ts";
import { HISTORY_SUGGESTED_EVENTS } from "./engine/history-budget.ts";

const MiB = 1024 * 1024;
const HISTORY_MOST_EVENTS = Number(OPTIONS.workerHistoryEvents.default);

describe("histories at their limit", () => {
  const listens = workflow("listens", async (ctx) => {
    let heard = 0;
    while ((await ctx.signal(go)) !== "end") heard++;
    return [heard, ctx.info.continueAsNewSuggested];
  });

  /** A run that has handled this many signals. */
  async function withHistory(app: TestApp, signals: number): Promise<WorkflowHandle<unknown>> {
    const { start, started } = app.workflows.prepare("listens", { id: "l", input: undefined });
    const heard = (n: number): HistoryEvent => ({ kind: "SignalReceived", id: `s${n}`, name: "go", input: n });
    const events = [started, ...Array.from({ length: signals }, (_, n) => heard(n))];
    const first = writeEventBatch({ at: app.clock.now(), events });
    await app.store.workflows.start([{ ...start, first }]);
    return app.workflows.get("l");
  }

  const open = (): Promise<TestApp> =>
    testLimpet({ workflows: [listens, healthy], activities: { step }, checksReplay: false }) as Promise<TestApp>;

  it("a full history parks the run with the reason, and keeps its inbox", async () => {
    await using app = await open();
    const handle = await withHistory(app, HISTORY_MOST_EVENTS - 2);
    for (const what of ["one", "two", "three"]) await handle.signal(go, what);
    await app.advance("1m");
    assert.match(await blockedBy(handle), /no room for more; it should continue as new earlier/);
    assert.equal((await handle.describe()).status, "running");
    const { task } = (await app.store.workflows.find({ namespace: NAMESPACE, workflowId: "l" }))!;
    assert.deepEqual([task!.arrived - task!.taken, task!.arrived], [3, 3]);
    await isWell(app);
  });

  it("a run with a full history can be terminated, or cancelled without waiting for the next retry", async () => {
    for (const how of ["terminate", "cancel"] as const) {
      await using app = await open();
      const handle = await withHistory(app, HISTORY_MOST_EVENTS);
      await handle.signal(go, "more");
      await app.advance("1m");
      await handle[how]("too long");
      await app.advance("1m");
      const code = how === "cancel" ? "WORKFLOW_CANCELLED" : "WORKFLOW_TERMINATED";
      await assert.rejects(handle.result(), hasCode(code));
    }
  });

  it("a workflow learns in time that its history is long and that it should continue as new", async () => {
    for (const [events, isSuggested] of [
      [HISTORY_SUGGESTED_EVENTS - 10, false],
      [HISTORY_SUGGESTED_EVENTS, true],
    ] as const) {
      await using app = await open();
      const handle = await withHistory(app, events);
      assert.equal((await handle.describe()).continueAsNewSuggested, isSuggested);
      const view = await app.host.workflows.look({ workflowId: "l" }, 1);
      assert.equal(view.budget?.isContinueSuggested, isSuggested);
      await handle.signal(go, "end");
      assert.deepEqual(await handle.result(), [events, isSuggested]);
    }
  });

  it("the limit of a history counts bytes as well", async () => {
    await using app = await open();
    const handle = await app.workflows.start(listens, { id: "big", input: undefined });
    for (let i = 0; i < 27; i++) {
      await handle.signal(go, "x".repeat(2 * MiB - 100));
      await app.advance(10);
    }
    await app.advance("1m");
    assert.match(await blockedBy(handle), /no room for more/);
    await isWell(app);
  });
});

describe("configured limits of histories", () => {
  const listens = workflow("listens", async (ctx): Promise<number> => {
    let heard = 0;
    while ((await ctx.signal("go")) !== "end") heard++;
    return heard;
  });

  /** A run that was parked at its limit, with three unhandled signals, in a process that can be replaced. */
  async function parked(worker: { readonly historyEvents?: number; readonly historyMegabytes?: number }, text = "") {
    const clock = new VirtualClock();
    const store = new MemoryStore(() => clock.now());
    const open = (more: object) => testLimpet({ workflows: [listens], clock, stateStore: store, worker: more });
    const app = await open(worker);
    const handle = await app.workflows.start(listens, { id: "l", input: undefined });
    for (let heard = 0; (await handle.describe()).blocked === undefined; heard++) {
      assert.ok(heard < 100, "it is parked by now");
      await handle.signal("go", `${heard} ${text}`);
      await app.advance("1s");
    }
    await handle.signal("go", "one");
    await handle.signal("go", "two");
    await app.advance("1s");
    return { app, open };
  }

  for (const [what, low, high, text] of [
    ["events", { historyEvents: 20 }, { historyEvents: 200 }, ""],
    ["bytes", { historyMegabytes: 1 }, { historyMegabytes: 9 }, "x".repeat(100_000)],
  ] as const) {
    for (const how of ["when it is woken", "by itself"] as const) {
      it(`the limit counts ${what}, and a parked run continues with its whole inbox once the limit is higher, ${how}`, async () => {
        const { app, open } = await parked(low, text);
        const before = await app.workflows.get("l").describe();
        await app.stop();
        await using next = await open(high);
        const handle = next.workflows.get("l");
        await next.advance("1m");
        assert.deepEqual(await handle.describe(), before);
        await handle.signal("go", "end");
        if (how === "by itself") await next.advance("1h");
        else await next.host.workflows.wake({ workflowId: "l" });
        await next.advance("1s");
        const heard = (await handle.history()).filter(({ event }) => event.kind === "SignalReceived");
        assert.equal(await handle.result(), heard.length - 1);
        assert.deepEqual(
          heard.slice(-3).map(({ event }) => (event as { input: unknown }).input),
          ["one", "two", "end"],
        );
      });
    }
  }

  it("the view of a parked run shows the reason, the limit, and that it is parked and not broken", async () => {
    const { app } = await parked({ historyEvents: 20 });
    const { summary, budget, blocked, status } = await app.host.workflows.look({ workflowId: "l" }, 10);
    assert.match(summary, /^listens l is parked: its history has no room for more; it is tried again in 5\dm/);
    assert.match(String(blocked), /^parked: its history has 21 events and \d+ bytes, and no room for more;/);
    assert.match(String(blocked), /worker\.historyEvents \(20\) and worker\.historyMegabytes \(50\) can be raised$/);
    assert.equal(status, "running");
    assert.deepEqual(budget, {
      suggested: { events: HISTORY_SUGGESTED_EVENTS, bytes: 4 * MiB },
      most: { events: 20, bytes: 50 * MiB },
      isContinueSuggested: false,
      isParked: true,
    });
    const { workflows } = await app.host.workflows.list({ isBlocked: true, limit: 10 });
    assert.deepEqual(
      workflows.map(({ workflowId }) => workflowId),
      ["l"],
    );
    await app.stop();
  });

  it("a run at its limit can end or continue as new in its last step", async () => {
    const ends = workflow("ends", async (ctx, how: string): Promise<string> => {
      for (let i = 0; i < 8; i++) await ctx.signal("go");
      return how === "continue" ? ctx.continueAsNew("end") : how;
    });
    await using app = await testLimpet({ workflows: [ends], worker: { historyEvents: 10 } });
    for (const how of ["end", "continue"]) {
      const handle = await app.workflows.start(ends, { id: how, input: how });
      for (let i = 0; i < (how === "end" ? 8 : 16); i++) await handle.signal("go", i);
      await app.advance("1s");
      assert.equal(await handle.result(), "end");
    }
  });

  const canceller = workflow("canceller", async (ctx, id: string): Promise<void> => ctx.workflow(id).cancel());
  class Clerk extends Actor<Record<string, never>> {
    cancel(id: string): void {
      this.workflows.cancel(id, "too long");
    }
  }
  const ways: Record<string, (app: TestApp) => Promise<unknown>> = {
    "a client": (app) => app.workflows.get("l").cancel(),
    "another workflow": (app) => app.workflows.start(canceller, { input: "l" }),
    "the turn of an actor": (app) => app.actor(Clerk, "c").cancel("l"),
  };
  for (const [whom, ask] of Object.entries(ways)) {
    it(`a parked run can be cancelled by ${whom}`, async () => {
      const worker = { historyEvents: 20 };
      const options = { workflows: [listens, canceller], actors: [Clerk], worker };
      await using app = (await testLimpet(options)) as TestApp;
      const handle = await app.workflows.start(listens, { id: "l", input: undefined });
      for (let i = 0; i < 30; i++) await handle.signal("go", i);
      await app.advance("1m");
      assert.match(await blockedBy(handle), /^parked: /);
      await ask(app);
      await app.advance("1s");
      await assert.rejects(handle.result(), hasCode("WORKFLOW_CANCELLED"));
    });
  }
});

describe("payloads above 2 MiB", () => {
  const big = "x".repeat(2 * MiB);
  const answer = update<number, unknown>("answer");

  it("a too large payload of a client is rejected without any effect", async () => {
    const listens = workflow("listens", async (ctx, _: unknown) => {
      ctx.onUpdate(answer, () => 1);
      return ctx.signal(go);
    });
    await using app = await testLimpet({ workflows: [listens] });
    const tooLarge = hasCode("BODY_TOO_LARGE", /2097154 bytes.*2097152 are allowed/);
    await assert.rejects(app.workflows.start(listens, { id: "b", input: big }), tooLarge);
    await assert.rejects(app.workflows.get("b").describe(), hasCode("WORKFLOW_UNKNOWN"));
    const handle = await app.workflows.start(listens, { id: "l", input: 1 });
    await assert.rejects(handle.signal(go, big), tooLarge);
    await assert.rejects(handle.update(answer, big), tooLarge);
    await app.advance("1s");
    assert.deepEqual(
      (await handle.history()).map(({ event }) => event.kind),
      ["WorkflowStarted"],
    );
    await handle.signal(go, big.slice(2));
    assert.equal(((await handle.result()) as string).length, 2 * MiB - 2);
  });

  it("a too large result fails an activity without a retry", async () => {
    const returns = workflow("returns", async (ctx) => ctx.activity<string>("huge"));
    await using app = await testLimpet({ workflows: [returns, healthy], activities: { huge: () => big, step } });
    const huge = app.mock("huge");
    const handle = await app.workflows.start(returns, { input: undefined });
    const failed = assert.rejects(handle.result(), hasCode("WORKFLOW_FAILED", /2097154 bytes.*2097152 are allowed/));
    await app.advance("1m");
    await failed;
    assert.equal(huge.calls.length, 1);
    await isWell(app);
  });

  it("a too large error message or reason is cut", async () => {
    const throws = workflow("throws", async (ctx) => {
      ctx.onUpdate("fail", () => {
        throw new RangeError(big);
      });
      ctx.onUpdate("refuse", () => 1, {
        validate: () => {
          throw new RangeError(big);
        },
      });
      await ctx.signal(go).catch(() => {});
      throw new RangeError(big, { cause: new Error(big) });
    });
    await using app = await testLimpet({ workflows: [throws, healthy], activities: { step } });
    const handle = await app.workflows.start(throws, { input: undefined });
    for (const name of ["fail", "refuse"]) await assert.rejects(handle.update(name), /^\w*Error: x{16384}…$/);
    await handle.cancel(big);
    await assert.rejects(handle.result(), hasCode("WORKFLOW_FAILED", /x{100}…$/));
    const other = await app.workflows.start(throws, { input: undefined });
    await other.terminate(big);
    for (const { describe } of [handle, other]) assert.ok((await describe()).historyBytes < 200_000);
    await isWell(app);
  });

  it("a too large result fails a call to an actor, and is not recorded", async () => {
    class Shelf extends Actor<object> {
      all() {
        return big;
      }
    }
    const reads = workflow("reads", async (ctx) => ctx.actor(Shelf, "s").all());
    await using app = await testLimpet({ workflows: [reads, healthy], activities: { step }, actors: [Shelf] });
    const handle = await app.workflows.start(reads, { input: undefined });
    await assert.rejects(handle.result(), hasCode("WORKFLOW_FAILED", /2097154 bytes.*2097152 are allowed/));
    assert.ok((await handle.describe()).historyBytes < MiB);
    await isWell(app);
  });

  it("a workflow that passes, notes, records or returns a too large payload fails", async () => {
    const ways = {
      activity: workflow("activity", async (ctx) => ctx.activity("step", big)),
      child: workflow("child", async (ctx) => ctx.child("healthy", { input: big })),
      next: workflow("next", async (ctx) => ctx.continueAsNew(big)),
      memo: workflow("memo", async (ctx) => ctx.setMemo({ big })),
      "side effect": workflow("side effect", async (ctx) => ctx.sideEffect(() => big)),
      signal: workflow("signal", async (ctx) => ctx.workflow("another").signal(go, big)),
      result: workflow("result", async () => big),
    };
    await using app = await testLimpet({ workflows: [...Object.values(ways), healthy], activities: { step } });
    for (const [way, definition] of Object.entries(ways)) {
      const handle = await app.workflows.start(definition, { id: way, input: undefined });
      const failed = assert.rejects(
        handle.result(),
        hasCode("WORKFLOW_FAILED", /2097\d+ bytes.*2097152 are allowed/),
        way,
      );
      await app.advance("1m");
      await failed;
    }
    await isWell(app);
  });
});

describe("values that cannot be stored", () => {
  it("a value that cannot be stored fails a workflow that continues with it, and not its process", async () => {
    const wrong = workflow("wrong", async (ctx) => ctx.continueAsNew(() => {}));
    await using app = await testLimpet({ workflows: [wrong, healthy], activities: { step } });
    const handle = await app.workflows.start(wrong, { input: undefined });
    const failed = assert.rejects(handle.result(), hasCode("WORKFLOW_FAILED"));
    await app.advance("1m");
    await failed;
    await isWell(app);
  });
});

describe("ten thousand signals to one run", () => {
  it("ten thousand signals are handled in order, each once, without delaying other runs", async () => {
    const most = 10_000;
    const hears = workflow("hears", async (ctx) => {
      const heard: number[] = [];
      for (let i = 0; i < most; i++) heard.push((await ctx.signal(go)) as number);
      return heard.every((n, i) => n === i) ? heard.length : heard;
    });
    const options = { workflows: [hears, healthy], activities: { step }, checksReplay: false };
    await using app = await testLimpet(options);
    const handle = await app.workflows.start(hears, { input: undefined });
    const well = app.workflows.start(healthy, { id: "well", input: undefined });
    for (let n = 0; n < most; n += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => handle.signal(go, n + i)));
    }
    assert.equal(await handle.result(), most);
    await well;
    await app.advance("2m");
    assert.equal(await app.workflows.get("well").result(), "well");
  });
});
