// Pins of runs, set by a start or a claim: builds of the code and definitions of workflows. To a store they
// are texts. A worker sends the pins that its runs may have, and the pins that a claim gives them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  batchOf,
  type ClaimOptions,
  HOUR,
  lease,
  leasedOf,
  MINUTE,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowBuildsContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("pins to builds", () => {
    test("a run without a pin is pinned by its first claim, and not by later ones", async () => {
      const it = site();
      await it.start("a");
      assert.equal((await it.stored("a")).pinned, undefined);
      const task = await it.theTask({ build: "b1", pinsRuns: true });
      assert.equal((await it.stored("a")).pinned, "b1");
      await it.complete(leasedOf(task), { batch: batchOf("2") });
      await it.deliver("a");
      assert.deepEqual(await it.ids({ build: "b2", pinsRuns: true }), []);
      assert.deepEqual(await it.ids({ build: "b2", pinsRuns: false }), []);
      assert.deepEqual(await it.ids({ build: "b1", pinsRuns: true }), ["a"]);
      assert.equal((await it.stored("a")).pinned, "b1");
    });

    test("a claim that does not pin leaves the run unpinned", async () => {
      const it = site();
      await it.start("a");
      const task = await it.theTask({ build: "b1" });
      assert.equal((await it.stored("a")).pinned, undefined);
      await it.complete(leasedOf(task));
      await it.deliver("a");
      assert.deepEqual(await it.ids({ build: "b2" }), ["a"]);
    });

    test("a run that was pinned at its start keeps its pin", async () => {
      const it = site();
      await it.start("a", { pinned: "b2" });
      assert.deepEqual(await it.ids({ build: "b1", pinsRuns: true }), []);
      assert.deepEqual(await it.ids({ build: "b2", pinsRuns: true }), ["a"]);
      assert.equal((await it.stored("a")).pinned, "b2");
    });

    test("a claimed task contains the current pin of its run", async () => {
      const it = site();
      await it.start("bound", { pinned: "b1" });
      await it.start("free");
      const claim = async (pinsRuns: boolean) => {
        const { tasks } = await it.claim({ build: "b3", compatible: ["b1"], pinsRuns });
        await it.workflows.giveBack(tasks.map(({ ref, token }) => ({ ref, token, pauseMs: 0, problem: undefined })));
        return Object.fromEntries(tasks.map(({ workflowId, pinned }) => [workflowId, pinned]));
      };
      assert.deepEqual(await claim(false), { bound: "b1", free: undefined });
      assert.deepEqual(await claim(true), { bound: "b1", free: "b3" });
      assert.deepEqual(await claim(false), { bound: "b1", free: "b3" });
    });

    test("only claimed runs are pinned", async () => {
      const it = site();
      for (let i = 0; i < 5; i++) await it.start(`${i}`);
      assert.equal((await it.claim({ build: "b1", pinsRuns: true, limit: 2 })).tasks.length, 2);
      const builds = await Promise.all(["0", "1", "2", "3", "4"].map(async (id) => (await it.stored(id)).pinned));
      assert.deepEqual(builds.filter((build) => build === "b1").length, 2);
      assert.equal((await it.claim({ build: "b2", pinsRuns: true })).tasks.length, 3);
    });

    test("a worker continues runs of a compatible build, and they keep their pin", async () => {
      const it = site();
      for (const build of ["b1", "b2", "b3"]) await it.start(`of ${build}`, { pinned: build });
      await it.start("free");
      const ids = await it.ids({ build: "b3", compatible: ["b1"], pinsRuns: true });
      assert.deepEqual(ids.sort(), ["free", "of b1", "of b3"]);
      assert.deepEqual([(await it.stored("of b1")).pinned, (await it.stored("free")).pinned], ["b1", "b3"]);
    });

    test("a task whose lease has ended is claimed only by the same build", async () => {
      const it = site();
      await it.start("a");
      await it.theTask({ build: "b1", pinsRuns: true });
      await opened().advance(2 * HOUR);
      assert.deepEqual(await it.ids({ build: "b2", pinsRuns: true }), []);
      assert.deepEqual(await it.ids({ build: "b1", pinsRuns: true, worker: "w2" }), ["a"]);
    });

    test("affinity does not bring a run to a build that it is not pinned to", async () => {
      const it = site();
      await it.seen("w1");
      await it.start("a");
      const task = await it.theTask({ build: "b1", pinsRuns: true });
      await it.complete(leasedOf(task), { affinity: { worker: "w1", ms: HOUR } });
      await it.deliver("a");
      assert.deepEqual(await it.ids({ worker: "w1", build: "b2" }), []);
      assert.equal((await it.theTask({ worker: "w1", build: "b1" })).mode, "sticky_hit_expected");
    });
  });

  describe("pins to definitions", () => {
    /**
     * A worker of a build with a definition: it takes runs that are pinned to less than that, and pins them.
     */
    const code = (definition: string, build = "b1", worker = "w1"): ClaimOptions => {
      const pins = `${build} ${definition}`;
      return { worker, pins: [undefined, build, pins].map((pinned) => ({ pinned, pins })) };
    };

    test("a run is pinned to build and definition by its first claim, and not claimed by other definitions", async () => {
      const it = site();
      await it.start("a");
      const task = await it.theTask(code("f"));
      assert.equal(task.pinned, "b1 f");
      assert.equal((await it.stored("a")).pinned, "b1 f");
      await it.complete(leasedOf(task), { batch: batchOf("2") });
      await it.deliver("a");
      assert.deepEqual(await it.ids(code("g")), []);
      assert.deepEqual(await it.ids(code("f", "b2")), []);
      assert.deepEqual(await it.ids({ build: "b1", pinsRuns: true }), []);
      assert.deepEqual(await it.ids(code("f", "b1", "w2")), ["a"]);
      assert.equal((await it.stored("a")).pinned, "b1 f");
    });

    test("a run that was pinned to a build at its start is also pinned to a definition by its first claim", async () => {
      const it = site();
      await it.start("a", { pinned: "b1" });
      await it.start("other", { pinned: "b2" });
      const task = await it.theTask(code("f"));
      assert.deepEqual([task.workflowId, task.pinned], ["a", "b1 f"]);
      await it.complete(leasedOf(task));
      await it.deliver("a");
      assert.deepEqual(await it.ids(code("g")), []);
      assert.deepEqual(await it.ids(code("f")), ["a"]);
      assert.equal((await it.stored("other")).pinned, "b2");
    });

    test("claimed runs are each pinned according to their own type and build", async () => {
      const it = site();
      const types = [
        {
          type: "Order",
          pins: [
            { pinned: undefined, pins: "f" },
            { pinned: "b1", pins: "b1 f" },
          ],
        },
        {
          type: "Part",
          pins: [
            { pinned: undefined, pins: "g" },
            { pinned: "g", pins: "g" },
          ],
        },
      ];
      await it.start("order");
      await it.start("of b1", { pinned: "b1" });
      await it.start("part", { type: "Part" });
      await it.start("bound part", { type: "Part", pinned: "g" });
      // The pins of another type do not apply to this one.
      await it.start("odd part", { type: "Part", pinned: "b1" });
      await it.start("odd order", { pinned: "g" });
      const request = { namespace: it.namespace, queue: "main", limit: 9, isSticky: true, staleMs: HOUR, types };
      const { tasks } = await it.workflows.claim({ ...request, lease: lease("w1") });
      const pinned = tasks.map((task) => `${task.workflowId}: ${task.pinned}`);
      assert.deepEqual(pinned.sort(), ["bound part: g", "of b1: b1 f", "order: f", "part: g"]);
      for (const { workflowId, pinned } of tasks) assert.equal((await it.stored(workflowId)).pinned, pinned);
      for (const id of ["odd part", "odd order"]) assert.equal((await it.task(id)).state, "ready");
    });

    test("a task whose lease has ended is claimed only by the same definition", async () => {
      const it = site();
      await it.start("a");
      await it.theTask(code("f"));
      await opened().advance(2 * HOUR);
      assert.deepEqual(await it.ids(code("g", "b1", "w2")), []);
      assert.deepEqual(await it.ids(code("f", "b1", "w2")), ["a"]);
    });

    for (const [what, passes] of [
      ["that is valid", (it: Site) => it.seen("w1")],
      ["that has ended", () => opened().advance(2 * HOUR)],
      ["for a worker that is gone", (it: Site) => it.workflows.forgetWorker(it.namespace, "w1")],
      ["for a worker without a recent report", () => opened().advance(31 * MINUTE)],
    ] as [string, (it: Site) => Promise<unknown>][]) {
      test(`affinity ${what} hasAttached a run to no other definition`, async () => {
        const it = site();
        await it.seen("w1");
        await it.start("a");
        await it.complete(leasedOf(await it.theTask(code("f"))), { affinity: { worker: "w1", ms: HOUR } });
        await it.deliver("a");
        await passes(it);
        const staleMs = 30 * MINUTE;
        for (const isSticky of [true, false]) {
          for (const worker of ["w1", "w2"]) {
            assert.deepEqual(await it.ids({ ...code("g", "b1", worker), staleMs, isSticky }), []);
          }
        }
        const isKept = what === "that is valid";
        assert.deepEqual(await it.ids({ ...code("f", "b1", "w2"), staleMs }), isKept ? [] : ["a"]);
        if (isKept) assert.equal((await it.theTask(code("f"))).mode, "sticky_hit_expected");
      });
    }
  });
}
