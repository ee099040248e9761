// Sticky execution with workers of our own: the recorded affinity, the matching of tasks, and the replay
// modes. The worker with a run in memory is preferred for its next task for a while. Any other worker replays
// the run cold, and only speed depends on it. The rules: src/workflows/matching.md.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { go, NAMESPACE, NO_TASKS, resting, StickySites, sums } from "../placement/sticky/sticky-kit.test.ts";
import { workflow } from "./definition/definition.ts";

const MINUTE = 60_000;

describe("records of affinity", () => {
  it("a worker that keeps runs in memory is the owner until sticky_until after it completes a task", async () => {
    await using sites = new StickySites();
    const { owner } = await resting(sites);
    const { stickyWorker, stickyUntil, startedAt } = await sites.run("s");
    assert.equal(stickyWorker, owner.worker);
    assert.equal(stickyUntil, startedAt + 5 * MINUTE);
  });

  it("affinity is renewed with every task", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    await owner.app.advance(MINUTE);
    await handle.signal(go, 1);
    await owner.app.advance(10);
    const { stickyUntil, startedAt } = await sites.run("s");
    assert.ok(stickyUntil! >= startedAt + 6 * MINUTE);
  });

  it("affinity names the worker id, which differs for every process", async () => {
    await using sites = new StickySites();
    const { owner } = await resting(sites);
    const before = owner.worker;
    await owner.app.restart();
    const ids = (await sites.store.workflows.workers(NAMESPACE)).map(({ worker }) => worker);
    assert.equal(ids.length, 1);
    assert.notEqual(ids[0], before);
  });

  it("a follow-up task inherits the affinity when it is created", async () => {
    await using sites = new StickySites();
    const { owner } = await resting(sites);
    const affinity = async (): Promise<unknown[]> => {
      const { stickyWorker, stickyUntil } = await sites.run("s");
      return [stickyWorker, stickyUntil];
    };
    const before = await affinity();
    const { workflows } = sites.store;
    // Without a notification: the task waits for a claim.
    const message = owner.app.workflows.signalTo("s", undefined, "go", 1);
    await workflows.deliver([message]);
    assert.deepEqual(await affinity(), before);
  });

  it("a worker without a cache records no affinity", async () => {
    await using sites = new StickySites();
    const forgetful = await sites.open({ worker: { cacheRuns: 0 } });
    await forgetful.app.workflows.start(sums, { id: "s", input: undefined });
    await forgetful.app.advance(10);
    const { stickyWorker, stickyUntil } = await sites.run("s");
    assert.deepEqual([stickyWorker, stickyUntil], [undefined, undefined]);
  });

  it("affinity is in the store and the cache is not, because the cache belongs to a process", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    await handle.signal(go, 4);
    await owner.app.advance(10);
    // The process is gone with its cache. The rows in the store are enough.
    await owner.app.crash();
    await handle.signal(go, 3);
    await handle.signal(go, 0);
    assert.equal(await handle.result(), 7);
  });
});

describe("replay modes of tasks", () => {
  it("a task shows its replay mode and the time of its claim", async () => {
    await using sites = new StickySites();
    const stuck = Promise.withResolvers<void>();
    const waits = workflow("waits", async (ctx) => {
      await ctx.signal(go);
      await ctx.activity("wait");
    });
    const { app } = await sites.open({ workflows: [waits], activities: { wait: () => stuck.promise } });
    const handle = await app.workflows.start(waits, { id: "w", input: undefined });
    await app.advance(MINUTE);
    await handle.signal(go, 1);
    await app.advance(10);
    const { mode, claimedAt, state } = await sites.task("w");
    assert.deepEqual([mode, state], ["sticky_hit_expected", "leased"]);
    assert.equal(claimedAt, (await sites.run("w")).startedAt + MINUTE);
    stuck.resolve();
  });
});

