// Starts of runs: a repeated start starts a run once, and existing runs of the workflow decide as requested.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RunStatus } from "../../ports/store/workflows.ts";
import { assertAbout, setOf } from "./reminders-shared.contract.ts";
import {
  batchOf,
  closeAs,
  freshId,
  HOUR,
  LARGE,
  lease,
  ODD,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowStartsContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("starts of runs", () => {
    test("a started run has all its values", async () => {
      const it = site();
      const first = batchOf("started", ODD.replaceAll("\n", " "));
      const start = it.startOf(ODD, { type: ODD, queue: ODD, pinned: ODD, first, attributes: `{"a":1}`, memo: LARGE });
      const { ref, runId, status, isNew } = await it.send(start);
      assert.deepEqual([runId, status, isNew], [start.runId, "running", true]);
      const found = await it.stored(ODD);
      const { startedAt, task, ...rest } = found;
      assert.deepEqual(rest, {
        ...it.key(ODD),
        ref,
        runId,
        type: ODD,
        queue: ODD,
        pinned: ODD,
        status: "running",
        attributes: `{"a":1}`,
        memo: LARGE,
        closedAt: undefined,
        result: undefined,
        events: 2,
        bytes: Buffer.byteLength(first.data),
        stickyWorker: undefined,
        stickyUntil: undefined,
      });
      assertAbout(startedAt, await it.now());
      assert.deepEqual([task?.state, task?.attempt, task?.arrived, task?.taken], ["ready", 0, 0, 0]);
      assert.deepEqual([task?.problem, task?.worker], [undefined, undefined]);
      const { batches } = await it.workflows.history(ref, 0, 1);
      assert.deepEqual(batches, [{ from: 1, ...first }]);
    });

    test("later runs have higher refs, also within a batch and in other namespaces", async () => {
      const [it, other] = [site(), site()];
      const batch = ["a", "b", "c"].map((id) => it.startOf(id));
      const outcomes = await it.workflows.start([...batch, other.startOf("a")]);
      outcomes.push(await it.start("d"));
      const refs = outcomes.map(({ ref }) => ref);
      assert.deepEqual(
        [...new Set(refs)].sort((a, b) => a - b),
        refs,
      );
      assert.deepEqual(
        outcomes.slice(0, 3).map(({ runId }) => runId),
        batch.map(({ runId }) => runId),
      );
    });

    test("an empty batch starts nothing", async () => {
      assert.deepEqual(await site().workflows.start([]), []);
    });

    test("a task of a new run is ready at once, and its claim has the values of the history", async () => {
      const it = site();
      const { ref, runId } = await it.start("a", { first: batchOf("1", "2", "3") });
      const { token, ...task } = await it.theTask({ lease: lease("w1", HOUR, "the token") });
      assert.equal(token, "the token");
      assert.deepEqual(task, {
        ...it.key("a"),
        ref,
        runId,
        type: "Order",
        attempt: 1,
        mode: "cold_replay",
        pinned: undefined,
        lost: 0,
        last: 3,
        taken: 0,
        delivered: 0,
      });
    });

    test("a run that was started with a delay is ready after the delay, and not before", async () => {
      const it = site();
      const now = await it.now();
      await it.start("a", { delayMs: 2 * HOUR });
      const { tasks, next } = await it.claim();
      assert.deepEqual(tasks, []);
      assertAbout(next, now + 2 * HOUR);
      const { state, at } = await it.task("a");
      assert.equal(state, "ready");
      assertAbout(at, now + 2 * HOUR);
      await opened().advance(HOUR);
      assert.deepEqual(await it.ids(), []);
      await opened().advance(HOUR + 1_000);
      assert.deepEqual(await it.ids(), ["a"]);
    });

    test("a run that was started with a lease belongs to its starter, which appends at once", async () => {
      const it = site();
      const held = await it.leased("a", { lease: lease("me") });
      assert.deepEqual(await it.ids(), []);
      const { state, attempt, worker, at } = await it.task("a");
      assert.deepEqual([state, attempt, worker], ["leased", 1, "me"]);
      assertAbout(at, (await it.now()) + HOUR);
      assert.equal((await it.complete(held, { batch: batchOf("2") })).kind, "done");
      assert.deepEqual(await it.events(held.ref), ["started", "2"]);
    });

    test("a starter's lease ends like any other", async () => {
      const it = site();
      const held = await it.leased("a");
      await opened().advance(2 * HOUR);
      assert.equal((await it.theTask()).attempt, 2);
      assert.equal((await it.complete(held)).kind, "lost");
    });

    test("reminders of a start are set with it, and not when it starts nothing", async () => {
      const it = site();
      await it.start("a", {
        reminders: [setOf(it.place.key("timeout")), setOf(it.place.key("other"), { data: LARGE })],
      });
      await it.start("a", { reminders: [setOf(it.place.key("never"))] });
      assert.deepEqual(await it.reminders(), ["other", "timeout"]);
    });
  });

  describe("repeated starts", () => {
    test("a start whose response was lost is applied once, for every policy", async () => {
      const it = site();
      for (const ifClosed of ["start", "start unless completed", "keep"] as const) {
        const start = it.startOf(ifClosed, {
          ifClosed,
          lease: lease(),
          reminders: [setOf(it.place.key(ifClosed))],
        });
        const first = await it.send(start);
        await it.place.cancel(it.place.key(ifClosed));
        assert.deepEqual(await it.send(start), first);
        assert.deepEqual(await it.send(start), first);
        const held = { ref: first.ref, token: start.lease!.token, last: 1, taken: 0 };
        assert.equal((await it.complete(held, { outcome: closeAs("failed") })).kind, "done");
        assert.deepEqual(await it.send(start), { ...first, status: "failed" });
      }
      assert.deepEqual(await it.reminders(), []);
      assert.equal((await it.workflows.list({ namespace: it.namespace, limit: 100 })).length, 3);
    });

    test("a repeated start finds its earlier run, although there are later ones", async () => {
      const it = site();
      const start = it.startOf("a", { lease: lease() });
      const first = await it.send(start);
      await it.complete({ ref: first.ref, token: start.lease!.token, last: 1, taken: 0 }, { outcome: closeAs() });
      const second = await it.start("a");
      assert.deepEqual(await it.send(start), { ...first, status: "completed" });
      assert.equal((await it.stored("a")).ref, second.ref);
      assert.equal(await it.status("a"), "running");
    });

    test("a batch of starts may be repeated after a lost response, also when other runs have been started since", async () => {
      const it = site();
      const batch = Array.from({ length: 40 }, (_, i) => it.startOf(`${i}`));
      const first = await it.workflows.start(batch);
      const more = Array.from({ length: 10 }, (_, i) => it.startOf(`more ${i}`));
      const again = await it.workflows.start([...batch, ...more]);
      assert.deepEqual(again.slice(0, 40), first);
      assert.ok(again.every(({ isNew }) => isNew));
      assert.equal((await it.claim()).tasks.length, 50);
    });
  });

  describe("starts with an existing run", () => {
    test("an open run stays for every policy", async () => {
      const it = site();
      const first = await it.start("a");
      for (const ifClosed of ["start", "start unless completed", "keep"] as const) {
        assert.deepEqual(await it.start("a", { ifClosed }), { ...first, isNew: false });
      }
      assert.deepEqual(await it.events(first.ref), ["started"]);
      assert.deepEqual(await it.ids(), ["a"]);
    });

    const ends: Exclude<RunStatus, "running">[] = [
      ...(["completed", "failed", "cancelled", "terminated", "timed out", "continued"] as const),
    ];
    for (const status of ends) {
      test(`a start after a ${status} run starts another one, or not, as requested`, async () => {
        const it = site();
        for (const ifClosed of ["start", "start unless completed", "keep"] as const) {
          const { ref } = await it.closed(ifClosed, {}, closeAs(status));
          const again = await it.start(ifClosed, { ifClosed });
          const isStarted = ifClosed === "start" || (ifClosed === "start unless completed" && status !== "completed");
          assert.deepEqual([again.isNew, again.status], isStarted ? [true, "running"] : [false, status], ifClosed);
          assert.equal(again.ref === ref, !isStarted);
          assert.equal((await it.workflows.list({ ...it.key(ifClosed), limit: 9 })).length, isStarted ? 2 : 1);
        }
      });
    }

    test("the latest run decides about a start", async () => {
      const it = site();
      await it.closed("a", {}, closeAs("completed"));
      const failed = await it.closed("a", {}, closeAs("failed"));
      assert.equal((await it.start("a", { ifClosed: "keep" })).ref, failed.ref);
      assert.equal((await it.start("a", { ifClosed: "start unless completed" })).isNew, true);
    });

    test("each start of a batch is decided for itself", async () => {
      const it = site();
      const open = await it.start("open");
      const over = await it.closed("over");
      const failed = await it.closed("failed", {}, closeAs("failed"));
      const outcomes = await it.workflows.start([
        it.startOf("new"),
        it.startOf("over", { ifClosed: "keep" }),
        it.startOf("open"),
        it.startOf("failed", { ifClosed: "start unless completed" }),
      ]);
      assert.deepEqual(
        outcomes.map(({ isNew }) => isNew),
        [true, false, false, true],
      );
      assert.deepEqual([outcomes[1]?.ref, outcomes[2]?.ref], [over.ref, open.ref]);
      assert.notEqual(outcomes[3]?.ref, failed.ref);
    });

    test("the same workflow id in another namespace is another workflow", async () => {
      const [it, other] = [site(), site()];
      await it.start("a");
      assert.equal((await other.start("a")).isNew, true);
      assert.equal(await it.status("a"), "running");
    });

    test("workflow ids that differ in a single character are different", async () => {
      const it = site();
      for (const id of ["a", "A", "a ", " a", "ä", "", "a%", "a_", freshId()])
        assert.ok((await it.start(id)).isNew, id);
    });
  });
}
