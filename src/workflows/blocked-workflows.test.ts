// Blocked runs: their reasons, their end, and their repair.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { isLimpetError } from "../kernel/errors.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type TestApp, testLimpet } from "../testing.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import type { WorkflowContext } from "./definition/context.ts";
import { workflow } from "./definition/definition.ts";
import { ENGINE_FLAGS } from "./engine/engine-flags.ts";
import { writeEventBatch } from "./engine/events.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

const changing = (code: (ctx: WorkflowContext) => Promise<void>) => workflow("changing", code);
const activities = { a: async () => {}, b: async () => {} };

/** Starts a run with the old code, and returns the reason that a worker with the new code records. */
async function blockedBy(before: ReturnType<typeof changing>, after: ReturnType<typeof changing>): Promise<string> {
  const store = new MemoryStore();
  const old = await testLimpet({ workflows: [before], activities, stateStore: store });
  await old.workflows.start(before, { id: "c", input: undefined });
  await old.advance("1s");
  await old.stop();
  await using next = await testLimpet({ workflows: [after], activities, stateStore: store });
  await next.workflows.get("c").signal("go", undefined);
  await next.advance("1m");
  return String((await next.workflows.get("c").describe()).blocked);
}

describe("runs with changed code", () => {
  it("the reason names the command in the history, the command of the code, and its line", async () => {
    const before = changing(async (ctx) => {
      await ctx.activity("a");
      await ctx.signal("go");
    });
    const after = changing(async (ctx) => {
      await ctx.activity("b");
      await ctx.signal("go");
    });
    const message = await blockedBy(before, after);
    assert.match(message, /history has ActivityScheduled a as decision 1, the code now decides ActivityScheduled b/);
    assert.match(message, / at .*blocked-workflows\.test\.ts:\d+:\d+$/);
  });

  it("the reason names the place where the code waits instead of issuing the recorded command", async () => {
    const before = changing(async (ctx) => {
      await ctx.activity("a");
      await ctx.signal("go");
    });
    const after = changing(async (ctx) => {
      await ctx.signal("go");
    });
    const message = await blockedBy(before, after);
    assert.match(message, /the history has ActivityScheduled a .*, and the code does not decide it/);
    assert.match(message, /it waits for signal go at .*blocked-workflows\.test\.ts:\d+:\d+/);
  });

  it("a run is blocked when its code ends before its history does", async () => {
    const before = changing(async (ctx) => {
      await ctx.activity("a");
      await ctx.activity("b");
      await ctx.signal("go");
    });
    const after = changing(async (ctx) => {
      await ctx.activity("a");
    });
    assert.match(await blockedBy(before, after), /history has ActivityScheduled b .*decides WorkflowCompleted/);
  });
});

/** Misuses the clock after a signal. */
const broken = workflow("broken", async (ctx): Promise<void> => {
  ctx.child(quiet, { id: "grandchild", input: undefined });
  await ctx.signal("go");
  Date.now();
});
const quiet = workflow("quiet", async (ctx): Promise<void> => void (await ctx.signal("end")));
const parent = workflow("parent", async (ctx): Promise<string> => {
  return ctx.child(broken, { id: "b", input: undefined }).then(
    () => "fine",
    (error) => error.code,
  );
});