describe("matching rules", () => {
  it("rule 1: a task with active affinity for the worker that polls is preferred", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    const other = await sites.open();
    for (const n of [1, 2, 3]) {
      await handle.signal(go, n);
      await owner.app.advance(10);
    }
    assert.deepEqual(owner.counts(), { ...NO_TASKS, hit: 3, warm: 3 });
    assert.deepEqual(other.counts(), NO_TASKS);
  });

  it("rule 2: a task without active affinity can be claimed by any compatible worker", async () => {
    await using sites = new StickySites();
    const client = await sites.open({ worker: { cacheRuns: 0 } });
    const handle = await client.app.workflows.start(sums, { id: "s", input: undefined });
    await client.app.advance(10);
    await client.app.stop();
    const other = await sites.open();
    await other.app.workflows.get("s").signal(go, 1);
    await other.app.advance(10);
    assert.deepEqual(other.counts(), { ...NO_TASKS, cold: 1 });
    assert.equal(handle.id, "s");
  });

  it("rule 3: a task with active affinity for another live sticky worker is held for its owner", async () => {
    await using sites = new StickySites();
    const owner = await sites.open({ worker: { concurrency: 1 } });
    const busy = Promise.withResolvers<void>();
    const long = workflow("long", async (ctx) => ctx.activity("wait"));
    await owner.app.restart({ workflows: [sums, long], activities: { wait: () => busy.promise } });
    const handle = await owner.app.workflows.start(sums, { id: "s", input: undefined });
    await owner.app.advance(10);
    // The owner is alive and busy.
    await owner.app.workflows.start(long, { input: undefined });
    await owner.app.advance(10);
    owner.counts();
    const other = await sites.open();
    await handle.signal(go, 1);
    await owner.app.advance(4 * MINUTE);
    assert.deepEqual([owner.counts(), other.counts()], [NO_TASKS, NO_TASKS]);
    assert.equal((await sites.task("s")).state, "ready");
    busy.resolve();
    await owner.app.advance(1_000);
    assert.deepEqual(owner.counts(), { ...NO_TASKS, hit: 1, warm: 1 });
    assert.deepEqual(other.counts(), NO_TASKS);
  });

  it("rule 3: until sticky_until expires, or the owner becomes unavailable", async () => {
    await using sites = new StickySites();
    const client = await sites.open({ workflows: [workflow("other", async () => {})] });
    for (const id of ["held", "left"]) {
      await client.app.workflows.start("sums", { id, input: undefined });
      await sites.leaveWith(id, `owner of ${id}`);
    }
    const other = await sites.open();
    const beat = async (): Promise<void> => {
      const [row] = (await sites.store.workflows.workers(NAMESPACE)).filter(({ worker }) => worker === "owner of held");
      await sites.store.workflows.seen(row!);
    };
    for (const id of ["held", "left"]) await client.app.workflows.get(id).signal(go, 1);
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      await beat();
      await client.app.advance(5_000);
    }
    // One owner sent heartbeats all the time, the other did not.
    assert.deepEqual(other.counts(), { ...NO_TASKS, forced: 1 });
    assert.equal((await sites.task("held")).state, "ready");
    for (let passed = 0; passed < 5 * MINUTE; passed += 5_000) {
      await beat();
      await client.app.advance(5_000);
    }
    assert.deepEqual(other.counts(), { ...NO_TASKS, forced: 1 });
    assert.equal((await sites.run("held")).stickyWorker, other.worker);
  });

  it("rule 4: a task with expired affinity can be claimed normally and is replayed cold", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    await owner.app.advance(6 * MINUTE);
    await owner.app.stop();
    const other = await sites.open();
    await other.app.workflows.get("s").signal(go, 1);
    await other.app.advance(10);
    assert.deepEqual(other.counts(), { ...NO_TASKS, cold: 1 });
    assert.equal(handle.id, "s");
  });

  it("rule 4: a task whose owner is stale can be claimed normally and is replayed cold", async () => {
    await using sites = new StickySites();
    const client = await sites.open({ workflows: [workflow("other", async () => {})] });
    await client.app.workflows.start("sums", { id: "s", input: undefined });
    await sites.leaveWith("s", "ghost");
    const other = await sites.open();
    await client.app.workflows.get("s").signal(go, 1);
    await client.app.advance(10_000);
    assert.deepEqual(other.counts(), NO_TASKS);
    await client.app.advance(10_000);
    assert.deepEqual(other.counts(), { ...NO_TASKS, forced: 1 });
  });

  it("rule 4: with sticky execution disabled every task can be claimed, even if its owner is alive", async () => {
    await using sites = new StickySites();
    const client = await sites.open({ workflows: [workflow("other", async () => {})] });
    await client.app.workflows.start("sums", { id: "s", input: undefined });
    await sites.leaveWith("s", "owner");
    const careless = await sites.open({ worker: { sticky: false } });
    await client.app.workflows.get("s").signal(go, 1);
    await client.app.advance(10);
    assert.deepEqual(careless.counts(), { ...NO_TASKS, forced: 1 });
  });
});

