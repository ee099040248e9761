// Sticky execution over the life of workers: its configuration, the effects of drains, restarts, rollouts and
// evictions, the checks that it never bypasses, and the guarantees for code.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { go, NAMESPACE, NO_TASKS, resting, StickySites, sums } from "../placement/sticky/sticky-kit.test.ts";
import { query, update, workflow } from "./definition/definition.ts";
import { writeEventBatch } from "./engine/events.ts";

const MINUTE = 60_000;

describe("configuration of sticky execution", () => {
  it("worker.stickyTtl sets how long a run is kept for its worker, by default 300 seconds", async () => {
    for (const [stickyTtl, ms] of [
      [undefined, 300_000],
      ["7s", 7_000],
    ] as const) {
      await using sites = new StickySites();
      const { app } = await sites.open({ worker: { ...(stickyTtl !== undefined && { stickyTtl }) } });
      await app.workflows.start(sums, { id: "s", input: undefined });
      await app.advance(10);
      const { stickyUntil, startedAt } = await sites.run("s");
      assert.equal(stickyUntil, startedAt + ms);
    }
  });

  it("worker.sticky turns sticky execution off without changing workflows: existing runs continue by cold replay", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    await handle.signal(go, 4);
    await owner.app.advance(10);
    await owner.app.stop();
    const careless = await sites.open({ worker: { sticky: false } });
    const again = careless.app.workflows.get("s");
    await again.signal(go, 3);
    await again.signal(go, 0);
    assert.equal(await again.result(), 7);
  });

  it("workers report their cache capacity when they register, and its figures with every heartbeat", async () => {
    await using sites = new StickySites();
    const { app } = await sites.open({ worker: { cacheRuns: 2 } });
    const about = async (): Promise<Record<string, number>> => {
      const [row] = await sites.store.workflows.workers(NAMESPACE);
      return JSON.parse(row!.about);
    };
    assert.deepEqual([(await about()).capacity, (await about()).size], [2, 0]);
    for (const id of ["a", "b", "c"]) await app.workflows.start(sums, { id, input: undefined });
    await app.advance(5_000);
    const { capacity, size, evictions } = await about();
    assert.deepEqual({ capacity, size, evictions }, { capacity: 2, size: 2, evictions: 1 });
  });
});

describe("life of a sticky worker", () => {
  it("a draining worker claims no new tasks, and completes the ones that it has", async () => {
    await using sites = new StickySites();
    const going = Promise.withResolvers<void>();
    const slow = workflow("slow", async (ctx) => ctx.activity("wait"));
    const owner = await sites.open({ workflows: [sums, slow], activities: { wait: () => going.promise } });
    const rest = await owner.app.workflows.start(sums, { id: "s", input: undefined });
    const handle = await owner.app.workflows.start(slow, { id: "slow", input: undefined });
    await owner.app.advance(10);
    owner.counts();
    const stopped = owner.app.stop();
    await sites.store.workflows.deliver([owner.app.workflows.signalTo("s", undefined, "go", 1)]);
    going.resolve();
    await stopped;
    assert.equal((await sites.run("slow")).status, "completed");
    assert.equal((await sites.task("s")).state, "ready");
    assert.deepEqual([handle.id, rest.id], ["slow", "s"]);
  });

  it("other workers may claim the sticky tasks of a draining worker", async () => {
    await using sites = new StickySites();
    const client = await sites.open({ workflows: [workflow("other", async () => {})] });
    await client.app.workflows.start("sums", { id: "s", input: undefined });
    await sites.leaveWith("s", "owner");
    const other = await sites.open();
    await client.app.workflows.get("s").signal(go, 1);
    await client.app.advance(2_000);
    assert.deepEqual(other.counts(), NO_TASKS);
    const row = (await sites.store.workflows.workers(NAMESPACE)).find(({ worker }) => worker === "owner");
    await sites.store.workflows.seen({ ...row!, isDraining: true });
    await client.app.advance(2_000);
    assert.deepEqual(other.counts(), { ...NO_TASKS, forced: 1 });
  });

  it("replacement workers do not inherit caches: a rollout forces cold replays until they are warm", async () => {
    await using sites = new StickySites();
    const owner = await sites.open();
    const ids = ["a", "b", "c"];
    for (const id of ids) await owner.app.workflows.start(sums, { id, input: undefined });
    await owner.app.advance(10);
    await owner.app.stop();
    const next = await sites.open();
    for (const expected of [
      { ...NO_TASKS, forced: 3 },
      { ...NO_TASKS, hit: 3, warm: 3 },
    ]) {
      for (const id of ids) await next.app.workflows.get(id).signal(go, 1);
      await next.app.advance(10);
      assert.deepEqual(next.counts(), expected);
    }
  });

  it("a worker at its capacity evicts runs, which continue all the same", async () => {
    await using sites = new StickySites();
    const worker = await sites.open({ worker: { cacheRuns: 1 } });
    const first = await worker.app.workflows.start(sums, { id: "a", input: undefined });
    const second = await worker.app.workflows.start(sums, { id: "b", input: undefined });
    await worker.app.advance(10);
    worker.counts();
    for (const handle of [first, second]) {
      await handle.signal(go, 2);
      await handle.signal(go, 0);
      assert.equal(await handle.result(), 2);
    }
    assert.ok(worker.counts().missed >= 1);
  });

  it("a worker that missed a step of the history drops the run from memory and replays all of it", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    const { workflows } = sites.store;
    const { ref, events } = await sites.run("s");
    // Another worker gets the next task before the owner polls, and leaves the run to the owner, whose memory
    // is now behind.
    const delivery = workflows.deliver([owner.app.workflows.signalTo("s", undefined, "go", 5)]);
    const lease = { token: "t", worker: "somebody", leaseMs: MINUTE };
    const claimed = workflows.claim({
      namespace: NAMESPACE,
      queue: "default",
      limit: 1,
      lease,
      isSticky: false,
      staleMs: 15_000,
      types: [{ type: "sums", pins: [{ pinned: undefined, pins: undefined }] }],
    });
    assert.deepEqual([(await delivery)[0]?.kind, (await claimed).tasks.length], ["delivered", 1]);
    const event = { kind: "SignalReceived", id: "five", name: "go", input: 5 } as const;
    const batch = writeEventBatch({ at: sites.clock.now(), events: [event] });
    const affinity = { worker: owner.worker, ms: MINUTE };
    const nothing = { attributes: undefined, memo: undefined, reminders: [], starts: [], messages: [] };
    const step = {
      ref,
      token: "t",
      last: events,
      batch,
      taken: 1,
      outcome: { kind: "rest" },
      affinity,
      ...nothing,
    } as const;
    assert.equal((await workflows.complete([step]))[0]?.kind, "done");
    await handle.signal(go, 1);
    await owner.app.advance(10);
    assert.deepEqual(owner.counts(), { ...NO_TASKS, hit: 1, missed: 1 });
    await handle.signal(go, 0);
    assert.equal(await handle.result(), 6);
  });
});

