// Continued runs: messages for the workflow move on to the next run, in one step with the end of the old run.
// Also starts that are refused as part of a step, with a message about the refusal.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ClaimedTask } from "../../ports/store/workflows.ts";
import {
  batchOf,
  closeAs,
  further,
  LARGE,
  type LeasedTask,
  leasedOf,
  REST,
  Site,
  type WorkflowsHarness,
  withSecond,
} from "./workflows-shared.contract.ts";

const CONTINUED = closeAs("continued", "the next run");

export function workflowContinuingContract(harness: WorkflowsHarness): void {
  const site = () => new Site(harness.opened().store);

  /** Ends a run and starts the next one of its workflow. Returns the ref of the new run. */
  async function goOn(it: Site, id: string, held: LeasedTask, keys = [] as string[]): Promise<number> {
    const starts = [it.startOf(id)];
    const messages = keys.map((key) => it.messageTo(id, key, { runId: starts[0]!.runId }));
    const outcome = await it.complete(held, { batch: batchOf("on"), outcome: CONTINUED, starts, messages });
    assert.ok(outcome.kind === "done" && outcome.starts[0]?.isNew);
    return outcome.starts[0].ref;
  }

  /** A claim may skip a task while a message to it is being delivered. */
  async function theNext(it: Site): Promise<ClaimedTask> {
    for (;;) {
      const { tasks } = await it.claim();
      if (tasks[0] !== undefined) return tasks[0];
    }
  }

  describe("continued runs", () => {
    test("messages for the workflow move on to the next run, in order and with their data", async () => {
      const it = site();
      const held = await it.leased("a");
      for (const key of ["z", "m", "a"]) await it.deliver("a", key, { data: key === "m" ? LARGE : key });
      const ref = await goOn(it, "a", held);
      const inbox = await it.workflows.inbox(ref, 0, 10);
      assert.deepEqual(inbox, [
        { number: 1, key: "z", data: "z" },
        { number: 2, key: "m", data: LARGE },
        { number: 3, key: "a", data: "a" },
      ]);
      assert.deepEqual(await it.inbox(held.ref), []);
      const task = await it.theTask();
      assert.deepEqual([task.ref, task.delivered, task.taken], [ref, 3, 0]);
    });

    test("messages for one run alone are dropped with the run", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "timer 1", { goesAlong: false });
      await it.deliver("a", "signal");
      await it.deliver("a", "timer 2", { goesAlong: false });
      const ref = await goOn(it, "a", held);
      assert.deepEqual(await it.inbox(ref), [[1, "signal"]]);
      assert.deepEqual(await it.deliver("a", "timer 1", { goesAlong: false, runId: (await it.stored("a")).runId }), {
        kind: "delivered",
        ref,
        runId: (await it.stored("a")).runId,
        number: 2,
      });
    });

    test("messages that were taken do not move on", async () => {
      const it = site();
      const held = await it.leased("a");
      for (const key of ["1", "2", "3"]) await it.deliver("a", key);
      const ref = await goOn(it, "a", { ...held, taken: 2 });
      assert.deepEqual(await it.inbox(ref), [[1, "3"]]);
    });

    test("messages that the step sends to the next run come before the remaining ones, and each key is there once", async () => {
      const it = site();
      const held = await it.leased("a");
      for (const key of ["left over", "new"]) await it.deliver("a", key);
      const ref = await goOn(it, "a", held, ["older", "left over"]);
      assert.deepEqual(await it.inbox(ref), [
        [1, "older"],
        [2, "left over"],
        [3, "new"],
      ]);
      assert.equal((await it.task("a")).arrived, 3);
    });

    test("a repeated step moves no message twice", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "signal");
      const starts = [it.startOf("a")];
      const step = it.completionOf(held, { batch: batchOf("on"), outcome: CONTINUED, starts });
      const first = await it.step(step);
      const task = await it.theTask();
      await it.complete(leasedOf(task), { taken: 1, batch: batchOf("took it") });
      assert.deepEqual([first.kind, (await it.step(step)).kind], ["done", "done"]);
      assert.deepEqual(await it.inbox(task.ref), []);
      assert.deepEqual([(await it.task("a")).arrived, (await it.task("a")).state], [1, "idle"]);
    });

    test("a lost step moves no message", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "signal");
      const lost = it.completionOf(further(held, 1), { outcome: CONTINUED, starts: [it.startOf("a")] });
      assert.equal((await it.step(lost)).kind, "lost");
      assert.deepEqual(await it.inbox(held.ref), [[1, "signal"]]);
    });

    test("a continued run without a next run leaves no message", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "signal");
      assert.equal((await it.complete(held, { outcome: CONTINUED })).kind, "done");
      assert.deepEqual(await it.inbox(held.ref), []);
      const { ref } = await it.start("a");
      assert.deepEqual(await it.inbox(ref), []);
    });

    test("an end of another kind moves no message", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "signal");
      await it.complete(held, { outcome: closeAs("completed"), starts: [it.startOf("a")] });
      assert.deepEqual(await it.inbox((await it.stored("a")).ref), []);
    });

    test("messages arrive once and in the order of each sender through many continued runs", async () => {
      await withSecond(harness, async (second) => {
        const it = site();
        const there = second === undefined ? it : new Site(second, it.namespace);
        let held = await it.leased("a");
        const senders = [it, there, it].map(async (from, sender) => {
          for (let i = 0; i < 20; i++) assert.equal((await from.deliver("a", `${sender}.${i}`)).kind, "delivered");
        });
        const seen: string[] = [];
        const take = async () => {
          const inbox = await it.workflows.inbox(held.ref, held.taken, 3);
          seen.push(...inbox.map(({ key }) => key));
          return { ...held, taken: inbox.at(-1)?.number ?? held.taken };
        };
        const all = Promise.all(senders).then(() => true);
        for (let isOver = false, isEmpty = false; !isOver || !isEmpty; ) {
          isOver = await Promise.race([all, new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
          const before = held.taken;
          held = await take();
          isEmpty = held.taken === before;
          await goOn(it, "a", held);
          if (isOver) isEmpty &&= (await it.task("a")).arrived === 0;
          held = leasedOf(await theNext(it));
        }
        assert.deepEqual([seen.length, new Set(seen).size], [60, 60]);
        for (const sender of [0, 1, 2]) {
          const mine = seen.filter((key) => key.startsWith(`${sender}.`));
          assert.deepEqual(
            mine,
            Array.from({ length: 20 }, (_, i) => `${sender}.${i}`),
          );
        }
      });
    });
  });

  describe("starts that are refused as part of a step", () => {
    test("a refused start sends its refusal in the same step, and a successful one does not", async () => {
      const it = site();
      await it.start("taken");
      const held = await it.leased("parent");
      const starts = ["taken", "free"].map((id) => it.startOf(id, { refusal: it.messageTo("parent", `no ${id}`) }));
      const outcome = await it.complete(held, { batch: batchOf("2"), starts, outcome: REST });
      assert.ok(outcome.kind === "done");
      assert.deepEqual(
        outcome.starts.map(({ isNew }) => isNew),
        [false, true],
      );
      assert.deepEqual(await it.inbox(held.ref), [[1, "no taken"]]);
      assert.equal((await it.task("parent")).state, "ready");
    });

    test("a refused start sends its refusal once, however often the step is repeated", async () => {
      const it = site();
      await it.start("taken");
      const held = await it.leased("parent");
      const starts = [it.startOf("taken", { refusal: it.messageTo("parent", "no") })];
      const step = it.completionOf(held, { batch: batchOf("2"), starts });
      assert.equal((await it.step(step)).kind, "done");
      assert.equal((await it.step(step)).kind, "done");
      assert.equal((await it.task("parent")).arrived, 1);
    });

    test("a start after a closed run that is to stay is refused as well", async () => {
      const it = site();
      await it.closed("over");
      const held = await it.leased("parent");
      const refusal = it.messageTo("parent", "no");
      await it.complete(held, { batch: batchOf("2"), starts: [it.startOf("over", { ifClosed: "keep", refusal })] });
      assert.deepEqual(await it.inbox(held.ref), [[1, "no"]]);
    });
  });

  describe("steps that differ from the applied one", () => {
    test("a different step is lost, although it has the same length, last event and token", async () => {
      const it = site();
      for (const outcome of [REST, { kind: "keep", leaseMs: 1_000 } as const, closeAs()]) {
        const held = await it.leased(`${outcome.kind}`);
        assert.equal((await it.complete(held, { batch: batchOf("2"), outcome })).kind, "done");
        assert.equal((await it.complete(held, { batch: batchOf("2"), outcome })).kind, "done", "the same one again");
        assert.equal((await it.complete(held, { batch: batchOf("b"), outcome })).kind, "lost", outcome.kind);
        assert.deepEqual(await it.events(held.ref), ["started", "2"]);
      }
    });

    test("a step with the same event batch but another outcome is lost", async () => {
      const it = site();
      const fates = [REST, { kind: "keep", leaseMs: 1_000 } as const, closeAs(), closeAs("failed")];
      for (const [i, outcome] of fates.entries()) {
        const held = await it.leased(`${i}`);
        await it.complete(held, { batch: batchOf("2"), outcome });
        for (const other of fates) {
          const { kind } = await it.complete(held, { batch: batchOf("2"), outcome: other });
          assert.equal(kind, other === outcome ? "done" : "lost", `${i}: ${other.kind}`);
        }
      }
    });
  });
}