describe("cold replay as the fallback", () => {
  it("a task is replayed cold when sticky execution is disabled", async () => {
    await using sites = new StickySites();
    const { owner } = await resting(sites);
    await owner.app.stop();
    const careless = await sites.open({ worker: { sticky: false } });
    const handle = careless.app.workflows.get("s");
    for (const n of [1, 2]) {
      await handle.signal(go, n);
      await careless.app.advance(10);
    }
    assert.deepEqual(careless.counts(), { ...NO_TASKS, forced: 1, cold: 1 });
    assert.equal((await sites.run("s")).stickyWorker, undefined);
  });

  it("a task is replayed cold when the worker did not register a cache", async () => {
    await using sites = new StickySites();
    const forgetful = await sites.open({ worker: { cacheRuns: 0 } });
    const [row] = await sites.store.workflows.workers(NAMESPACE);
    assert.equal(row?.isSticky, false);
    const handle = await forgetful.app.workflows.start(sums, { id: "s", input: undefined });
    await forgetful.app.advance(10);
    forgetful.counts();
    await handle.signal(go, 1);
    await forgetful.app.advance(10);
    assert.deepEqual(forgetful.counts(), { ...NO_TASKS, cold: 1 });
  });

  it("a task is replayed cold without an active sticky_worker_id and sticky_until", async () => {
    await using sites = new StickySites();
    const client = await sites.open({ workflows: [workflow("other", async () => {})] });
    await client.app.workflows.start("sums", { id: "s", input: undefined });
    const worker = await sites.open();
    await worker.app.advance(10);
    assert.deepEqual((await sites.task("s")).mode, "cold_replay");
  });

  for (const [what, happens] of [
    ["drains and stops", (owner) => owner.app.stop()],
    ["has crashed", (owner) => owner.app.crash()],
    ["is rolled out: another process with other code is there", (owner) => owner.app.restart({ workflows: [sums] })],
  ] as [string, (owner: Awaited<ReturnType<StickySites["open"]>>) => Promise<void>][]) {
    it(`a task is replayed cold when the sticky owner ${what}`, async () => {
      await using sites = new StickySites();
      const { owner } = await resting(sites);
      const { ref } = await sites.run("s");
      await happens(owner);
      const other = await sites.open();
      await sites.store.workflows.deliver([other.app.workflows.signalTo("s", undefined, "go", 1)]);
      await other.app.advance(2_000);
      assert.equal((await sites.task("s")).mode, "forced_cold_replay");
      assert.equal((await sites.run("s")).ref, ref);
      assert.notEqual((await sites.run("s")).stickyWorker, owner.worker);
    });
  }

  it("a task is replayed cold in the same attempt when the sticky owner evicted the run", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    await handle.signal(go, 4);
    await owner.app.advance(10);
    owner.counts();
    assert.equal(owner.app.dropWarmRuns(), 1);
    await handle.signal(go, 3);
    await owner.app.advance(10);
    // The task was routed to the owner, which had evicted the run: no other task, no other attempt.
    assert.deepEqual(owner.counts(), { ...NO_TASKS, hit: 1, missed: 1 });
    assert.equal((await sites.task("s")).attempt, 0);
    await handle.signal(go, 0);
    assert.equal(await handle.result(), 7);
  });

  it("a task is replayed cold when another worker claims it after the affinity expired", async () => {
    await using sites = new StickySites();
    const client = await sites.open({ workflows: [workflow("other", async () => {})] });
    await client.app.workflows.start("sums", { id: "s", input: undefined });
    await sites.leaveWith("s", "owner", 10_000);
    const other = await sites.open();
    await client.app.advance(11_000);
    await client.app.workflows.get("s").signal(go, 1);
    await client.app.advance(10);
    assert.deepEqual(other.counts(), { ...NO_TASKS, cold: 1 });
  });

  it("a forced_cold_replay reaches the same result as a warm run", async () => {
    const histories: string[][] = [];
    for (const isWarm of [true, false]) {
      await using sites = new StickySites();
      const { owner, handle } = await resting(sites);
      for (const n of [1, 2, 3, 0]) {
        if (!isWarm) await owner.app.crash();
        await handle.signal(go, n);
        await owner.app.advance(10);
      }
      assert.equal(await handle.result(), 6);
      histories.push((await handle.history()).map(({ event }) => event.kind));
    }
    assert.deepEqual(histories[0], histories[1]);
  });
});

describe("names of replay modes", () => {
  it("sticky_hit_expected: the sticky owner claimed the task before expiry", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    await handle.signal(go, 1);
    await owner.app.advance(10);
    assert.equal((await sites.task("s")).mode, "sticky_hit_expected");
  });

  it("cold_replay: no sticky affinity applied", async () => {
    await using sites = new StickySites();
    const worker = await sites.open({ worker: { cacheRuns: 0 } });
    const handle = await worker.app.workflows.start(sums, { id: "s", input: undefined });
    await worker.app.advance(10);
    await handle.signal(go, 1);
    await worker.app.advance(10);
    assert.equal((await sites.task("s")).mode, "cold_replay");
  });

  it("cold_replay: the affinity had expired when the task was created, also when its owner claims it", async () => {
    await using sites = new StickySites();
    const { owner, handle } = await resting(sites);
    await owner.app.advance(6 * MINUTE);
    await handle.signal(go, 1);
    await owner.app.advance(10);
    assert.equal((await sites.task("s")).mode, "cold_replay");
    await handle.signal(go, 0);
    assert.equal(await handle.result(), 1);
  });
});