describe("checks that sticky execution does not bypass", () => {
  it("the lease holds: a worker that lost it commits nothing, warm or not", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    const { workflows } = sites.store;
    await handle.signal(go, 1);
    await owner.app.advance(10);
    const run = await sites.run("s");
    const nothing = { attributes: undefined, memo: undefined, reminders: [], starts: [], messages: [] };
    const [outcome] = await workflows.complete([
      {
        ref: run.ref,
        token: "stolen",
        last: run.events,
        batch: { count: 1, data: "{}" },
        taken: 1,
        ...nothing,
        outcome: { kind: "rest" },
        affinity: { worker: owner.worker, ms: 1_000 },
      },
    ]);
    assert.equal(outcome?.kind, "lost");
    assert.equal((await sites.run("s")).events, run.events);
  });

  for (const [what, settings, start] of [
    ["queue", { worker: { queue: "other" } }, {}],
    ["build", { worker: { build: "b2" } }, { build: "b1" }],
  ] as const) {
    it(`the ${what} holds: a worker of another ${what} does not get the run, although it has it in memory`, async () => {
      await using sites = new StickySites();
      const owner = await sites.open({ worker: { build: "b1" } });
      const handle = await owner.app.workflows.start(sums, { id: "s", input: undefined, ...start });
      await owner.app.advance(10);
      await owner.app.stop();
      const other = await sites.open(settings as never);
      await other.app.workflows.get("s").signal(go, 1);
      await other.app.advance(10 * MINUTE);
      assert.deepEqual(other.counts(), NO_TASKS);
      const right = await sites.open({ worker: { build: "b1" } });
      await right.app.advance(2_000);
      assert.equal((await sites.task("s")).mode, "forced_cold_replay");
      assert.equal((await sites.run("s")).stickyWorker, right.worker);
      assert.equal(handle.id, "s");
    });
  }

  it("the namespace holds: the same id in another namespace is another run", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    const elsewhere = await sites.open({ namespace: "elsewhere" });
    await assert.rejects(elsewhere.app.workflows.get("s").signal(go, 1), (error) =>
      isLimpetError(error, "WORKFLOW_UNKNOWN"),
    );
    await handle.signal(go, 1);
    await owner.app.advance(10);
    assert.deepEqual(elsewhere.counts(), NO_TASKS);
  });

  it("the code holds: a warm run that does not fit another definition is blocked there, and continues on its own", async () => {
    await using sites = new StickySites();
    const make = (name: string) =>
      workflow("made", async (ctx) => {
        const made = await ctx.activity<string>(name);
        await ctx.signal(go);
        return made;
      });
    const activities = { tea: () => "tea", milk: () => "milk" };
    const { app } = await sites.open({ workflows: [make("tea")], activities });
    const handle = await app.workflows.start("made", { id: "m", input: undefined });
    await app.advance(10);
    await app.restart({ workflows: [make("milk")] });
    await handle.signal(go, 1);
    await app.advance(1_000);
    assert.match(String((await handle.describe()).blocked), /tea.*milk/);
    await app.restart({ workflows: [make("tea")] });
    await app.advance(10 * MINUTE);
    assert.equal(await handle.result(), "tea");
  });
});