describe("blocked runs", () => {
  for (const [way, code] of [
    ["cancel", "WORKFLOW_CANCELLED"],
    ["terminate", "WORKFLOW_TERMINATED"],
  ] as const) {
    it(`a blocked run can be ended by ${way}, and its parent and children are notified`, async () => {
      await using app = await testLimpet({ workflows: [parent, broken, quiet] });
      const top = await app.workflows.start(parent, { input: undefined });
      await app.advance("1s");
      const handle = app.workflows.get("b");
      await handle.signal("go", undefined);
      await app.advance("1s");
      assert.match(String((await handle.describe()).blocked), /Date\.now/);
      await handle[way]("never mind");
      await app.advance("10m");
      await assert.rejects(handle.result(), hasCode(code));
      assert.equal(await top.result(), code);
      assert.equal((await app.workflows.get("grandchild").describe()).status, "terminated");
    });
  }

  const canceller = workflow("canceller", async (ctx, id: string): Promise<void> => ctx.workflow(id).cancel());
  class Clerk extends Actor<Record<string, never>> {
    cancel(id: string): void {
      this.workflows.cancel(id, "never mind");
    }
  }

  for (const [whom, ask] of [
    ["a client", (app: TestApp, id: string) => app.workflows.get(id).cancel()],
    [
      "another workflow",
      async (app: TestApp, id: string) => void (await app.workflows.start(canceller, { input: id })),
    ],
    ["the turn of an actor", (app: TestApp, id: string) => app.actor(Clerk, "c").cancel(id)],
    ["its parent, which ends", (app: TestApp) => app.workflows.get("p").terminate()],
  ] as const) {
    it(`a blocked run ends without waiting for its next retry when ${whom} requests it`, async () => {
      const asks = workflow("asks", async (ctx): Promise<void> => {
        ctx.child(broken, { id: "b", input: undefined, onParentClose: "cancel" });
        await ctx.signal("end");
      });
      await using app = (await testLimpet({
        workflows: [asks, broken, quiet, canceller],
        actors: [Clerk],
      })) as TestApp;
      await app.workflows.start(asks, { id: "p", input: undefined });
      await app.advance("1s");
      await app.workflows.get("b").signal("go", undefined);
      await app.advance("1h");
      const { attempt } = await app.workflows.get("b").describe();
      assert.ok(attempt > 8, "its pauses are minutes by now");
      await ask(app, "b");
      await app.advance("1s");
      assert.equal((await app.workflows.get("b").describe()).status, "cancelled");
    });
  }

  it("a blocked run finds a request to end behind any number of other messages", async () => {
    await using app = await testLimpet({ workflows: [broken, quiet] });
    const handle = await app.workflows.start(broken, { id: "b", input: undefined });
    await app.advance("1s");
    await handle.signal("go", undefined);
    await app.advance("1m");
    await Promise.all(Array.from({ length: 1_500 }, (_, i) => handle.signal("more", i)));
    await handle.cancel();
    await app.advance("1s");
    assert.equal((await handle.describe()).status, "cancelled");
  });

  it("a request to end that arrives while the worker returns the task is not lost", async () => {
    const clock = new VirtualClock();
    const store = new MemoryStore(() => clock.now());
    await using app = await testLimpet({ workflows: [broken, quiet], clock, stateStore: store });
    const handle = await app.workflows.start(broken, { id: "b", input: undefined });
    await app.advance("1s");
    await handle.signal("go", undefined);
    await app.advance("1h");
    const { giveBack } = store.workflows;
    store.workflows.giveBack = async (batch) => {
      store.workflows.giveBack = giveBack;
      // After the last read of the inbox, and before the pause.
      await handle.cancel();
      return giveBack.call(store.workflows, batch);
    };
    await store.workflows.wake({ namespace: "default", workflowId: "b" });
    await app.advance("10s");
    assert.equal((await handle.describe()).status, "cancelled");
  });

  it("a blocked run does not delay other runs of its type", async () => {
    const moody = workflow("moody", async (ctx, isGood: boolean): Promise<string> => {
      await ctx.signal("go");
      if (!isGood) await new Promise(() => {});
      return "fine";
    });
    await using app = await testLimpet({ workflows: [moody] });
    const bad = await app.workflows.start(moody, { input: false });
    const good = await Promise.all([1, 2, 3].map(() => app.workflows.start(moody, { input: true })));
    for (const handle of [bad, ...good]) await handle.signal("go", undefined);
    await app.advance("1s");
    assert.deepEqual(await Promise.all(good.map((handle) => handle.result())), ["fine", "fine", "fine"]);
    assert.equal(await app.workflows.count({ isBlocked: true }), 1);
  });

  it("a run that a later version began waits for that version", async () => {
    const store = new MemoryStore();
    await using app = await testLimpet({ workflows: [quiet], stateStore: store });
    const { start, started, at } = app.workflows.prepare("quiet", { id: "later", input: undefined });
    const first = writeEventBatch({ at, events: [{ ...started, flags: ENGINE_FLAGS + 1 }] });
    await store.workflows.start([{ ...start, first }]);
    await app.advance("1m");
    const { blocked, status } = await app.workflows.get("later").describe();
    assert.match(String(blocked), /was begun by a later version/);
    assert.equal(status, "running");
    await app.workflows.get("later").terminate();
  });
});
