// Definitions of workflows: with `pinning: "definition"` a run stays with the text of the code of its first
// worker; by default it does not.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunStart } from "../ports/store/workflows.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { testLimpet } from "../testing.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { type AnyWorkflow, fingerprintOf, query, workflow } from "./definition/definition.ts";
import { readPin } from "./definition/pins.ts";

const whose = query<string>("whose");

/** The same workflow, written twice: each version returns the code that ran its halves. */
const first = workflow("halves", async (ctx): Promise<string> => {
  ctx.onQuery(whose, () => "first");
  const half = ctx.sideEffect(() => "first");
  await ctx.signal("go");
  return `${half} ${ctx.sideEffect(() => "first")}`;
});
const second = workflow("halves", async (ctx): Promise<string> => {
  ctx.onQuery(whose, () => "second");
  const half = ctx.sideEffect(() => "second");
  await ctx.signal("go");
  return `${half} ${ctx.sideEffect(() => "second")}`;
});

const PINNED = { pinning: "definition" };

const open = (store: MemoryStore, code: AnyWorkflow, worker: object = PINNED, more: object = {}) =>
  testLimpet({ workflows: [code], stateStore: store, worker, ...more });

const pinOf = async (store: MemoryStore, workflowId = "h") =>
  readPin((await store.workflows.find({ namespace: "default", workflowId }))?.pinned);

/** A run that rests in its first half after its process ended. */
async function begunBy(code: AnyWorkflow, worker?: object, how: object = {}): Promise<MemoryStore> {
  const store = new MemoryStore();
  const app = await open(store, code, worker);
  await app.workflows.start("halves", { id: "h", input: undefined, ...how });
  await app.advance("1s");
  await app.stop();
  return store;
}