describe("code that is safe to replay", () => {
  const add = update<number, number>("add");
  const state = query<unknown[]>("state");
  /** Depends on every kind of event in a history. */
  const all = workflow("all", async (ctx, input: { readonly from: number }) => {
    const seen: unknown[] = [input.from];
    ctx.onQuery(state, () => seen);
    ctx.onUpdate(add, (n) => seen.push(n));
    seen.push(await ctx.activity("double", input.from));
    await ctx.sleep("1h");
    seen.push(await ctx.signal(go));
    await ctx.condition(() => seen.includes(40));
    seen.push(ctx.sideEffect(() => 50));
    seen.push(ctx.version("change", 0, 1));
    ctx.setMemo({ seen: seen.length });
    ctx.setAttributes({ stage: "late" });
    seen.push(ctx.memo.seen, ctx.attributes.stage);
    await ctx.signal(go);
    return [...seen, ctx.now(), ctx.random(), ctx.uuid()];
  });

  /** The outcome of the workflow when this happens between any two of its tasks. */
  async function outcome(happens: (site: Awaited<ReturnType<StickySites["open"]>>) => unknown, settings = {}) {
    await using sites = new StickySites();
    const site = await sites.open({ workflows: [all], activities: { double: (n: number) => n * 2 }, ...settings });
    const { app } = site;
    const handle = await app.workflows.start(all, { id: "all", input: { from: 10 } });
    await app.advance(10);
    for (const next of [
      () => app.advance(60 * MINUTE),
      () => handle.signal(go, 30),
      async () => {
        const done = handle.update(add, 40);
        await app.advance(1_000);
        await done;
      },
      () => handle.signal(go, 0),
    ]) {
      await happens(site);
      await next();
      await app.advance(1_000);
    }
    const kinds = (await handle.history()).map(({ event }) => event.kind);
    return { kinds, result: (await handle.result()).slice(0, -3), seen: await handle.query(state) };
  }

  it("code behaves identically under sticky and cold replay execution: inputs, activity results, timers, signals, updates, side effects, versions, memo and attributes", async () => {
    const warm = await outcome(() => {});
    assert.deepEqual(warm.result, [10, 20, 30, 40, 50, 1, 6, "late"]);
    assert.deepEqual(await outcome(({ app }) => app.dropWarmRuns()), warm);
    assert.deepEqual(await outcome(({ app }) => app.crash()), warm);
    assert.deepEqual(await outcome(({ app }) => app.restart()), warm);
    assert.deepEqual(await outcome(() => {}, { worker: { sticky: false } }), warm);
    assert.deepEqual(await outcome(() => {}, { worker: { cacheRuns: 0 } }), warm);
  });

  it("tests detect code that depends on a global that differs at a replay", async () => {
    await using sites = new StickySites();
    let calls = 0;
    const careless = workflow("careless", async (ctx) => {
      calls++;
      await ctx.activity(calls === 1 ? "first" : "later");
    });
    const activities = { first: async () => {}, later: async () => {} };
    const { app } = await sites.open({ workflows: [careless], activities });
    const handle = await app.workflows.start(careless, { input: undefined });
    const failed = assert.rejects(handle.result(), (error) => isLimpetError(error, "WORKFLOW_FAILED"));
    await app.advance(MINUTE);
    await failed;
  });
});

describe("draining workers", () => {
  const slow = Promise.withResolvers<void>();
  const waits = workflow("waits", async (ctx) => {
    await ctx.activity("slow");
    await ctx.signal(go);
  });
  const options = { workflows: [sums, waits], activities: { slow: () => slow.promise }, drainTimeout: "1h" } as const;

  it("a draining worker loses the affinity of its runs, and gets none for tasks that it completes", async () => {
    await using sites = new StickySites();
    const owner = await sites.open(options);
    await owner.app.workflows.start(sums, { id: "s", input: undefined });
    await owner.app.workflows.start(waits, { id: "w", input: undefined });
    await owner.app.advance("1s");
    assert.deepEqual(
      [(await sites.run("s")).stickyWorker, (await sites.run("w")).stickyWorker],
      [owner.worker, owner.worker],
    );
    const other = await sites.open(options);
    other.counts();
    const stopped = owner.app.stop();
    await sites.clock.advance(10);
    await other.app.workflows.get(sums, "s").signal(go, 1);
    await sites.clock.advance(1_100);
    assert.equal(other.counts().forced, 1);
    // The worker still waits for its activity, and writes the step after it.
    slow.resolve();
    await sites.clock.advance(100);
    const { stickyWorker, task } = await sites.run("w");
    assert.deepEqual([task?.state, stickyWorker], ["idle", undefined]);
    await sites.clock.advance(4_000_000);
    await stopped;
  });
});
