// Messages to a run whose task a worker holds, because one of its activities runs there. Each arrives long
// before the worker renews its leases (after 10 seconds), without a notification of the store.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { Api, envelope } from "../http-workers/api/api-kit.test.ts";
import { isLimpetError } from "../kernel/errors.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type TestApp, type TestOptions, testLimpet } from "../testing.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { type AnyWorkflow, signal, workflow } from "./definition/definition.ts";

const SOON = "100ms";
const bell = signal<string>("bell");

/** Notes the first signal while its activity runs. */
const busy = workflow("busy", async (ctx) => {
  const long = ctx.activity("long");
  await ctx.activity("note", await ctx.signal(bell));
  await long;
});

/** Notes the result of its child, or the error code, while its activity runs. */
const busyParent = (type: string, queue: string) =>
  workflow("busy parent", async (ctx) => {
    const long = ctx.activity("long");
    const child = ctx.child<unknown>(type, { id: "child", queue, input: [] });
    const ended = await child.catch((error: unknown) => (isLimpetError(error) ? error.code : "another error"));
    await ctx.activity("note", ended);
    await long;
  });

/** Starts a busy child, and ends after that time. */
const brief = (time: string) =>
  workflow("brief", async (ctx) => {
    ctx.child(busy, { id: "busy", onParentClose: "cancel" });
    await ctx.sleep(time as "1s");
  });

interface Opened extends AsyncDisposable {
  readonly app: TestApp;
  /** The notes of all runs. */
  readonly notes: unknown[];
}

/** The activity `long` of all runs ends with the app. */
async function open(workflows: readonly AnyWorkflow[], more: TestOptions = {}): Promise<Opened> {
  const clock = new VirtualClock();
  const stateStore = new MemoryStore(() => clock.now());
  stateStore.workflows.watch = () => () => {};
  const long = Promise.withResolvers<void>();
  const notes: unknown[] = [];
  const activities = { long: () => long.promise, note: (note: unknown) => void notes.push(note) };
  const worker = { lease: "30s", pollInterval: "1h" } as const;
  const app = await testLimpet({ workflows, activities, clock, stateStore, worker, ...more });
  const end = async (): Promise<void> => {
    long.resolve();
    await app.stop();
  };
  return { app, notes, [Symbol.asyncDispose]: end };
}

const statusOf = async (app: TestApp, id: string): Promise<string> => (await app.workflows.get(id).describe()).status;

describe("messages to a run with a running activity", () => {
  it("a signal from another workflow arrives at once", async () => {
    const sender = workflow("sender", async (ctx) => ctx.workflow("busy").signal(bell, "ding"));
    await using opened = await open([busy, sender]);
    const { app, notes } = opened;
    await app.workflows.start(busy, { id: "busy" });
    await app.advance("1s");
    await app.workflows.start(sender, { id: "sender" });
    await app.advance(SOON);
    assert.deepEqual(notes, ["ding"]);
  });

  it("a signal from the run itself arrives at once", async () => {
    const own = workflow("own", async (ctx) => {
      const long = ctx.activity("long");
      ctx.workflow("own").signal(bell, "own");
      await ctx.activity("note", await ctx.signal(bell));
      await long;
    });
    await using opened = await open([own]);
    const { app, notes } = opened;
    await app.workflows.start(own, { id: "own" });
    await app.advance(SOON);
    assert.deepEqual(notes, ["own"]);
  });

  it("a cancel request from another workflow arrives at once", async () => {
    const canceller = workflow("canceller", async (ctx) => ctx.workflow("busy").cancel());
    await using opened = await open([busy, canceller]);
    const { app } = opened;
    await app.workflows.start(busy, { id: "busy" });
    await app.advance("1s");
    await app.workflows.start(canceller, { id: "canceller" });
    await app.advance(SOON);
    assert.equal(await statusOf(app, "busy"), "cancelled");
  });

  it("a signal in the commit of an actor's turn arrives at once", async () => {
    class Ringer extends Actor {
      ring(): void {
        this.workflows.signal("busy", bell, "from an actor");
      }
    }
    await using opened = await open([busy], { actors: [Ringer] });
    const { app, notes } = opened;
    await app.workflows.start(busy, { id: "busy" });
    await app.advance("1s");
    await app.actor(Ringer, "r").ring();
    await app.advance(SOON);
    assert.deepEqual(notes, ["from an actor"]);
  });
});

describe("ends of children of a run with a running activity", () => {
  const child = workflow("child", async (ctx, _: unknown) => {
    await ctx.sleep("2s");
    return "done";
  });
  const parent = busyParent("child", "default");

  it("the result of a child arrives at once", async () => {
    await using opened = await open([parent, child]);
    const { app, notes } = opened;
    await app.workflows.start(parent, { id: "parent" });
    await app.advance("1s");
    assert.deepEqual(notes, []);
    await app.advance("1100ms");
    assert.deepEqual(notes, ["done"]);
  });

  it("the termination of a child arrives at once", async () => {
    await using opened = await open([parent, child]);
    const { app, notes } = opened;
    await app.workflows.start(parent, { id: "parent" });
    await app.advance("1s");
    await app.workflows.get("child").terminate("enough");
    await app.advance(SOON);
    assert.deepEqual(notes, ["WORKFLOW_TERMINATED"]);
  });

  it("the result of a child of an HTTP worker arrives at once", async () => {
    const parentOfOrder = busyParent("order", "orders");
    await using opened = await open([parentOfOrder], { http: { port: 0 } });
    const { app, notes } = opened;
    const api = new Api(app);
    await api.worker("w1");
    await app.workflows.start(parentOfOrder, { id: "parent" });
    await app.advance("1s");
    const task = await api.task("w1", "workflow", { timeout_seconds: 0 });
    const completed = await api.complete(task, [{ type: "complete_workflow", result: envelope("ordered") }]);
    assert.equal(completed.status, 200);
    await app.advance(SOON);
    assert.deepEqual(notes, ["ordered"]);
  });
});

describe("ends of the parent of a run with a running activity", () => {
  it("the end of a parent cancels its child at once", async () => {
    const parent = brief("2s");
    await using opened = await open([parent, busy]);
    const { app } = opened;
    await app.workflows.start(parent, { id: "parent" });
    await app.advance("1s");
    assert.equal(await statusOf(app, "busy"), "running");
    await app.advance("1100ms");
    assert.equal(await statusOf(app, "busy"), "cancelled");
  });

  it("the termination of a parent cancels its child at once", async () => {
    const parent = brief("1h");
    await using opened = await open([parent, busy]);
    const { app } = opened;
    await app.workflows.start(parent, { id: "parent" });
    await app.advance("1s");
    await app.workflows.get("parent").terminate("enough");
    await app.advance(SOON);
    assert.equal(await statusOf(app, "busy"), "cancelled");
  });

  it("the timeout of a parent cancels its child at once", async () => {
    const parent = brief("1h");
    await using opened = await open([parent, busy]);
    const { app } = opened;
    await app.workflows.start(parent, { id: "parent", timeout: "2s" });
    await app.advance("1s");
    assert.equal(await statusOf(app, "busy"), "running");
    await app.advance("1100ms");
    assert.equal(await statusOf(app, "busy"), "cancelled");
  });
});
