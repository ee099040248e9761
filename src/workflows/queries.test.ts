// Queries in every process: without the code, with other code, or while another process has the run in
// memory.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type TestApp, type TestOptions, testLimpet } from "../testing.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { query, update, workflow } from "./definition/definition.ts";

const hasCode =
  (code: string, about = /./) =>
  (error: unknown): boolean =>
    isLimpetError(error) && error.code === code && about.test(error.message);

const state = query<{ heard: number; by: string; at: Date }, { plus: number } | undefined>("state");
const add = update<number, number>("add");

/** Counts its signals, and returns the code that it runs. */
const counts = (by = "code") =>
  workflow("counts", async (ctx): Promise<number> => {
    let heard = 0;
    ctx.onQuery(state, (input) => ({ heard: heard + (input?.plus ?? 0), by, at: new Date(7) }));
    ctx.onQuery("fails", () => {
      throw new RangeError("on purpose");
    });
    ctx.onQuery("odd", () => () => {});
    ctx.onUpdate(add, (n) => {
      heard += n;
      return heard;
    });
    while ((await ctx.signal("go")) !== "end") heard++;
    return heard;
  });

/** Processes on one store and one clock. */
class Processes implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  readonly #apps: TestApp[] = [];

  async open(options: TestOptions = {}): Promise<TestApp> {
    const app = (await testLimpet({ ...options, clock: this.clock, stateStore: this.store })) as TestApp;
    this.#apps.push(app);
    return app;
  }

  /** The result of a promise while time passes. */
  async meanwhile<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    done.catch(() => {});
    for (let i = 0; i < 300 && !isDone; i++) await this.#apps[0]!.advance("100ms");
    return done;
  }

  /** Rows that questions left behind. */
  async left(): Promise<string[]> {
    const rows = await this.store.reminders.list({ namespace: "default", limit: 100 });
    return rows.map(({ key }) => key.type).filter((type) => /^\$\$(ask|answer)/.test(type));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const app of this.#apps) await app.stop();
  }
}

