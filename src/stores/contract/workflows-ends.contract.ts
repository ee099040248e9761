// Ends of runs: closing from outside, waiting for the end, and removing runs that ended long ago.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertAbout, setOf } from "./reminders-shared.contract.ts";
import {
  batchOf,
  closeAs,
  freshId,
  HOUR,
  LARGE,
  leasedOf,
  MINUTE,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowEndsContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("closing runs from outside", () => {
    test("a run in any state is closed, with the events that give the reason", async () => {
      const it = site();
      await it.start("ready");
      await it.start("later", { delayMs: HOUR });
      await it.idle("idle");
      await it.leased("leased");
      for (const id of ["ready", "later", "idle", "leased"]) {
        const { ref } = await it.stored(id);
        const closing = it.closing(id, { status: "timed out", batch: batchOf("too", "late"), result: LARGE });
        assert.equal(await it.workflows.close(closing), true);
        const run = await it.stored(id);
        assert.deepEqual([run.status, run.result, run.task, run.events], ["timed out", LARGE, undefined, 3]);
        assertAbout(run.closedAt, await it.now());
        assert.deepEqual(await it.events(ref), ["started", "too", "late"]);
      }
      assert.deepEqual([await it.ids(), (await it.claim()).next], [[], undefined]);
    });

    test("the holder of the task of a closed run can change nothing", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.workflows.close(it.closing("a"));
      assert.equal((await it.complete(held, { batch: batchOf("2") })).kind, "lost");
      assert.equal((await it.complete(held)).kind, "lost");
      assert.deepEqual(await it.workflows.renew([held], HOUR), [held.ref]);
      assert.deepEqual(await it.workflows.giveBack([{ ...held, pauseMs: 0, problem: undefined }]), [false]);
      assert.deepEqual(await it.deliver("a"), { kind: "closed", status: "terminated" });
      assert.deepEqual(await it.events(held.ref), ["started", "terminated"]);
    });

    test("a closed run stays unchanged", async () => {
      const it = site();
      const { ref } = await it.closed("a");
      const before = await it.stored("a");
      assert.equal(await it.workflows.close(it.closing("a")), false);
      assert.equal(await it.workflows.close(it.closing("a", { runId: before.runId })), false);
      assert.equal(await it.workflows.close(it.closing("nobody")), false);
      assert.deepEqual(await it.stored("a"), before);
      assert.deepEqual(await it.events(ref), ["started"]);
    });

    test("a given run is closed only if it is the open one", async () => {
      const it = site();
      await it.closed("a");
      const { runId: first } = await it.stored("a");
      const { runId: second } = await it.start("a");
      assert.equal(await it.workflows.close(it.closing("a", { runId: first })), false);
      assert.equal(await it.workflows.close(it.closing("a", { runId: freshId() })), false);
      assert.equal(await it.status("a"), "running");
      assert.equal(await it.workflows.close(it.closing("a", { runId: second })), true);
      assert.deepEqual([await it.status("a", first), await it.status("a", second)], ["completed", "terminated"]);
    });

    test("messages of a close are delivered in the same step, and only if it is applied", async () => {
      const it = site();
      await it.start("child");
      const { ref } = await it.idle("parent");
      const messages = ["parent", "nobody", "child", "parent"].map((id, i) => it.messageTo(id, `${i}`));
      assert.equal(await it.workflows.close(it.closing("child", { messages, runId: freshId() })), false);
      assert.deepEqual([await it.inbox(ref), (await it.task("parent")).state], [[], "idle"]);
      assert.equal(await it.workflows.close(it.closing("child", { messages })), true);
      assert.deepEqual(await it.inbox(ref), [
        [1, "0"],
        [2, "3"],
      ]);
      assert.deepEqual(await it.ids(), ["parent"]);
      assert.equal(await it.workflows.close(it.closing("child", { messages: [it.messageTo("parent")] })), false);
      assert.equal((await it.task("parent")).arrived, 2);
    });

    test("reminders of a close are set and cancelled with it, and only if it is applied", async () => {
      const it = site();
      const key = it.place.key("timer");
      await it.start("a", { reminders: [setOf(key)] });
      const reminders = [{ kind: "cancel", key } as const, setOf(it.place.key("later"))];
      assert.equal(await it.workflows.close(it.closing("a", { reminders, runId: freshId() })), false);
      assert.deepEqual(await it.reminders(), ["timer"]);
      assert.equal(await it.workflows.close(it.closing("a", { reminders })), true);
      assert.deepEqual(await it.reminders(), ["later"]);
    });

    test("a closed workflow can be started again", async () => {
      const it = site();
      await it.start("a");
      await it.workflows.close(it.closing("a"));
      const { ref, isNew } = await it.start("a");
      assert.ok(isNew);
      assert.deepEqual([(await it.theTask()).ref, await it.events(ref)], [ref, ["started"]]);
    });

    test("either a close or the last step of a run applies first, and both get matching results", async () => {
      const it = site();
      for (let i = 0; i < 20; i++) {
        const held = await it.leased(`${i}`);
        const [isClosed, outcome] = await Promise.all([
          it.workflows.close(it.closing(`${i}`)),
          it.complete(held, { batch: batchOf("the end"), outcome: closeAs() }),
        ]);
        assert.equal(isClosed, outcome.kind === "lost");
        assert.equal(await it.status(`${i}`), isClosed ? "terminated" : "completed");
        assert.deepEqual(await it.events(held.ref), ["started", isClosed ? "terminated" : "the end"]);
      }
    });
  });

  describe("waiting for the end of runs", () => {
    test("closed runs are returned with their results, and open ones are not", async () => {
      const it = site();
      const over = await it.closed("over", {}, closeAs("failed", LARGE));
      const open = await it.leased("open");
      const { ref: replaced, runId: replacedId } = await it.start("replaced");
      await it.workflows.close(it.closing("replaced"));
      await it.start("replaced");
      assert.deepEqual(await it.workflows.watchEnds([open.ref, 2 ** 40]), []);
      assert.deepEqual(await it.workflows.watchEnds([]), []);
      const idOf = async (name: string) => (await it.workflows.find(it.key(name)))!.runId;
      const ends = await it.workflows.watchEnds([open.ref, over.ref, replaced]);
      assert.deepEqual(
        ends.sort((a, b) => a.ref - b.ref),
        [
          { ref: over.ref, runId: await idOf("over"), status: "failed", result: LARGE },
          { ref: replaced, runId: replacedId, status: "terminated", result: "why" },
        ].sort((a, b) => a.ref - b.ref),
      );
      await it.complete(open, { outcome: closeAs("completed", "fine") });
      assert.deepEqual(await it.workflows.watchEnds([open.ref]), [
        { ref: open.ref, runId: await idOf("open"), status: "completed", result: "fine" },
      ]);
    });

    test("the step that closes a watched run gets that information", async () => {
      const it = site();
      const [watched, other] = [await it.leased("watched"), await it.leased("other")];
      await it.workflows.watchEnds([watched.ref]);
      const outcomes = await it.workflows.complete(
        [other, watched].map((held) => it.completionOf(held, { batch: batchOf("end"), outcome: closeAs() })),
      );
      assert.deepEqual(
        outcomes.map((one) => one.kind === "done" && one.isWatched),
        [false, true],
      );
    });

    test("a run stays watched however often its task changes its holder", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.workflows.watchEnds([held.ref]);
      await it.complete(held, { batch: batchOf("2") });
      await it.deliver("a");
      const task = await it.theTask();
      const outcome = await it.complete(leasedOf(task), { taken: 1, outcome: closeAs() });
      assert.ok(outcome.kind === "done" && outcome.isWatched);
    });
  });

  describe("removal of closed runs", () => {
    test("a run is removed with its event batches, its inbox and its attributes", async () => {
      const it = site();
      const held = await it.leased("a", { attributes: `{"a":1}` });
      await it.workflows.deliver(["1", "2"].map((key) => it.messageTo("a", key)));
      await it.complete(held, { batch: batchOf("2"), taken: 1, outcome: closeAs() });
      assert.equal(await it.workflows.prune(it.namespace, (await it.now()) + MINUTE, 10), 1);
      assert.equal(await it.workflows.find(it.key("a")), undefined);
      assert.deepEqual(await it.workflows.history(held.ref, 0, 1_000), { batches: [], isCut: false });
      assert.deepEqual(await it.inbox(held.ref), []);
      assert.deepEqual(await it.workflows.watchEnds([held.ref]), []);
      assert.deepEqual(await it.workflows.list({ namespace: it.namespace, attributes: { a: 1 }, limit: 9 }), []);
      assert.deepEqual(await it.deliver("a"), { kind: "closed", status: undefined });
      assert.equal((await it.complete(held, { batch: batchOf("2"), outcome: closeAs() })).kind, "lost");
      const next = await it.start("a", { ifClosed: "keep" });
      assert.ok(next.isNew && next.ref > held.ref);
    });

    test("only runs that ended before the given time are removed, and never open ones", async () => {
      const it = site();
      await it.closed("early");
      const late = await it.leased("late");
      await it.start("open");
      await opened().advance(2 * HOUR);
      await it.complete(late, { outcome: closeAs() });
      const now = await it.now();
      assert.equal(await it.workflows.prune(it.namespace, now - 5 * HOUR, 10), 0);
      assert.equal(await it.workflows.prune(it.namespace, now - HOUR, 10), 1);
      assert.deepEqual([await it.status("early"), await it.status("late")], [undefined, "completed"]);
      assert.equal(await it.workflows.prune(it.namespace, now + HOUR, 10), 1);
      assert.deepEqual([await it.status("late"), await it.status("open")], [undefined, "running"]);
    });

    test("a removal is limited to the requested number and to the namespace", async () => {
      const [it, other] = [site(), site()];
      await Promise.all(Array.from({ length: 25 }, (_, i) => it.closed(`${i}`)));
      await other.closed("a");
      const soon = (await it.now()) + HOUR;
      const counts: number[] = [];
      for (let i = 0; i < 4; i++) counts.push(await it.workflows.prune(it.namespace, soon, 10));
      assert.deepEqual(counts, [10, 10, 5, 0]);
      assert.equal(await other.status("a"), "completed");
    });

    test("an open run of a workflow stays when its earlier runs are removed", async () => {
      const it = site();
      await it.closed("a");
      const { ref } = await it.start("a");
      await it.deliver("a", "k");
      assert.equal(await it.workflows.prune(it.namespace, (await it.now()) + HOUR, 10), 1);
      assert.deepEqual(await it.inbox(ref), [[1, "k"]]);
      assert.deepEqual([(await it.theTask()).ref, await it.events(ref)], [ref, ["started"]]);
    });
  });
}