describe("pinning to definitions", () => {
  it("a run is pinned to the code that begins it, and waits for it", async () => {
    const store = await begunBy(first);
    assert.deepEqual(await pinOf(store), { build: undefined, definition: fingerprintOf(first) });
    const other = await open(store, second);
    await other.workflows.get("h").signal("go", undefined);
    await other.advance("1h");
    assert.equal((await other.workflows.get("h").describe()).status, "running");
    await other.stop();
    await using again = await open(store, first);
    const result = again.workflows.get("h").result();
    await again.advance("1m");
    assert.equal(await result, "first first");
  });

  it("a run is pinned by its first worker when the process that started it lacks the code", async () => {
    const store = new MemoryStore();
    await using client = await testLimpet({ stateStore: store, worker: { pinning: "definition" } });
    await client.workflows.start("halves", { id: "h", input: undefined });
    assert.equal((await pinOf(store)).definition, undefined);
    await using app = await open(store, second);
    await app.advance("1m");
    assert.equal((await pinOf(store)).definition, fingerprintOf(second));
  });

  it("a run started for a build is pinned to both, and continues where both fit", async () => {
    const pinned = { pinning: "definition", build: "1" };
    const store = await begunBy(first, pinned, { build: "1" });
    assert.deepEqual(await pinOf(store), { build: "1", definition: fingerprintOf(first) });
    const goes = async (code: AnyWorkflow, worker: object) => {
      await using app = await open(store, code, worker);
      await app.workflows.get("h").signal("go", undefined);
      await app.advance("1m");
      return (await app.workflows.get("h").describe()).status;
    };
    assert.equal(await goes(second, pinned), "running");
    assert.equal(await goes(first, { ...pinned, build: "2" }), "running");
    assert.equal(await goes(second, { ...pinned, build: "2", compatibleBuilds: ["1"] }), "running");
    assert.equal(await goes(first, { ...pinned, build: "2", compatibleBuilds: ["1"] }), "completed");
  });

  it("a pinned run stays pinned on a worker that pins no new runs, and continues only on the same code", async () => {
    const store = await begunBy(first);
    const goes = async (code: AnyWorkflow) => {
      await using app = await open(store, code, {});
      await app.workflows.get("h").signal("go", undefined);
      await app.advance("1m");
      return (await app.workflows.get("h").describe()).status;
    };
    assert.equal(await goes(second), "running");
    assert.equal(await goes(first), "completed");
  });

  it("a worker that comes back with other code does not get the run that it had in memory", async () => {
    const store = await begunBy(first);
    // An affinity for the next worker, as if it had the run in memory.
    await using app = await open(store, second);
    const [{ worker } = { worker: "" }] = await store.workflows.workers("default");
    const definition = fingerprintOf(first);
    const pins = [{ pinned: JSON.stringify([null, definition]), pins: JSON.stringify([null, definition]) }];
    await app.workflows.get("h").signal("first", undefined);
    const { tasks } = await store.workflows.claim({
      namespace: "default",
      queue: "default",
      types: [{ type: "halves", pins }],
      limit: 1,
      isSticky: false,
      lease: { token: "t", worker: "gone", leaseMs: 60_000 },
      staleMs: 1,
    });
    const [{ ref, last, delivered: taken } = assert.fail("nothing was claimed")] = tasks;
    await store.workflows.complete([
      {
        ref,
        token: "t",
        last,
        taken,
        batch: undefined,
        outcome: { kind: "rest" },
        affinity: { worker, ms: 3_600_000 },
        attributes: undefined,
        memo: undefined,
        reminders: [],
        starts: [],
        messages: [],
      },
    ]);
    await app.workflows.get("h").signal("go", undefined);
    await app.advance("10m");
    const { task, stickyWorker } = (await store.workflows.find({ namespace: "default", workflowId: "h" }))!;
    assert.deepEqual([stickyWorker, task?.state, task?.attempt], [worker, "ready", 0]);
  });

  it("a run that continues as new is pinned to no definition until a worker claims it", async () => {
    const rounds = workflow<number, string>("rounds", async (ctx, round) => {
      await ctx.signal("go");
      return round === 0 ? ctx.continueAsNew(1) : "done";
    });
    const store = new MemoryStore();
    const { workflows } = store;
    const complete = workflows.complete.bind(workflows);
    const starts: RunStart[] = [];
    workflows.complete = (batch) => {
      starts.push(...batch.flatMap((one) => one.starts));
      return complete(batch);
    };
    await using app = await open(store, rounds, { pinning: "definition", build: "1" });
    for (const [id, build] of [["free"], ["for a build", "1"]] as [string, string?][]) {
      await app.workflows.start("rounds", { id, input: 0, ...(build !== undefined && { build }) });
      await app.workflows.get(id).signal("go", undefined);
    }
    await app.advance("1m");
    const pinned = starts.map((start) => [start.workflowId, start.pinned]);
    assert.deepEqual(pinned.sort(), [
      ["for a build", "1"],
      ["free", undefined],
    ]);
    for (const id of ["free", "for a build"]) {
      assert.deepEqual(await pinOf(store, id), { build: "1", definition: fingerprintOf(rounds) });
    }
  });

  it("a query is answered by the code that its run is pinned to, wherever that is", async () => {
    const clock = new VirtualClock();
    const store = new MemoryStore(() => clock.now());
    await using one = await open(store, first, PINNED, { clock });
    await one.workflows.start("halves", { id: "h", input: undefined });
    await one.advance("1s");
    await using two = await open(store, second, PINNED, { clock });
    const asked = two.workflows.get("h").query(whose);
    for (let i = 0; i < 20; i++) await one.advance("100ms");
    assert.equal(await asked, "first");
  });
});

describe("default pinning", () => {
  it("by default a run is pinned to no definition, and continues on other code that fits its history", async () => {
    const store = await begunBy(first, {});
    assert.deepEqual(await pinOf(store), { build: undefined, definition: undefined });
    await using app = await open(store, second, {});
    await app.workflows.get("h").signal("go", undefined);
    const result = app.workflows.get("h").result();
    await app.advance("1m");
    assert.equal(await result, "first second");
  });
});