describe("queries in a process without the code", () => {
  it("a query is answered by another process with the code, and is no part of the run", async () => {
    await using all = new Processes();
    const client = await all.open();
    const worker = await all.open({ workflows: [counts()] });
    await worker.workflows.start("counts", { id: "c", input: undefined });
    await worker.workflows.get("c").signal("go", 1);
    await client.advance("1s");
    const handle = client.workflows.get("c");
    const before = await handle.describe();
    assert.deepEqual(await all.meanwhile(handle.query(state)), { heard: 1, by: "code", at: new Date(7) });
    assert.equal((await all.meanwhile(handle.query(state, { plus: 2 }))).heard, 3);
    const after = await handle.describe();
    assert.deepEqual([after.historyEvents, after.attempt], [before.historyEvents, before.attempt]);
    await client.advance("1s");
    assert.deepEqual(await all.left(), []);
  });

  it("a query of a closed run is answered", async () => {
    await using all = new Processes();
    const client = await all.open();
    const worker = await all.open({ workflows: [counts()] });
    const handle = await worker.workflows.start("counts", { id: "c", input: undefined });
    await handle.signal("go", "end");
    await handle.result();
    assert.equal((await all.meanwhile(client.workflows.get("c").query(state))).heard, 0);
  });

  it("a query throws the error of the code, and rejects an invalid question or answer", async () => {
    await using all = new Processes();
    const client = await all.open();
    const worker = await all.open({ workflows: [counts()] });
    await worker.workflows.start("counts", { id: "c", input: undefined });
    const handle = client.workflows.get("c");
    await assert.rejects(all.meanwhile(handle.query("fails")), { name: "RangeError", message: "on purpose" });
    await assert.rejects(all.meanwhile(handle.query("nothing")), hasCode("QUERY_UNKNOWN", /there are: state, fails/));
    await assert.rejects(all.meanwhile(handle.query("odd")), hasCode("RESULT_INVALID"));
    const big = "x".repeat(2 * 1024 * 1024);
    await assert.rejects(all.meanwhile(handle.query("state", big)), hasCode("BODY_TOO_LARGE"));
  });

  it("a query goes to the process that has the run in memory, which does not replay it", async () => {
    await using all = new Processes();
    const client = await all.open();
    const one = await all.open({ workflows: [counts()] });
    const two = await all.open({ workflows: [counts()] });
    const replays = ({ metrics }: TestApp): string =>
      /limpet_workflow_replay_seconds_count\S* (\d+)/.exec(metrics())?.[1] ?? "0";
    await two.workflows.start("counts", { id: "c", input: undefined });
    await client.advance("1s");
    const before = [replays(one), replays(two)];
    assert.equal((await all.meanwhile(client.workflows.get("c").query(state))).heard, 0);
    assert.deepEqual([replays(one), replays(two)], before);
  });

  it("a query is answered by a process with rare heartbeats, because its leases are long", async () => {
    await using all = new Processes();
    const long = { worker: { lease: "1h" } };
    const client = await all.open(long);
    const worker = await all.open({ workflows: [counts()], ...long });
    await worker.workflows.start("counts", { id: "c", input: undefined });
    await client.advance("5m");
    assert.equal((await all.meanwhile(client.workflows.get("c").query(state))).heard, 0);
  });

  it("a query fails with the reason when no process with the code is alive", async () => {
    await using all = new Processes();
    const client = await all.open();
    await client.workflows.start("counts", { id: "c", input: undefined });
    const rejection = hasCode(
      "WORKFLOW_TYPE_UNKNOWN",
      /this process has none of counts; no worker that has it is there \(queue default\)/,
    );
    await assert.rejects(client.workflows.get("c").query(state), rejection);
    const worker = await all.open({ workflows: [counts()] });
    await client.advance("1s");
    assert.equal((await all.meanwhile(client.workflows.get("c").query(state))).heard, 0);
    await worker.stop();
    await assert.rejects(client.workflows.get("c").query(state), rejection);
    assert.deepEqual(await all.left(), []);
  });

  it("a query goes to the next process when the first one died, and fails when none answers", async () => {
    await using all = new Processes();
    const client = await all.open();
    const worker = await all.open({ workflows: [counts()] });
    await worker.workflows.start("counts", { id: "c", input: undefined });
    await client.advance("1s");
    const { store } = all;
    const [row] = await store.workflows.workers("default");
    const dead = { ...row!, worker: "dead", isSticky: true };
    await store.workflows.seen(dead);
    const { find } = store.workflows;
    store.workflows.find = async (key) => {
      const run = await find.call(store.workflows, key);
      return run && { ...run, stickyWorker: "dead" };
    };
    assert.equal((await all.meanwhile(client.workflows.get("c").query(state))).heard, 0);
    store.workflows.find = find;
    await worker.stop();
    await store.workflows.seen(dead);
    const given = all.meanwhile(client.workflows.get("c").query(state));
    await assert.rejects(given, hasCode("CALL_TIMEOUT", /have the code of counts did not answer: dead/));
    await client.advance("1s");
    assert.deepEqual(await all.left(), []);
  });

  it("a query ends at once when the asking process stops", async () => {
    await using all = new Processes();
    const client = await all.open();
    await client.workflows.start("counts", { id: "c", input: undefined });
    const about = JSON.stringify({ types: ["counts"] });
    const row = {
      namespace: "default",
      worker: "dead",
      queue: "default",
      build: "",
      isSticky: true,
      isDraining: false,
    };
    await all.store.workflows.seen({ ...row, about });
    const asked = assert.rejects(client.workflows.get("c").query(state), hasCode("STOPPING"));
    while ((await all.left()).length < 2) await client.advance("1ms");
    await client.stop();
    await asked;
  });

  it("a query leaves no rows when the asking process dies", async () => {
    await using all = new Processes();
    const client = await all.open();
    const worker = await all.open({ workflows: [counts()] });
    await worker.workflows.start("counts", { id: "c", input: undefined });
    const { store } = all;
    const [row] = await store.workflows.workers("default");
    await store.workflows.forgetWorker("default", row!.worker);
    await store.workflows.seen({ ...row!, worker: "dead" });
    const { write } = store.reminders;
    // The process dies with the question in the store, and deletes nothing.
    store.reminders.write = async (batch) => {
      const isOver = batch.some(({ kind, key }) => kind === "cancel" && key.type.startsWith("$$"));
      return isOver ? batch.map(() => ({ kind: "cancelled", existed: true })) : write.call(store.reminders, batch);
    };
    await assert.rejects(all.meanwhile(client.workflows.get("c").query(state)), hasCode("CALL_TIMEOUT"));
    assert.deepEqual(await all.left(), ["$$answer", "$$ask/dead"]);
    store.reminders.write = write;
    await client.advance("1m");
    assert.deepEqual(await all.left(), []);
  });

  it("a query leaves no rows when the answering process dies before it completes the question, and the asking one dies too", async () => {
    await using all = new Processes();
    const client = await all.open();
    const worker = await all.open({ workflows: [counts()] });
    await worker.workflows.start("counts", { id: "c", input: undefined });
    const { reminders, workflows } = all.store;
    const [row] = await workflows.workers("default");
    const { write, settle } = reminders;
    reminders.write = async (batch) => {
      const isOver = batch.some(({ kind, key }) => kind === "cancel" && key.type.startsWith("$$"));
      return isOver ? batch.map(() => ({ kind: "cancelled", existed: true })) : write.call(reminders, batch);
    };
    reminders.settle = async (batch) => batch.map(() => true);
    await all.meanwhile(client.workflows.get("c").query(state));
    assert.deepEqual((await all.left()).sort(), ["$$answer", `$$ask/${row!.worker}`]);
    // No other process claims questions to the dead one.
    const { claim } = reminders;
    reminders.claim = async (request) => {
      const types = request.types.filter((type) => !type.startsWith("$$ask"));
      return claim.call(reminders, { ...request, types });
    };
    Object.assign(reminders, { write, settle });
    await client.advance("2m");
    assert.deepEqual(await all.left(), []);
  });

  it("a query over HTTP is answered in the same way", async () => {
    await using all = new Processes();
    const client = await all.open();
    const worker = await all.open({ workflows: [counts()] });
    await worker.workflows.start("counts", { id: "c", input: undefined });
    await client.advance("1s");
    const answer = await all.meanwhile(client.host.workflows.query({ workflowId: "c" }, "state", undefined));
    assert.equal((answer as { heard: number }).heard, 0);
  });
});

