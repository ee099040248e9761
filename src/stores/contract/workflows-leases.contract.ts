// Leases of tasks: renewing, returning, and waking.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertAbout } from "./reminders-shared.contract.ts";
import {
  batchOf,
  closeAs,
  freshId,
  HOUR,
  KEEP,
  LARGE,
  lease,
  leasedOf,
  MINUTE,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowLeasesContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("renewal of leases", () => {
    test("a renewed lease lasts for its new length from then on", async () => {
      const it = site();
      const held = await it.leased("a", { lease: lease("w1", 30 * MINUTE) });
      await opened().advance(20 * MINUTE);
      assert.deepEqual(await it.workflows.renew([held], HOUR), []);
      assertAbout((await it.task("a")).at, (await it.now()) + HOUR);
      await opened().advance(50 * MINUTE);
      assert.deepEqual(await it.ids(), []);
      await opened().advance(20 * MINUTE);
      assert.deepEqual(await it.ids(), ["a"]);
      assert.deepEqual(await it.workflows.renew([held], HOUR), [held.ref]);
    });

    test("an ended lease of a task can be renewed until another worker claims the task", async () => {
      const it = site();
      const held = await it.leased("a");
      await opened().advance(5 * HOUR);
      assert.deepEqual(await it.workflows.renew([held], HOUR), []);
      assert.deepEqual(await it.ids(), []);
      assert.equal((await it.complete(held, { batch: batchOf("2") })).kind, "done");
    });

    test("a renewal returns the tasks that the token does not hold any more", async () => {
      const it = site();
      const [good, rests, closed, given, taken] = [
        ...[await it.leased("good"), await it.idle("rests"), await it.closed("closed"), await it.leased("given")],
        await it.leased("taken", { lease: lease("w1", MINUTE) }),
      ];
      await it.workflows.giveBack([{ ...given!, pauseMs: HOUR, problem: undefined }]);
      await opened().advance(2 * MINUTE);
      assert.deepEqual(await it.ids(), ["taken"]);
      const wrong = { ref: good!.ref, token: freshId() };
      const nobody = { ref: 2 ** 40, token: freshId() };
      const lost = await it.workflows.renew([rests!, good!, closed!, given!, taken!, nobody], HOUR);
      assert.deepEqual(
        lost.sort((a, b) => a - b),
        [rests!, closed!, given!, taken!, nobody].map(({ ref }) => ref),
      );
      assert.deepEqual(await it.workflows.renew([wrong], HOUR), [wrong.ref]);
      assert.deepEqual(await it.workflows.renew([], HOUR), []);
    });

    test("many leases of several claims are renewed at once", async () => {
      const it = site();
      const all = await Promise.all(Array.from({ length: 100 }, (_, i) => it.leased(`${i}`)));
      assert.deepEqual(await it.workflows.renew(all, 5 * HOUR), []);
      await opened().advance(4 * HOUR);
      assert.deepEqual(await it.ids(), []);
    });
  });

  describe("return of tasks", () => {
    test("a returned task can be claimed by every worker, after its pause", async () => {
      const it = site();
      const { ref, token } = await it.leased("a");
      assert.deepEqual(await it.workflows.giveBack([{ ref, token, pauseMs: HOUR, problem: "broken" }]), [true]);
      const { state, problem, at, worker } = await it.task("a");
      assert.deepEqual([state, problem, worker], ["ready", "broken", undefined]);
      assertAbout(at, (await it.now()) + HOUR);
      const { tasks, next } = await it.claim();
      assert.deepEqual(tasks, []);
      assertAbout(next, (await it.now()) + HOUR);
      await opened().advance(HOUR + MINUTE);
      assert.equal((await it.theTask({ worker: "w2" })).attempt, 2);
    });

    test("attempts are counted for returns with a problem, and not for returns without one", async () => {
      const it = site();
      await it.start("a");
      const attempts: number[] = [];
      for (const problem of ["one", undefined, undefined, LARGE, undefined]) {
        const task = await it.theTask();
        attempts.push(task.attempt);
        assert.deepEqual(await it.workflows.giveBack([{ ...leasedOf(task), pauseMs: 0, problem }]), [true]);
      }
      assert.deepEqual(attempts, [1, 2, 2, 2, 3]);
    });

    test("a step that leaves the task idle resets its attempts and its problem", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.workflows.giveBack([{ ...held, pauseMs: 0, problem: "broken" }]);
      await it.complete(leasedOf(await it.theTask()), { batch: batchOf("2") });
      const { attempt, problem, state } = await it.task("a");
      assert.deepEqual([attempt, problem, state], [0, undefined, "idle"]);
    });

    test("only the holder can return a task", async () => {
      const it = site();
      const held = await it.leased("a");
      const rests = await it.idle("rests");
      const over = await it.closed("over");
      const back = (one: { ref: number; token: string }) => ({ ...one, pauseMs: 0, problem: "broken" });
      const batch = [
        back({ ...held, token: freshId() }),
        back(rests),
        back(over),
        back({ ref: 2 ** 40, token: freshId() }),
      ];
      assert.deepEqual(await it.workflows.giveBack(batch), [false, false, false, false]);
      assert.equal((await it.task("rests")).problem, undefined);
      assert.equal((await it.complete(held, { outcome: KEEP })).kind, "done");
      assert.deepEqual(await it.ids(), []);
      assert.deepEqual(await it.workflows.giveBack([...batch.slice(0, 2), back(held)]), [false, false, true]);
      assert.deepEqual(await it.ids(), ["a"]);
      assert.deepEqual(await it.workflows.giveBack([]), []);
    });

    test("a returned task keeps its messages", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "k");
      await it.workflows.giveBack([{ ...held, pauseMs: 0, problem: undefined }]);
      const task = await it.theTask();
      assert.deepEqual([task.delivered, task.taken, await it.inbox(task.ref)], [1, 0, [[1, "k"]]]);
    });
  });

  describe("waking runs", () => {
    test("a woken task is ready now, whichever state it waits in", async () => {
      const it = site();
      await it.idle("idle");
      await it.start("delayed", { delayMs: HOUR });
      const held = await it.leased("given back");
      await it.workflows.giveBack([{ ...held, pauseMs: HOUR, problem: "broken" }]);
      await it.start("ready");
      for (const id of ["idle", "delayed", "given back", "ready"])
        assert.equal(await it.workflows.wake(it.key(id)), true);
      assert.deepEqual((await it.ids()).sort(), ["delayed", "given back", "idle", "ready"]);
    });

    test("a leased task stays with its holder when its run is woken", async () => {
      const it = site();
      const held = await it.leased("a");
      assert.equal(await it.workflows.wake(it.key("a")), true);
      assert.deepEqual(await it.ids(), []);
      assert.equal((await it.complete(held, { batch: batchOf("2") })).kind, "done");
    });

    test("a wake of a closed or unknown workflow does nothing", async () => {
      const it = site();
      await it.closed("over", {}, closeAs());
      for (const id of ["over", "nobody"]) assert.equal(await it.workflows.wake(it.key(id)), false);
      assert.equal(await it.workflows.wake({ ...it.key("over"), namespace: site().namespace }), false);
    });
  });
}
