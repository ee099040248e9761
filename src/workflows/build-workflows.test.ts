// Builds of the code: a run stays with the build of its first worker, until a compatible build continues it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { type AnyWorkflow, workflow } from "./definition/definition.ts";

/** Returns the code that ran each of its two halves. */
const halves = (code: string) =>
  workflow("halves", async (ctx): Promise<string> => {
    const first = ctx.sideEffect(() => code);
    await ctx.signal("go");
    return `${first} ${ctx.sideEffect(() => code)}`;
  });

async function openBuild(store: MemoryStore, build: string, more: { readonly compatibleBuilds?: string[] } = {}) {
  return testLimpet({ workflows: [halves(build)], stateStore: store, worker: { build, ...more } });
}

describe("runs and builds", () => {
  it("a run is pinned to the build of its first worker, and waits for it", async () => {
    const store = new MemoryStore();
    const one = await openBuild(store, "1");
    const handle = await one.workflows.start("halves", { id: "h", input: undefined });
    await one.advance("1s");
    assert.equal((await store.workflows.find({ namespace: "default", workflowId: "h" }))?.pinned, "1");
    await one.stop();
    const two = await openBuild(store, "2");
    await two.workflows.get("h").signal("go", undefined);
    await two.advance("1h");
    assert.equal((await two.workflows.get("h").describe()).status, "running");
    await two.stop();
    await using again = await openBuild(store, "1");
    const result = again.workflows.get("h").result();
    await again.advance("1m");
    assert.equal(await result, "1 1");
    assert.equal(handle.id, "h");
  });

  it("a run continues on a build that declares itself compatible", async () => {
    const store = new MemoryStore();
    const one = await openBuild(store, "1");
    await one.workflows.start("halves", { id: "h", input: undefined });
    await one.advance("1s");
    await one.stop();
    await using two = await openBuild(store, "2", { compatibleBuilds: ["1"] });
    await two.workflows.get("h").signal("go", undefined);
    const result = two.workflows.get("h").result();
    await two.advance("1m");
    assert.equal(await result, "1 2");
  });

  it("a run started for a build does not run in a process of another build", async () => {
    const store = new MemoryStore();
    await using one = await openBuild(store, "1");
    await one.workflows.start("halves", { id: "h", input: undefined, build: "2" });
    await one.advance("1m");
    assert.equal((await one.workflows.get("h").describe()).historyEvents, 1);
    await using two = await openBuild(store, "2");
    await two.workflows.get("h").signal("go", undefined);
    const result = two.workflows.get("h").result();
    await two.advance("1m");
    assert.equal(await result, "2 2");
  });

  it("a run of a worker without a build is pinned to none", async () => {
    const store = new MemoryStore();
    const one = await openBuild(store, "");
    await one.workflows.start("halves", { id: "h", input: undefined });
    await one.advance("1s");
    await one.stop();
    await using two = await openBuild(store, "2");
    await two.workflows.get("h").signal("go", undefined);
    const result = two.workflows.get("h").result();
    await two.advance("1m");
    assert.equal(await result, " 2");
  });

  it("a run continues as new on the newest build, unless its start named a build", async () => {
    const store = new MemoryStore();
    const rounds = (code: string) =>
      workflow("rounds", async (ctx, codes: string[]): Promise<string[]> => {
        const now = [...codes, ctx.sideEffect(() => code)];
        await ctx.signal("go");
        return now.length < 2 ? ctx.continueAsNew(now) : now;
      });
    const open = (build: string, compatibleBuilds: string[] = []) =>
      testLimpet({ workflows: [rounds(build)], stateStore: store, worker: { build, compatibleBuilds } });
    const one = await open("1");
    for (const [id, build] of [
      ["free", undefined],
      ["bound", "1"],
    ] as const) {
      await one.workflows.start("rounds", { id, input: [], ...(build !== undefined && { build }) });
    }
    await one.advance("1s");
    await one.stop();
    const two = await open("2", ["1"]);
    for (const id of ["free", "bound"]) await two.workflows.get(id).signal("go", undefined);
    await two.advance("1m");
    const buildOf = async (workflowId: string) =>
      (await store.workflows.find({ namespace: "default", workflowId }))?.pinned;
    assert.deepEqual([await buildOf("free"), await buildOf("bound")], ["2", "1"]);
    await two.stop();
  });
});

