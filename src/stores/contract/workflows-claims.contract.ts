// Claims of tasks: ready tasks of the requested namespace, queue, types and build, and never a task that
// another worker holds.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertAbout } from "./reminders-shared.contract.ts";
import {
  batchOf,
  HOUR,
  idsOf,
  lease,
  leasedOf,
  MINUTE,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowClaimsContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("claims of tasks", () => {
    test("a claim of tasks returns the store's clock, even when it requests nothing", async () => {
      const it = site();
      const { now, tasks, next } = await it.claim({ types: [] });
      assert.ok(Number.isFinite(now) && now > 1_500_000_000_000);
      assert.deepEqual([tasks, next], [[], undefined]);
      assert.ok((await it.claim()).now >= now);
    });

    test("a claimed task shows its worker, the start and the end of its lease, and its mode", async () => {
      const it = site();
      await it.start("a");
      const { now } = await it.claim({ lease: lease("me", HOUR) });
      const { state, attempt, worker, mode, claimedAt, at } = await it.task("a");
      assert.deepEqual([state, attempt, worker, mode], ["leased", 1, "me", "cold_replay"]);
      assertAbout(claimedAt, now);
      assertAbout(at, now + HOUR);
    });

    test("a leased task is not claimed again, not even by the same worker", async () => {
      const it = site();
      await it.start("a");
      assert.deepEqual(await it.ids({ worker: "w1" }), ["a"]);
      assert.deepEqual(await it.ids({ worker: "w2" }), []);
      assert.deepEqual(await it.ids({ worker: "w1" }), []);
    });

    test("a task whose lease has ended can be claimed again, as another attempt", async () => {
      const it = site();
      await it.start("a");
      await it.claim({ lease: lease("w1", HOUR) });
      await opened().advance(50 * MINUTE);
      assert.deepEqual(await it.ids(), []);
      for (let attempt = 2; attempt < 5; attempt++) {
        await opened().advance(HOUR + MINUTE);
        const task = await it.theTask({ lease: lease("w2", HOUR) });
        assert.equal(task.attempt, attempt);
      }
      assert.equal((await it.task("a")).worker, "w2");
    });

    test("only the last worker that claimed a task can continue it", async () => {
      const it = site();
      await it.start("a");
      const first = leasedOf(await it.theTask());
      await opened().advance(2 * HOUR);
      const second = leasedOf(await it.theTask());
      assert.equal((await it.complete(first, { batch: batchOf("of the first") })).kind, "lost");
      assert.equal((await it.complete(second, { batch: batchOf("of the second") })).kind, "done");
      assert.deepEqual(await it.events(first.ref), ["started", "of the second"]);
    });

    test("a claim returns no more tasks than requested, and the ones that have been ready for longest first", async () => {
      const it = site();
      await it.start("late", { delayMs: 3 * HOUR });
      await it.start("middle", { delayMs: 2 * HOUR });
      await it.start("early", { delayMs: HOUR });
      await it.start("not yet", { delayMs: 9 * HOUR });
      await opened().advance(4 * HOUR);
      await it.start("last");
      assert.deepEqual(await it.ids({ limit: 2 }), ["early", "middle"]);
      assert.deepEqual(await it.ids({ limit: 0 }), []);
      assert.deepEqual(await it.ids({ limit: 5 }), ["late", "last"]);
    });

    test("an idle task that is woken comes behind tasks that were ready before", async () => {
      const it = site();
      await it.idle("a");
      await it.start("b", { delayMs: HOUR });
      await opened().advance(2 * HOUR);
      await it.deliver("a");
      assert.deepEqual(await it.ids(), ["b", "a"]);
    });

    test("a large number of tasks is claimed in parts, each once", async () => {
      const it = site();
      const ids = Array.from({ length: 250 }, (_, i) => `${i}`);
      await it.workflows.start(ids.map((id) => it.startOf(id)));
      const parts = [await it.ids({ limit: 100 }), await it.ids({ limit: 100 }), await it.ids({ limit: 100 })];
      assert.deepEqual(
        parts.map(({ length }) => length),
        [100, 100, 50],
      );
      assert.deepEqual(parts.flat().sort(), ids.sort());
    });

    test("all tasks of a claim have the same token", async () => {
      const it = site();
      await it.workflows.start(["a", "b", "c"].map((id) => it.startOf(id)));
      const { tasks } = await it.claim({ lease: lease("w1", HOUR, "shared") });
      assert.deepEqual(
        tasks.map(({ token }) => token),
        ["shared", "shared", "shared"],
      );
      const outcomes = await it.workflows.complete(
        tasks.map((task) => it.completionOf(leasedOf(task), { batch: batchOf("2") })),
      );
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["done", "done", "done"],
      );
    });
  });

  describe("scope of a claim", () => {
    test("runs of types that were not requested stay unclaimed", async () => {
      const it = site();
      for (const type of ["Order", "order", "Orders", "Cart"]) await it.start(type, { type });
      assert.deepEqual(await it.ids({ types: ["Order", "Nobody"] }), ["Order"]);
      assert.deepEqual(await it.ids({ types: ["Order"] }), []);
      assert.deepEqual((await it.ids({ types: ["Cart", "Cart", "order"] })).sort(), ["Cart", "order"]);
      assert.deepEqual(await it.ids({ types: [] }), []);
      assert.equal((await it.task("Orders")).state, "ready");
    });

    test("runs of other queues are never visible to a claim", async () => {
      const it = site();
      for (const queue of ["main", "Main", "other"]) await it.start(queue, { queue });
      assert.deepEqual(await it.ids(), ["main"]);
      assert.deepEqual(await it.ids({ queue: "other" }), ["other"]);
      assert.deepEqual(await it.ids({ queue: "nobody's" }), []);
    });

    test("runs of other namespaces are never visible to a claim", async () => {
      const [it, other] = [site(), site()];
      await other.start("a");
      const { tasks, next } = await it.claim();
      assert.deepEqual([tasks, next], [[], undefined]);
      assert.deepEqual(await other.ids(), ["a"]);
    });

    test("a claim does not return runs that are pinned to another build", async () => {
      const it = site();
      await it.start("bound", { pinned: "b1" });
      await it.start("other", { pinned: "b2" });
      await it.start("free");
      assert.deepEqual((await it.ids({ build: "b2" })).sort(), ["free", "other"]);
      assert.deepEqual(await it.ids({ build: "b3" }), []);
      assert.deepEqual(await it.ids({ build: "b1" }), ["bound"]);
    });

    test("many tasks outside the scope do not hide a claimable one", async () => {
      const it = site();
      const crowd = (what: object) => Array.from({ length: 100 }, () => it.startOf(`${Math.random()}`, what));
      await it.workflows.start([...crowd({ type: "Other" }), ...crowd({ queue: "other" }), ...crowd({ pinned: "b2" })]);
      await it.start("mine");
      assert.deepEqual(await it.ids({ limit: 1 }), ["mine"]);
    });
  });

  describe("time of the next claim of tasks", () => {
    test("a claim returns no next time when all runs are idle, closed or out of scope", async () => {
      const it = site();
      await it.idle("idle");
      await it.closed("over");
      await it.start("other type", { type: "Other", delayMs: HOUR });
      await it.start("other queue", { queue: "other", delayMs: HOUR });
      await it.start("other build", { pinned: "b2", delayMs: HOUR });
      const { tasks, next } = await it.claim();
      assert.deepEqual([tasks, next], [[], undefined]);
    });

    test("the next time is now when more tasks are ready than were requested", async () => {
      const it = site();
      for (const id of ["a", "b", "c"]) await it.start(id);
      const { now, tasks, next } = await it.claim({ limit: 2 });
      assert.equal(tasks.length, 2);
      assert.ok(next !== undefined && next <= now);
    });

    test("the next time is the earliest of the delayed tasks", async () => {
      const it = site();
      const now = await it.now();
      await it.start("a", { delayMs: 5 * HOUR });
      await it.start("b", { delayMs: 3 * HOUR });
      await it.start("ready");
      const { tasks, next } = await it.claim();
      assert.deepEqual(idsOf(tasks), ["ready"]);
      assert.ok(next !== undefined && next <= now + 3 * HOUR + MINUTE);
      assertAbout((await it.claim({ lease: lease("w2") })).next, now + HOUR);
    });

    test("the next time is at most the end of another worker's lease", async () => {
      const it = site();
      const now = await it.now();
      await it.leased("a", { lease: lease("w2", 3 * HOUR) });
      await it.leased("b", { lease: lease("w2", 2 * HOUR) });
      assertAbout((await it.claim()).next, now + 2 * HOUR);
    });

    test("the next time is at most the end of another worker's affinity", async () => {
      const it = site();
      await it.seen("w2");
      await it.idle("a", { affinity: { worker: "w2", ms: 2 * HOUR } });
      await it.deliver("a");
      const { now, tasks, next } = await it.claim({ worker: "w1", staleMs: 9 * HOUR });
      assert.deepEqual(tasks, []);
      assert.ok(next !== undefined && next > now && next <= now + 2 * HOUR);
    });
  });
}
