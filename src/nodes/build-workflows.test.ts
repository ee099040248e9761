// Builds of the code: a run stays with the build that took it first, until a compatible one takes over.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { workflow } from "../workflows/definition.ts";

/** Says which code ran its two halves. */
const halves = (code: string) =>
  workflow("halves", async (ctx): Promise<string> => {
    const first = ctx.sideEffect(() => code);
    await ctx.signal("go");
    return `${first} ${ctx.sideEffect(() => code)}`;
  });

async function openBuild(store: MemoryStore, build: string, more: { readonly compatibleBuilds?: string[] } = {}) {
  return testLimpet({ workflows: [halves(build)], stateStore: store, worker: { build, ...more } });
}

describe("a run", () => {
  it("is bound to the build of the worker that takes it first, and waits for it", async () => {
    const store = new MemoryStore();
    const one = await openBuild(store, "1");
    const handle = await one.workflows.start("halves", { id: "h", input: undefined });
    await one.advance("1s");
    assert.equal((await store.workflows.find({ namespace: "default", workflowId: "h" }))?.build, "1");
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

  it("goes on with a build that says it is compatible", async () => {
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

  it("that is started for a build is not run by the process that starts it, if that has another one", async () => {
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

  it("of a worker without a build is bound to none", async () => {
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

  it("continues as new on the newest build, unless it was started for a certain one", async () => {
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
      (await store.workflows.find({ namespace: "default", workflowId }))?.build;
    assert.deepEqual([await buildOf("free"), await buildOf("bound")], ["2", "1"]);
    await two.stop();
  });
});

describe("a build that is drained", () => {
  it("gets no more work until it is resumed, and others leave its runs alone", async () => {
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