describe("children and builds", () => {
  /** Starts a child and returns the code that ran it. */
  const parentOf = (options: { readonly queue?: string; readonly onParentClose?: "abandon" } = {}) =>
    workflow("parent", async (ctx): Promise<string> => {
      await ctx.signal("begin");
      return ctx.child<string>("halves", { id: "child", input: undefined, ...options });
    });
  const openWith = (store: MemoryStore, build: string, parent: AnyWorkflow, more: object = {}) =>
    testLimpet({ workflows: [parent, halves(build)], stateStore: store, worker: { build, ...more } });
  const buildOf = async (store: MemoryStore, workflowId: string) =>
    (await store.workflows.find({ namespace: "default", workflowId }))?.pinned;

  it("a child is pinned to the build of its parent, and newer code leaves it alone", async () => {
    const store = new MemoryStore();
    const one = await openWith(store, "1", parentOf());
    await one.workflows.start("parent", { id: "p", input: undefined });
    await one.advance("1s");
    await using two = await openWith(store, "2", parentOf());
    await one.workflows.get("p").signal("begin", undefined);
    await one.advance("1s");
    assert.equal(await buildOf(store, "child"), "1");
    await one.stop();
    await two.workflows.get("child").signal("go", undefined);
    await two.advance("1h");
    assert.equal((await two.workflows.get("child").describe()).status, "running");
    await using again = await openWith(store, "1", parentOf());
    const result = again.workflows.get("p").result();
    await again.advance("10m");
    assert.equal(await result, "1 1");
  });

  it("a child gets its parent's pin, also when a compatible build runs the parent", async () => {
    const store = new MemoryStore();
    const one = await openWith(store, "1", parentOf());
    await one.workflows.start("parent", { id: "p", input: undefined });
    await one.advance("1s");
    await one.stop();
    await using two = await openWith(store, "2", parentOf(), { compatibleBuilds: ["1"] });
    await two.workflows.get("p").signal("begin", undefined);
    await two.advance("1s");
    assert.equal(await buildOf(store, "child"), "1");
    await two.workflows.get("child").signal("go", undefined);
    const result = two.workflows.get("p").result();
    await two.advance("1m");
    assert.equal(await result, "2 2");
  });

  it("a child without code on its parent's worker is pinned by its own first worker", async () => {
    const store = new MemoryStore();
    const open = (build: string, flow: AnyWorkflow) =>
      testLimpet({ workflows: [flow], stateStore: store, worker: { build } });
    await using one = await open("1", parentOf());
    await using two = await open("2", halves("2"));
    await one.workflows.start("parent", { id: "p", input: undefined });
    await one.workflows.get("p").signal("begin", undefined);
    await one.advance("1s");
    await two.advance("1m");
    assert.equal(await buildOf(store, "child"), "2");
  });

  it("a child in another queue is not pinned by its parent, whose build has no meaning there", async () => {
    const store = new MemoryStore();
    await using one = await openWith(store, "1", parentOf({ queue: "other" }));
    await one.workflows.start("parent", { id: "p", input: undefined });
    await one.workflows.get("p").signal("begin", undefined);
    await one.advance("1s");
    assert.equal(await buildOf(store, "child"), undefined);
    assert.equal((await one.workflows.get("child").describe()).queue, "other");
  });

  it("a child of an unbound parent is unbound", async () => {
    const store = new MemoryStore();
    await using one = await openWith(store, "", parentOf());
    await one.workflows.start("parent", { id: "p", input: undefined });
    await one.workflows.get("p").signal("begin", undefined);
    await one.advance("1s");
    assert.deepEqual([await buildOf(store, "p"), await buildOf(store, "child")], [undefined, undefined]);
  });

  it("a child continues as new on its parent's build, unless it may outlive the parent", async () => {
    for (const [onParentClose, expected] of [
      [undefined, "1"],
      ["abandon", "2"],
    ] as const) {
      const store = new MemoryStore();
      const rounds = workflow("rounds", async (ctx, round: number): Promise<void> => {
        await ctx.signal("go");
        if (round === 1) ctx.continueAsNew(2);
      });
      const parent = workflow("parent", async (ctx): Promise<void> => {
        await ctx.child(rounds, { id: "child", input: 1, ...(onParentClose && { onParentClose }) });
      });
      const open = (build: string, compatibleBuilds: string[]) =>
        testLimpet({ workflows: [parent, rounds], stateStore: store, worker: { build, compatibleBuilds } });
      const one = await open("1", []);
      await one.workflows.start(parent, { id: "p", input: undefined });
      await one.advance("1s");
      await one.stop();
      await using two = await open("2", ["1"]);
      await two.workflows.get("child").signal("go", undefined);
      await two.advance("1m");
      const { continuedFrom } = (await two.workflows.get("child").history())[0]!.event as { continuedFrom?: string };
      assert.ok(continuedFrom !== undefined);
      assert.equal(await buildOf(store, "child"), expected, onParentClose);
    }
  });
});

describe("drained builds", () => {
  it("a drained build gets no tasks until it is resumed, and other builds leave its runs alone", async () => {
    const store = new MemoryStore();
    await using one = await openBuild(store, "1");
    await one.workflows.start("halves", { id: "h", input: undefined });
    await one.advance("1s");
    const mark = { namespace: "default", worker: `$drain "default" 1`, queue: "default", build: "1" };
    await store.workflows.seen({ ...mark, isSticky: false, isDraining: true, about: "{}" });
    await one.advance("1m");
    await one.workflows.get("h").signal("go", undefined);
    await one.workflows.start("halves", { id: "new", input: undefined });
    await one.advance("1m");
    for (const id of ["h", "new"]) assert.equal((await one.workflows.get(id).describe()).status, "running");
    assert.equal((await one.workflows.get("new").describe()).historyEvents, 1);
    await store.workflows.forgetWorker("default", mark.worker);
    await one.advance("1m");
    assert.equal(await one.workflows.get("h").result(), "1 1");
  });
});
