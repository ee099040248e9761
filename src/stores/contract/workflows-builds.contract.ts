// What runs are bound to, by being started or claimed: builds of the code and definitions of workflows. To a store they are texts; a
// worker says which of them its runs may be bound to, and what they are bound to from then on.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type ClaimOptions,
  HOUR,
  heldOf,
  lease,
  MINUTE,
  page,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowBuildsContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("builds", () => {
    test("a run that is bound to none is bound by its first claim, and to nothing else by later ones", async () => {
      const it = site();
      await it.start("a");
      assert.equal((await it.stored("a")).bound, undefined);
      const task = await it.theTask({ build: "b1", binds: true });
      assert.equal((await it.stored("a")).bound, "b1");
      await it.append(heldOf(task), { page: page("2") });
      await it.arrive("a");
      assert.deepEqual(await it.ids({ build: "b2", binds: true }), []);
      assert.deepEqual(await it.ids({ build: "b2", binds: false }), []);
      assert.deepEqual(await it.ids({ build: "b1", binds: true }), ["a"]);
      assert.equal((await it.stored("a")).bound, "b1");
    });

    test("a claim that does not bind leaves it free", async () => {
      const it = site();
      await it.start("a");
      const task = await it.theTask({ build: "b1" });
      assert.equal((await it.stored("a")).bound, undefined);
      await it.append(heldOf(task));
      await it.arrive("a");
      assert.deepEqual(await it.ids({ build: "b2" }), ["a"]);
    });

    test("one that was bound when it was started stays bound to that", async () => {
      const it = site();
      await it.start("a", { bound: "b2" });
      assert.deepEqual(await it.ids({ build: "b1", binds: true }), []);
      assert.deepEqual(await it.ids({ build: "b2", binds: true }), ["a"]);
      assert.equal((await it.stored("a")).bound, "b2");
    });

    test("whoever claims a task hears what its run is bound to by now", async () => {
      const it = site();
      await it.start("bound", { bound: "b1" });
      await it.start("free");
      const claim = async (binds: boolean) => {
        const { tasks } = await it.claim({ build: "b3", compatible: ["b1"], binds });
        await it.workflows.giveBack(tasks.map(({ ref, token }) => ({ ref, token, pauseMs: 0, problem: undefined })));
        return Object.fromEntries(tasks.map(({ workflowId, bound }) => [workflowId, bound]));
      };
      assert.deepEqual(await claim(false), { bound: "b1", free: undefined });
      assert.deepEqual(await claim(true), { bound: "b1", free: "b3" });
      assert.deepEqual(await claim(false), { bound: "b1", free: "b3" });
    });

    test("only what was claimed is bound", async () => {
      const it = site();
      for (let i = 0; i < 5; i++) await it.start(`${i}`);
      assert.equal((await it.claim({ build: "b1", binds: true, limit: 2 })).tasks.length, 2);
      const builds = await Promise.all(["0", "1", "2", "3", "4"].map(async (id) => (await it.stored(id)).bound));
      assert.deepEqual(builds.filter((build) => build === "b1").length, 2);
      assert.equal((await it.claim({ build: "b2", binds: true })).tasks.length, 3);
    });

    test("a worker goes on with runs of a build that it is compatible with, and they stay bound to it", async () => {
      const it = site();
      for (const build of ["b1", "b2", "b3"]) await it.start(`of ${build}`, { bound: build });
      await it.start("free");
      const ids = await it.ids({ build: "b3", compatible: ["b1"], binds: true });
      assert.deepEqual(ids.sort(), ["free", "of b1", "of b3"]);
      assert.deepEqual([(await it.stored("of b1")).bound, (await it.stored("free")).bound], ["b1", "b3"]);
    });

    test("a lease that ran out is had by the same build alone", async () => {
      const it = site();
      await it.start("a");
      await it.theTask({ build: "b1", binds: true });
      await opened().advance(2 * HOUR);
      assert.deepEqual(await it.ids({ build: "b2", binds: true }), []);
      assert.deepEqual(await it.ids({ build: "b1", binds: true, worker: "w2" }), ["a"]);
    });

    test("affinity does not bring a run to a build that it is not bound to", async () => {
      const it = site();
      await it.seen("w1");
      await it.start("a");
      const task = await it.theTask({ build: "b1", binds: true });
      await it.append(heldOf(task), { affinity: { worker: "w1", ms: HOUR } });
      await it.arrive("a");
      assert.deepEqual(await it.ids({ worker: "w1", build: "b2" }), []);
      assert.equal((await it.theTask({ worker: "w1", build: "b1" })).mode, "sticky_hit_expected");
    });
  });

  describe("definitions", () => {
    /** A worker of a build whose code has a definition: it has what is bound to less than that, and binds it. */
    const code = (definition: string, build = "b1", worker = "w1"): ClaimOptions => {
      const binds = `${build} ${definition}`;
      return { worker, bindings: [undefined, build, binds].map((bound) => ({ bound, binds })) };
    };

    test("a run is bound to build and definition by its first claim, and left alone by other definitions", async () => {
      const it = site();
      await it.start("a");
      const task = await it.theTask(code("f"));
      assert.equal(task.bound, "b1 f");
      assert.equal((await it.stored("a")).bound, "b1 f");
      await it.append(heldOf(task), { page: page("2") });
      await it.arrive("a");
      assert.deepEqual(await it.ids(code("g")), []);
      assert.deepEqual(await it.ids(code("f", "b2")), []);
      assert.deepEqual(await it.ids({ build: "b1", binds: true }), []);
      assert.deepEqual(await it.ids(code("f", "b1", "w2")), ["a"]);
      assert.equal((await it.stored("a")).bound, "b1 f");
    });

    test("one that was bound to a build when it was started is bound to a definition as well by its first claim", async () => {
      const it = site();
      await it.start("a", { bound: "b1" });
      await it.start("other", { bound: "b2" });
      const task = await it.theTask(code("f"));
      assert.deepEqual([task.workflowId, task.bound], ["a", "b1 f"]);
      await it.append(heldOf(task));
      await it.arrive("a");
      assert.deepEqual(await it.ids(code("g")), []);
      assert.deepEqual(await it.ids(code("f")), ["a"]);
      assert.equal((await it.stored("other")).bound, "b2");
    });

    test("runs that were claimed together are bound to what their own types and builds are bound to", async () => {
      const it = site();
      const types = [
        {
          type: "Order",
          bindings: [
            { bound: undefined, binds: "f" },
            { bound: "b1", binds: "b1 f" },
          ],
        },
        {
          type: "Part",
          bindings: [
            { bound: undefined, binds: "g" },
            { bound: "g", binds: "g" },
          ],
        },
      ];
      await it.start("order");
      await it.start("of b1", { bound: "b1" });
      await it.start("part", { type: "Part" });
      await it.start("bound part", { type: "Part", bound: "g" });
      // What another type may be bound to says nothing of this one.
      await it.start("odd part", { type: "Part", bound: "b1" });
      await it.start("odd order", { bound: "g" });
      const request = { namespace: it.namespace, queue: "main", limit: 9, isSticky: true, staleMs: HOUR, types };
      const { tasks } = await it.workflows.claim({ ...request, lease: lease("w1") });
      const bound = tasks.map(({ workflowId, bound }) => `${workflowId}: ${bound}`);
      assert.deepEqual(bound.sort(), ["bound part: g", "of b1: b1 f", "order: f", "part: g"]);
      for (const { workflowId, bound } of tasks) assert.equal((await it.stored(workflowId)).bound, bound);
      for (const id of ["odd part", "odd order"]) assert.equal((await it.task(id)).state, "ready");
    });

    test("a lease that ran out is had by the same definition alone", async () => {
      const it = site();
      await it.start("a");
      await it.theTask(code("f"));
      await opened().advance(2 * HOUR);
      assert.deepEqual(await it.ids(code("g", "b1", "w2")), []);
      assert.deepEqual(await it.ids(code("f", "b1", "w2")), ["a"]);
    });

    for (const [what, passes] of [
      ["that lasts", (it: Site) => it.seen("w1")],
      ["that is over", () => opened().advance(2 * HOUR)],
      ["for a worker that is gone", (it: Site) => it.workflows.forgetWorker(it.namespace, "w1")],
      ["for a worker that was not seen for long", () => opened().advance(31 * MINUTE)],
    ] as [string, (it: Site) => Promise<unknown>][]) {
      test(`affinity ${what} brings a run to no other definition`, async () => {
        const it = site();
        await it.seen("w1");
        await it.start("a");
        await it.append(heldOf(await it.theTask(code("f"))), { affinity: { worker: "w1", ms: HOUR } });
        await it.arrive("a");
        await passes(it);
        const staleMs = 30 * MINUTE;
        for (const isSticky of [true, false]) {
          for (const worker of ["w1", "w2"]) {
            assert.deepEqual(await it.ids({ ...code("g", "b1", worker), staleMs, isSticky }), []);
          }
        }
        const isKept = what === "that lasts";
        assert.deepEqual(await it.ids({ ...code("f", "b1", "w2"), staleMs }), isKept ? [] : ["a"]);
        if (isKept) assert.equal((await it.theTask(code("f"))).mode, "sticky_hit_expected");
      });
    }
  });
}
