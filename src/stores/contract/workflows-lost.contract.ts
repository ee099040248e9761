// Attempts that end with their lease: the store counts each in the step that assigns the task again, so no
// crash hides an attempt.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  batchOf,
  further,
  HOUR,
  KEEP,
  lease,
  leasedOf,
  MINUTE,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowLostContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);
  /** Claims the task for a minute, and lets the lease end. */
  const lose = async (it: Site, times = 1): Promise<number[]> => {
    const lost: number[] = [];
    for (let i = 0; i < times; i++) {
      lost.push((await it.theTask({ lease: lease("w1", MINUTE) })).lost);
      await opened().advance(2 * MINUTE);
    }
    return lost;
  };

  describe("lost attempts", () => {
    test("a lease that ends is counted when the task is assigned again", async () => {
      const it = site();
      await it.start("a");
      assert.deepEqual(await lose(it, 3), [0, 1, 2]);
      const { attempt, lost } = await it.theTask();
      assert.deepEqual([attempt, lost, (await it.task("a")).lost], [4, 3, 3]);
    });

    test("the lease of a run's starter counts as well", async () => {
      const it = site();
      await it.leased("a", { lease: lease("w1", MINUTE) });
      await opened().advance(2 * MINUTE);
      assert.deepEqual(await lose(it, 2), [1, 2]);
    });

    test("a returned task has no lost attempt, with a problem or without", async () => {
      const it = site();
      await it.start("a");
      await lose(it);
      for (const problem of [undefined, "broken", undefined]) {
        const task = await it.theTask();
        assert.equal(task.lost, 1);
        assert.deepEqual(await it.workflows.renew([task], HOUR), []);
        assert.deepEqual(await it.workflows.giveBack([{ ...leasedOf(task), pauseMs: 0, problem }]), [true]);
        assert.equal((await it.task("a")).lost, 1);
      }
    });

    test("a lease that is renewed after its end is not lost", async () => {
      const it = site();
      await it.start("a");
      const task = await it.theTask({ lease: lease("w1", MINUTE) });
      await opened().advance(2 * MINUTE);
      assert.deepEqual(await it.workflows.renew([task], HOUR), []);
      await it.workflows.giveBack([{ ...leasedOf(task), pauseMs: 0, problem: undefined }]);
      assert.equal((await it.theTask()).lost, 0);
    });

    test("a step that leaves the task idle resets the count, and a step that keeps the task does not", async () => {
      const it = site();
      await it.start("a");
      await lose(it, 2);
      const held = leasedOf(await it.theTask());
      await it.complete(held, { batch: batchOf("2"), outcome: KEEP });
      assert.equal((await it.task("a")).lost, 2);
      await it.complete(further(held, 1), { batch: batchOf("3") });
      assert.equal((await it.task("a")).lost, 0);
      await it.deliver("a");
      assert.deepEqual(await lose(it, 2), [0, 1]);
    });

    test("the tasks of a released worker are lost attempts only if it is dead", async () => {
      const it = site();
      await it.start("a");
      const lost: number[] = [];
      for (const isDead of [true, false, true]) {
        lost.push((await it.theTask()).lost);
        assert.equal(await it.workflows.releaseWorker(it.namespace, "w1", isDead), 1);
      }
      assert.deepEqual([...lost, (await it.theTask()).lost], [0, 1, 1, 2]);
    });

    test("waking a run resets lost attempts only on request, and never while a worker has its task", async () => {
      const it = site();
      await it.start("a");
      await lose(it, 2);
      const task = await it.theTask();
      await it.workflows.wake(it.key("a"), true);
      assert.equal((await it.task("a")).lost, 2);
      await it.workflows.giveBack([{ ...leasedOf(task), pauseMs: HOUR, problem: "parked" }]);
      await it.workflows.wake(it.key("a"));
      assert.equal((await it.task("a")).lost, 2);
      await it.workflows.wake(it.key("a"), true);
      assert.equal((await it.task("a")).lost, 0);
      assert.equal((await it.theTask()).lost, 0);
    });
  });
}
