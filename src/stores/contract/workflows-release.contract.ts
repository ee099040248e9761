// Release of a worker, when another process replaces it or it leaves: its leased tasks from every host, and
// its affinity to runs, become free for all workers.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { freshNamespace } from "./shared.contract.ts";
import {
  batchOf,
  type ClaimOptions,
  HOUR,
  KEEP,
  lease,
  leasedOf,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowReleaseContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);
  const release = (it: Site, worker = "w1") => it.workflows.releaseWorker(it.namespace, worker, false);
  const modes = async (it: Site, request: ClaimOptions) =>
    (await it.claim({ staleMs: HOUR, ...request })).tasks.map(({ workflowId, mode }) => [workflowId, mode]);

  describe("release of a worker", () => {
    test("tasks of a released worker are ready at once, with the same attempt, and its steps no longer count", async () => {
      const it = site();
      const held = await it.leased("a", { lease: lease("w1", HOUR) });
      await it.deliver("a", "k");
      assert.equal(await release(it), 1);
      const { state, attempt, worker, at = 0 } = await it.task("a");
      assert.deepEqual([state, attempt, worker], ["ready", 1, undefined]);
      assert.ok(at <= (await it.now()));
      assert.equal((await it.complete(held, { batch: batchOf("2") })).kind, "lost");
      assert.deepEqual(await it.workflows.renew([held], HOUR), [held.ref]);
      const task = await it.theTask({ worker: "w2" });
      assert.deepEqual([task.attempt, task.delivered, task.taken], [2, 1, 0]);
      assert.equal((await it.complete(leasedOf(task), { batch: batchOf("2") })).kind, "done");
    });

    test("tasks of other workers, and of the same name in another namespace, are not released", async () => {
      const it = site();
      const other = new Site(opened().store, freshNamespace());
      const held = await it.leased("a", { lease: lease("w2", HOUR) });
      const theirs = await other.leased("a", { lease: lease("w1", HOUR) });
      await it.start("ready");
      await it.idle("idle");
      assert.equal(await release(it), 0);
      assert.equal((await it.complete(held, { outcome: KEEP })).kind, "done");
      assert.equal((await other.complete(theirs, { outcome: KEEP })).kind, "done");
      assert.deepEqual([(await it.task("ready")).state, (await it.task("idle")).state], ["ready", "idle"]);
      assert.equal(await release(it, "nobody"), 0);
    });

    test("affinity to a released worker ends for idle, ready and leased tasks", async () => {
      const it = site();
      await it.seen("w1");
      const affinity = { worker: "w1", ms: HOUR };
      const held = await it.leased("held");
      await it.complete(held, { outcome: KEEP, affinity });
      for (const id of ["rests", "waits"]) await it.idle(id, { affinity });
      await it.idle("of w2", { affinity: { worker: "w2", ms: HOUR } });
      await it.deliver("waits");
      assert.deepEqual(await modes(it, { worker: "w3" }), []);
      assert.equal(await release(it), 1);
      for (const id of ["held", "rests", "waits"]) {
        const { stickyWorker, stickyUntil = Number.POSITIVE_INFINITY } = await it.stored(id);
        assert.equal(stickyWorker, "w1");
        assert.ok(stickyUntil <= (await it.now()), id);
      }
      assert.ok((await it.stored("of w2")).stickyUntil! > (await it.now()));
      assert.equal((await it.task("rests")).state, "idle");
      await it.deliver("rests");
      // The next process of that name has none of these runs in memory, and their claims show an earlier
      // affinity.
      const claimed = [...(await modes(it, { worker: "w1", limit: 1 })), ...(await modes(it, { worker: "w3" }))];
      assert.deepEqual(claimed.sort(), [
        ["held", "forced_cold_replay"],
        ["rests", "forced_cold_replay"],
        ["waits", "forced_cold_replay"],
      ]);
    });

    test("affinity that ended long before the release stays unchanged", async () => {
      const it = site();
      await it.idle("a", { affinity: { worker: "w1", ms: HOUR } });
      await opened().advance(3 * HOUR);
      const before = (await it.stored("a")).stickyUntil;
      await release(it);
      assert.equal((await it.stored("a")).stickyUntil, before);
    });

    test("a step that was applied before the release is still recognised", async () => {
      const it = site();
      const held = await it.leased("a");
      const step = it.completionOf(held, { batch: batchOf("2"), affinity: { worker: "w1", ms: HOUR } });
      assert.equal((await it.step(step)).kind, "done");
      await release(it);
      assert.equal((await it.step(step)).kind, "done");
    });

    test("a release may be repeated, and then releases the tasks that the next process of that name has claimed since", async () => {
      const it = site();
      await it.leased("a", { lease: lease("w1", HOUR) });
      assert.deepEqual([await release(it), await release(it)], [1, 0]);
      await it.theTask({ worker: "w1" });
      assert.equal(await release(it), 1);
    });

    test("a release covers a large number of tasks among tasks of other workers", async () => {
      const it = site();
      const starts = Array.from({ length: 300 }, (_, i) =>
        it.startOf(`${i}`, { lease: lease(i % 3 === 0 ? "w1" : "w2", HOUR) }),
      );
      await it.workflows.start(starts);
      assert.equal(await release(it), 100);
      assert.equal((await it.ids({ worker: "w3" })).length, 100);
    });
  });
}
