// Affinity: the worker that has a run in memory is preferred for a while. Every worker may replay the run
// cold when that worker is not available.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ReplayMode, WorkerRow } from "../../ports/store/workflows.ts";
import { assertAbout } from "./reminders-shared.contract.ts";
import {
  batchOf,
  closeAs,
  HOUR,
  KEEP,
  lease,
  leasedOf,
  MINUTE,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowStickyContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);
  const passes = (ms: number) => opened().advance(ms);

  /** A ready task of a run that `worker` has in memory for two hours. */
  async function sticky(it: Site, id: string, worker = "owner", ms = 2 * HOUR): Promise<void> {
    await it.idle(id, { affinity: { worker, ms } });
    await it.deliver(id);
  }

  type Claimer = Parameters<Site["claim"]>[0];
  const modes = async (it: Site, request: Claimer): Promise<[id: string, mode: ReplayMode][]> =>
    (await it.claim({ staleMs: 9 * HOUR, ...request })).tasks.map(({ workflowId, mode }) => [workflowId, mode]);

  describe("affinity of runs", () => {
    test("affinity is set by the last step, and shown with the run", async () => {
      const it = site();
      const held = await it.leased("a");
      assert.equal((await it.stored("a")).stickyWorker, undefined);
      await it.complete(held, { batch: batchOf("2"), outcome: KEEP, affinity: { worker: "w1", ms: HOUR } });
      const first = await it.stored("a");
      assert.equal(first.stickyWorker, "w1");
      assertAbout(first.stickyUntil, (await it.now()) + HOUR);
      await it.complete({ ...held, last: 2 }, { outcome: KEEP, affinity: { worker: "w2", ms: 3 * HOUR } });
      const second = await it.stored("a");
      assert.equal(second.stickyWorker, "w2");
      assertAbout(second.stickyUntil, (await it.now()) + 3 * HOUR);
      await it.complete({ ...held, last: 2 });
      const third = await it.stored("a");
      assert.deepEqual([third.stickyWorker, third.stickyUntil], [undefined, undefined]);
    });

    test("rule 1: a task with affinity for the claiming worker comes before tasks that have been ready for longer", async () => {
      const it = site();
      await it.seen("owner");
      await it.start("older");
      await passes(HOUR);
      await sticky(it, "mine");
      await it.start("newer");
      const request = { worker: "owner", staleMs: 9 * HOUR };
      assert.deepEqual(await it.ids({ ...request, limit: 1 }), ["mine"]);
      assert.deepEqual(await it.ids({ ...request, limit: 5 }), ["older", "newer"]);
      assert.equal((await it.task("mine")).mode, "sticky_hit_expected");
      assert.equal((await it.task("older")).mode, "cold_replay");
    });

    test("preferred tasks that have been ready for longest come first, over all types", async () => {
      const it = site();
      const affinity = { worker: "owner", ms: 9 * HOUR };
      for (const [id, type] of [
        ["1", "Order"],
        ["2", "Cart"],
        ["3", "Order"],
        ["4", "Cart"],
      ] as const) {
        await it.idle(id, { type, affinity });
        await it.deliver(id);
        await passes(HOUR);
      }
      const types = ["Order", "Cart"];
      assert.deepEqual(await it.ids({ worker: "owner", types, limit: 3 }), ["1", "2", "3"]);
      assert.deepEqual(await it.ids({ worker: "owner", types, limit: 3 }), ["4"]);
    });

    test("rule 2: a task without affinity can be claimed by every worker", async () => {
      const it = site();
      await it.seen("owner");
      await it.start("a");
      await it.idle("b");
      await it.deliver("b");
      assert.deepEqual(await modes(it, { worker: "w1" }), [
        ["a", "cold_replay"],
        ["b", "cold_replay"],
      ]);
    });

    test("rule 3: a task with affinity for another living worker is left to it until the affinity ends", async () => {
      const it = site();
      await it.seen("owner");
      await sticky(it, "a");
      assert.deepEqual(await modes(it, { worker: "w1" }), []);
      await passes(HOUR);
      await it.seen("owner");
      assert.deepEqual(await modes(it, { worker: "w1" }), []);
      assert.deepEqual(await modes(it, { worker: "owner" }), [["a", "sticky_hit_expected"]]);
    });

    test("rule 4: a task whose affinity has ended can be claimed by every worker, cold", async () => {
      const it = site();
      await it.seen("owner");
      await sticky(it, "a");
      await passes(2 * HOUR + MINUTE);
      await it.seen("owner");
      assert.deepEqual(await modes(it, { worker: "w1" }), [["a", "forced_cold_replay"]]);
    });

    test("a task that is left to its worker does not hide others", async () => {
      const it = site();
      await it.seen("owner");
      for (let i = 0; i < 30; i++) await sticky(it, `sticky ${i}`);
      await it.start("free");
      assert.deepEqual(await it.ids({ worker: "w1", limit: 1 }), ["free"]);
    });
  });

  describe("cold replay of runs", () => {
    test("a run is replayed cold when sticky execution is off: a claim ignores all affinity, also its own", async () => {
      const it = site();
      await it.seen("owner");
      await sticky(it, "another's");
      await sticky(it, "its own", "w1");
      await it.start("nobody's");
      assert.deepEqual((await modes(it, { worker: "w1", isSticky: false })).sort(), [
        ["another's", "forced_cold_replay"],
        ["its own", "forced_cold_replay"],
        ["nobody's", "cold_replay"],
      ]);
    });

    test("a run is replayed cold when its worker did not register as sticky", async () => {
      const it = site();
      await it.seen("owner", { isSticky: false });
      await sticky(it, "a");
      assert.deepEqual(await modes(it, { worker: "w1" }), [["a", "forced_cold_replay"]]);
    });

    test("a run is replayed cold when it has no affinity", async () => {
      const it = site();
      await it.seen("owner");
      await sticky(it, "a");
      const task = await it.theTask({ worker: "owner" });
      await it.complete(leasedOf(task), { batch: batchOf("2"), taken: 1 });
      await it.deliver("a");
      assert.deepEqual(await modes(it, { worker: "owner" }), [["a", "cold_replay"]]);
    });

    const troubles: [what: string, (it: Site) => Promise<unknown>][] = [
      ["has not reported for too long", () => passes(61 * MINUTE)],
      ["is draining", (it) => it.seen("owner", { isDraining: true })],
      ["was forgotten", (it) => it.workflows.forgetWorker(it.namespace, "owner")],
      [
        "was replaced by a worker of another name and build",
        async (it) => {
          await it.seen("new one", { build: "b2" });
          await it.workflows.forgetWorker(it.namespace, "owner");
        },
      ],
    ];
    for (const [what, happens] of troubles) {
      test(`a run is replayed cold when its worker ${what}`, async () => {
        const it = site();
        await it.seen("owner");
        await sticky(it, "a");
        await it.seen("w1");
        assert.deepEqual(await modes(it, { worker: "w1", staleMs: HOUR }), []);
        await happens(it);
        assert.deepEqual(await modes(it, { worker: "w1", staleMs: HOUR }), [["a", "forced_cold_replay"]]);
      });
    }

    test("a run is replayed cold when its worker never registered, or only in another namespace", async () => {
      const [it, other] = [site(), site()];
      await other.seen("owner");
      await sticky(it, "a");
      assert.deepEqual(await modes(it, { worker: "w1" }), [["a", "forced_cold_replay"]]);
    });

    test("a run is replayed cold after a step without affinity, when its worker evicted it", async () => {
      const it = site();
      await it.seen("owner");
      const held = await it.leased("a");
      await it.complete(held, { batch: batchOf("2"), outcome: KEEP, affinity: { worker: "owner", ms: HOUR } });
      await it.complete({ ...held, last: 2 }, { batch: batchOf("3") });
      await it.deliver("a");
      assert.deepEqual(await modes(it, { worker: "w1" }), [["a", "cold_replay"]]);
    });

    test("a run is replayed cold when its own worker claims it after the affinity has ended", async () => {
      const it = site();
      await it.seen("owner");
      await sticky(it, "a");
      await passes(3 * HOUR);
      await it.seen("owner");
      assert.deepEqual(await modes(it, { worker: "owner" }), [["a", "forced_cold_replay"]]);
    });
  });

  describe("limits of affinity", () => {
    const wrong: [what: string, request: Claimer][] = [
      ["type", { types: ["Cart"] }],
      ["queue", { queue: "other" }],
      ["build", { build: "b2" }],
    ];
    for (const [what, request] of wrong) {
      test(`a worker does not get its run when it requests another ${what}`, async () => {
        const it = site();
        await it.seen("owner");
        await it.idle("a", { pinned: "b1", affinity: { worker: "owner", ms: HOUR } });
        await it.deliver("a");
        assert.deepEqual(await modes(it, { worker: "owner", ...request }), []);
        assert.deepEqual(await modes(it, { worker: "owner", ...request, isSticky: false }), []);
        assert.deepEqual(await modes(it, { worker: "owner" }), [["a", "sticky_hit_expected"]]);
      });
    }

    test("a worker does not get its run before the task is ready, nor while another worker has a lease", async () => {
      const it = site();
      await it.seen("owner");
      const affinity = { worker: "owner", ms: 9 * HOUR };
      await it.idle("idle", { affinity });
      const held = await it.leased("leased");
      await it.complete(held, { outcome: KEEP, affinity });
      const back = await it.leased("paused");
      await it.complete(back, { outcome: KEEP, affinity });
      await it.workflows.giveBack([{ ...back, pauseMs: 30 * MINUTE, problem: undefined }]);
      assert.deepEqual(await modes(it, { worker: "owner" }), []);
      await passes(40 * MINUTE);
      assert.deepEqual(await modes(it, { worker: "owner" }), [["paused", "sticky_hit_expected"]]);
    });

    test("a worker that could not continue its run loses the affinity, and every worker may try", async () => {
      const it = site();
      await it.seen("owner");
      const held = await it.leased("a", { lease: lease("owner", MINUTE) });
      await it.complete(held, { outcome: KEEP, affinity: { worker: "owner", ms: 9 * HOUR } });
      await it.workflows.giveBack([{ ...held, pauseMs: 0, problem: "broken" }]);
      const { stickyWorker, stickyUntil, task } = await it.stored("a");
      assert.deepEqual([stickyWorker, stickyUntil, task?.problem], [undefined, undefined, "broken"]);
      assert.deepEqual(await modes(it, { worker: "w1" }), [["a", "cold_replay"]]);
    });

    test("a task that is returned because its worker stops keeps its problem and its affinity", async () => {
      const it = site();
      await it.seen("owner");
      const held = await it.leased("a");
      await it.workflows.giveBack([{ ...held, pauseMs: 0, problem: "broken" }]);
      const again = leasedOf(await it.theTask());
      await it.workflows.giveBack([{ ...again, pauseMs: 0, problem: undefined }]);
      assert.equal((await it.stored("a")).task?.problem, "broken");
      const other = await it.leased("b");
      await it.complete(other, { outcome: KEEP, affinity: { worker: "owner", ms: 9 * HOUR } });
      await it.workflows.giveBack([{ ...other, pauseMs: 0, problem: undefined }]);
      assert.equal((await it.stored("b")).stickyWorker, "owner");
    });

    test("a task whose lease has ended is left to the living worker that has its run in memory", async () => {
      const it = site();
      await it.seen("owner");
      const held = await it.leased("a", { lease: lease("owner", MINUTE) });
      const affinity = { worker: "owner", ms: 2 * HOUR };
      await it.complete(held, { outcome: { kind: "keep", leaseMs: MINUTE }, affinity });
      await passes(2 * MINUTE);
      assert.deepEqual(await modes(it, { worker: "w1" }), []);
      await it.workflows.forgetWorker(it.namespace, "owner");
      assert.deepEqual(await modes(it, { worker: "w1" }), [["a", "forced_cold_replay"]]);
    });
  });

  describe("stickiness of a namespace", () => {
    test("a task that became ready after its affinity ended has none, and one from before is forced to replay", async () => {
      const it = site();
      for (const id of ["before", "after"]) await it.idle(id, { affinity: { worker: "owner", ms: HOUR } });
      await it.deliver("before");
      await opened().advance(2 * HOUR);
      await it.deliver("after");
      const { tasks } = await it.claim({ worker: "other" });
      const modes = Object.fromEntries(tasks.map(({ workflowId, mode }) => [workflowId, mode]));
      assert.deepEqual(modes, { before: "forced_cold_replay", after: "cold_replay" });
    });

    test("affinity that was ended early counts for tasks until its original end", async () => {
      const it = site();
      for (const id of ["soon", "late"]) await it.idle(id, { affinity: { worker: "owner", ms: HOUR } });
      await it.workflows.releaseWorker(it.namespace, "owner", false);
      await it.deliver("soon");
      assert.equal((await it.theTask({ worker: "other" })).mode, "forced_cold_replay");
      await opened().advance(2 * HOUR);
      await it.deliver("late");
      const { tasks } = await it.claim({ worker: "other" });
      assert.equal(tasks.find(({ workflowId }) => workflowId === "late")?.mode, "cold_replay");
    });

    test("stickiness counts runs with valid affinity, and their tasks", async () => {
      const it = site();
      const count = () => it.workflows.stickiness(it.namespace);
      assert.deepEqual(await count(), { runs: 0, ready: 0, leased: 0, owned: 0 });
      await it.seen("owner");
      await it.start("none");
      await it.idle("idle", { affinity: { worker: "owner", ms: HOUR } });
      await sticky(it, "ready", "owner", HOUR);
      const held = await it.leased("leased");
      await it.complete(held, { outcome: KEEP, affinity: { worker: "owner", ms: HOUR } });
      const over = await it.leased("over");
      await it.complete(over, { outcome: closeAs(), affinity: { worker: "owner", ms: HOUR } });
      assert.deepEqual(await count(), { runs: 3, ready: 1, leased: 1, owned: 0 });
      await it.idle("of another", { affinity: { worker: "another", ms: HOUR } });
      await it.deliver("of another");
      const owned = async (...owners: string[]) => (await it.workflows.stickiness(it.namespace, owners)).owned;
      assert.deepEqual([await owned("owner"), await owned("another"), await owned("owner", "another")], [2, 1, 3]);
      assert.equal(await owned("nobody"), 0);
      await it.workflows.close(it.closing("of another"));
      await it.claim({ worker: "owner" });
      assert.deepEqual(await count(), { runs: 3, ready: 0, leased: 2, owned: 0 });
      await passes(HOUR + MINUTE);
      assert.deepEqual(await count(), { runs: 0, ready: 0, leased: 0, owned: 0 });
    });
  });

  describe("workers of workflows", () => {
    test("workers are listed with their last report, until they are forgotten", async () => {
      const it = site();
      assert.deepEqual(await it.workflows.workers(it.namespace), []);
      await it.seen("w1");
      await it.seen("w2", { queue: "other", build: "b2", isSticky: false, about: `{"runtime":"node"}` });
      await passes(HOUR);
      await it.seen("w1", { isDraining: true, about: "more" });
      const workers = (await it.workflows.workers(it.namespace)).sort((a, b) => (a.worker < b.worker ? -1 : 1));
      const rows = workers.map(({ seenAt: _, ...row }): WorkerRow => row);
      assert.deepEqual(rows, [
        it.worker("w1", { isDraining: true, about: "more" }),
        it.worker("w2", { queue: "other", build: "b2", isSticky: false, about: `{"runtime":"node"}` }),
      ]);
      const now = await it.now();
      assertAbout(workers[0]?.seenAt, now);
      assertAbout(workers[1]?.seenAt, now - HOUR);
      assert.equal(await it.workflows.forgetWorker(it.namespace, "w1"), true);
      assert.equal(await it.workflows.forgetWorker(it.namespace, "w1"), false);
      assert.deepEqual(
        (await it.workflows.workers(it.namespace)).map(({ worker }) => worker),
        ["w2"],
      );
    });

    test("workers of other namespaces are other workers", async () => {
      const [it, other] = [site(), site()];
      await it.seen("w1");
      assert.equal(await other.workflows.forgetWorker(other.namespace, "w1"), false);
      assert.deepEqual(await other.workflows.workers(other.namespace), []);
      assert.equal((await it.workflows.workers(it.namespace)).length, 1);
    });
  });
}
