// Builds of the code: runs that are bound to one by being claimed, and workers that can go on with runs of other builds.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HOUR, heldOf, page, Site, type WorkflowsHarness } from "./workflows-shared.contract.ts";

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
}