describe("queries in a process with other code", () => {
  it("a query is answered by a process of the build that the run is pinned to", async () => {
    await using all = new Processes();
    const one = await all.open({ workflows: [counts("one")], worker: { build: "1" } });
    const two = await all.open({ workflows: [counts("two")], worker: { build: "2" } });
    await one.workflows.start("counts", { id: "c", input: undefined });
    await one.advance("1s");
    assert.equal((await all.meanwhile(two.workflows.get("c").query(state))).by, "one");
    assert.equal((await one.workflows.get("c").query(state)).by, "one");
  });

  it("a query is answered by a compatible build, and by the local build when no better one is alive", async () => {
    await using all = new Processes();
    const one = await all.open({ workflows: [counts("one")], worker: { build: "1" } });
    await one.workflows.start("counts", { id: "c", input: undefined });
    await one.advance("1s");
    const three = await all.open({ workflows: [counts("three")], worker: { build: "3" } });
    await one.stop();
    assert.equal((await all.meanwhile(three.workflows.get("c").query(state))).by, "three");
    await all.open({ workflows: [counts("two")], worker: { build: "2", compatibleBuilds: ["1"] } });
    assert.equal((await all.meanwhile(three.workflows.get("c").query(state))).by, "two");
  });

  it("a query whose local code does not fit the history is answered by a process whose code does", async () => {
    await using all = new Processes();
    const old = (ctx: Parameters<ReturnType<typeof counts>["run"]>[0]) => ctx.onQuery("which", () => "old");
    const before = workflow("changing", async (ctx): Promise<void> => {
      old(ctx);
      await ctx.sleep("1d");
    });
    const after = workflow("changing", async (ctx): Promise<void> => {
      ctx.onQuery("which", () => "new");
      await ctx.activity("step");
    });
    const one = await all.open({ workflows: [before] });
    await one.workflows.start(before, { id: "c", input: undefined });
    await one.advance("1s");
    const two = await all.open({ workflows: [after] });
    assert.equal(await all.meanwhile(two.workflows.get("c").query("which")), "old");
    await one.stop();
    await assert.rejects(all.meanwhile(two.workflows.get("c").query("which")), hasCode("WORKFLOW_DIVERGED"));
  });
});

describe("updates in a process without the code", () => {
  it("an update is handled by a process with the code", async () => {
    await using all = new Processes();
    const client = await all.open();
    const worker = await all.open({ workflows: [counts()] });
    await worker.workflows.start("counts", { id: "c", input: undefined });
    await client.advance("1s");
    assert.equal(await all.meanwhile(client.workflows.get("c").update(add, 5)), 5);
    assert.equal((await all.meanwhile(client.workflows.get("c").query(state))).heard, 5);
  });
});
