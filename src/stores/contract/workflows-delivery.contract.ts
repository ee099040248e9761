// Messages from outside: they wait in the run's inbox, numbered in the order of delivery, until the holder of
// the task has taken them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  batchOf,
  closeAs,
  freshId,
  further,
  HOUR,
  KEEP,
  LARGE,
  leasedOf,
  ODD,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowDeliveryContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  describe("delivery of messages", () => {
    test("messages are numbered from 1, and wait in the inbox with their data", async () => {
      const it = site();
      const { ref, runId } = await it.start("a");
      assert.deepEqual(await it.deliver("a", "one"), { kind: "delivered", ref, runId, number: 1 });
      assert.deepEqual(await it.deliver("a", ODD, { data: LARGE }), { kind: "delivered", ref, runId, number: 2 });
      assert.deepEqual(await it.deliver("a", "three", { runId, data: ODD }), {
        kind: "delivered",
        ref,
        runId,
        number: 3,
      });
      assert.deepEqual(await it.workflows.inbox(ref, 0, 10), [
        { number: 1, key: "one", data: "data of one" },
        { number: 2, key: ODD, data: LARGE },
        { number: 3, key: "three", data: ODD },
      ]);
      const { arrived, taken } = await it.task("a");
      assert.deepEqual([arrived, taken], [3, 0]);
    });

    test("a waking message makes a waiting task ready; any other message leaves it waiting", async () => {
      const it = site();
      await it.start("delayed", { delayMs: HOUR });
      const held = await it.leased("given back");
      await it.workflows.giveBack([{ ...held, pauseMs: HOUR, problem: "broken" }]);
      const both = ["delayed", "given back"];
      for (const id of both) await it.deliver(id, "quiet");
      assert.deepEqual(await it.ids(), []);
      await it.workflows.deliver(both.map((id) => it.messageTo(id, "loud", { wakes: true })));
      assert.deepEqual((await it.ids()).sort(), both);
      const { arrived, problem } = await it.task("given back");
      assert.deepEqual([arrived, problem], [2, "broken"]);
    });

    test("a repeated waking message wakes too, and a leased task stays with its holder", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "loud", { wakes: true });
      assert.deepEqual(await it.ids(), []);
      await it.workflows.giveBack([{ ...held, pauseMs: HOUR, problem: "broken" }]);
      assert.deepEqual(await it.ids(), []);
      assert.equal((await it.deliver("a", "loud", { wakes: true })).kind, "delivered");
      assert.deepEqual(await it.ids(), ["a"]);
    });

    test("a message that a step or an end sends wakes in the same way", async () => {
      const it = site();
      const [one, two] = [await it.leased("one"), await it.leased("two")];
      for (const id of ["a", "b"]) await it.start(id, { delayMs: HOUR });
      await it.complete(one, { batch: batchOf("2"), messages: [it.messageTo("a", "loud", { wakes: true })] });
      await it.workflows.close(it.closing("two", { messages: [it.messageTo("b", "loud", { wakes: true })] }));
      assert.equal(two.last, 1);
      assert.deepEqual((await it.ids()).sort(), ["a", "b"]);
    });

    test("each run numbers its messages for itself", async () => {
      const it = site();
      await it.start("a");
      await it.start("b");
      const batch = ["a", "b", "a", "a", "b"].map((id, i) => it.messageTo(id, `${i}`));
      const outcomes = await it.workflows.deliver(batch);
      assert.deepEqual(
        outcomes.map((one) => one.kind === "delivered" && one.number),
        [1, 1, 2, 3, 2],
      );
      assert.deepEqual(await it.inbox((await it.stored("a")).ref), [
        [1, "0"],
        [2, "2"],
        [3, "3"],
      ]);
    });

    test("many messages of one batch for one run have numbers in their order", async () => {
      const it = site();
      const { ref } = await it.start("a");
      const outcomes = await it.workflows.deliver(Array.from({ length: 300 }, (_, i) => it.messageTo("a", `${i}`)));
      assert.deepEqual(
        outcomes.map((one) => one.kind === "delivered" && one.number),
        outcomes.map((_, i) => i + 1),
      );
      assert.deepEqual(
        (await it.inbox(ref)).map(([, key]) => key),
        outcomes.map((_, i) => `${i}`),
      );
    });

    test("messages with the same key are one message, as long as the first is in the inbox", async () => {
      const it = site();
      const { ref } = await it.start("a");
      const first = await it.deliver("a", "k", { data: "first" });
      assert.deepEqual(await it.deliver("a", "k", { data: "again" }), first);
      const batch = [it.messageTo("a", "k"), it.messageTo("a", "l"), it.messageTo("a", "l"), it.messageTo("a", "m")];
      const outcomes = await it.workflows.deliver(batch);
      assert.deepEqual(
        outcomes.map((one) => one.kind === "delivered" && one.number),
        [1, 2, 2, 3],
      );
      assert.equal((await it.workflows.inbox(ref, 0, 10))[0]?.data, "first");
      assert.equal((await it.task("a")).arrived, 3);
      const task = await it.theTask();
      assert.equal((await it.complete(leasedOf(task), { batch: batchOf("k"), taken: 1 })).kind, "done");
      const again = await it.workflows.deliver([it.messageTo("a", "l"), it.messageTo("a", "k")]);
      assert.deepEqual(
        again.map((one) => one.kind === "delivered" && one.number),
        [2, 4],
      );
    });

    test("a message with the same key for another run is another message", async () => {
      const it = site();
      await it.start("a");
      await it.start("b");
      await it.deliver("a", "k");
      assert.equal((await it.deliver("b", "k")).kind, "delivered");
      assert.equal((await it.task("b")).arrived, 1);
    });

    test("numbers continue after all messages were taken", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.workflows.deliver([it.messageTo("a"), it.messageTo("a")]);
      await it.complete(held, { batch: batchOf("x"), taken: 2, outcome: KEEP });
      assert.deepEqual(await it.inbox(held.ref), []);
      assert.deepEqual(
        [await it.deliver("a", "k")].map((one) => one.kind === "delivered" && one.number),
        [3],
      );
      assert.deepEqual(await it.inbox(held.ref), [[3, "k"]]);
    });
  });

  describe("effect of a message on the task", () => {
    test("a message makes an idle task ready at once", async () => {
      const it = site();
      const { ref } = await it.idle("a");
      assert.equal((await it.task("a")).state, "idle");
      assert.deepEqual([await it.ids(), (await it.claim()).next], [[], undefined]);
      await it.deliver("a");
      assert.equal((await it.task("a")).state, "ready");
      const task = await it.theTask();
      assert.deepEqual([task.ref, task.delivered, task.taken, task.attempt], [ref, 1, 0, 1]);
    });

    test("a leased task stays with its holder, which sees the message count with its next step", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a");
      await it.deliver("a");
      assert.equal((await it.task("a")).state, "leased");
      assert.deepEqual(await it.ids(), []);
      const outcome = await it.complete(held, { batch: batchOf("2"), outcome: KEEP });
      assert.deepEqual(outcome.kind === "done" && outcome.delivered, 2);
    });

    test("a message leaves a delayed task delayed", async () => {
      const it = site();
      await it.start("a", { delayMs: HOUR });
      await it.deliver("a");
      assert.deepEqual(await it.ids(), []);
      await opened().advance(2 * HOUR);
      assert.equal((await it.theTask()).delivered, 1);
    });

    test("a repeated message does not wake a task", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "k");
      await it.complete(held, { batch: batchOf("k"), taken: 1 });
      assert.deepEqual(await it.ids(), []);
      await it.deliver("a", "l");
      const task = await it.theTask();
      await it.deliver("a", "l");
      await it.complete(leasedOf(task), { batch: batchOf("l"), taken: 2 });
      assert.deepEqual(await it.ids(), []);
    });
  });

  describe("messages that come too late", () => {
    test("a message to an unknown workflow is not delivered", async () => {
      const it = site();
      assert.deepEqual(await it.deliver("nobody"), { kind: "closed", status: undefined });
      await it.start("a");
      assert.deepEqual(await it.deliver("a", "k", { runId: freshId() }), { kind: "closed", status: undefined });
      assert.deepEqual(await it.deliver("a", "k", { namespace: site().namespace }), {
        kind: "closed",
        status: undefined,
      });
    });

    test("a message to a closed run returns its status", async () => {
      const it = site();
      const held = await it.leased("a");
      const { runId } = await it.stored("a");
      await it.complete(held, { outcome: closeAs("cancelled") });
      assert.deepEqual(await it.deliver("a"), { kind: "closed", status: "cancelled" });
      assert.deepEqual(await it.deliver("a", "k", { runId }), { kind: "closed", status: "cancelled" });
      const next = await it.start("a");
      assert.deepEqual(await it.deliver("a", "k", { runId }), { kind: "closed", status: "cancelled" });
      assert.deepEqual(await it.deliver("a", "k"), { kind: "delivered", ref: next.ref, runId: next.runId, number: 1 });
      assert.deepEqual(await it.inbox(next.ref), [[1, "k"]]);
    });

    test("a message to a workflow with several closed runs returns the status of the latest", async () => {
      const it = site();
      await it.closed("a", {}, closeAs("completed"));
      await it.closed("a", {}, closeAs("timed out"));
      assert.deepEqual(await it.deliver("a"), { kind: "closed", status: "timed out" });
    });

    test("a message that comes too late does not affect others of the batch", async () => {
      const it = site();
      await it.closed("over");
      const { ref, runId } = await it.start("a");
      const outcomes = await it.workflows.deliver(
        ["nobody", "a", "over", "a"].map((id, i) => it.messageTo(id, `${i}`)),
      );
      assert.deepEqual(outcomes, [
        { kind: "closed", status: undefined },
        { kind: "delivered", ref, runId, number: 1 },
        { kind: "closed", status: "completed" },
        { kind: "delivered", ref, runId, number: 2 },
      ]);
    });

    test("an empty batch of messages returns nothing", async () => {
      assert.deepEqual(await site().workflows.deliver([]), []);
    });
  });

  describe("inbox of a run", () => {
    test("an inbox is read in pages, behind a number", async () => {
      const it = site();
      const { ref } = await it.start("a");
      await it.workflows.deliver(Array.from({ length: 25 }, (_, i) => it.messageTo("a", `${i + 1}`)));
      const numbers = async (after: number, limit: number) =>
        (await it.workflows.inbox(ref, after, limit)).map(({ number }) => number);
      assert.deepEqual(await numbers(0, 3), [1, 2, 3]);
      assert.deepEqual(await numbers(22, 10), [23, 24, 25]);
      assert.deepEqual(await numbers(25, 10), []);
      assert.deepEqual(await numbers(0, 0), []);
      assert.deepEqual(await it.workflows.inbox(2 ** 40, 0, 10), []);
    });

    test("an inbox loses the messages that were taken, and keeps the rest", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.workflows.deliver(Array.from({ length: 5 }, (_, i) => it.messageTo("a", `${i + 1}`)));
      assert.equal((await it.complete(held, { batch: batchOf("1", "2"), taken: 2, outcome: KEEP })).kind, "done");
      assert.deepEqual(
        (await it.inbox(held.ref)).map(([number]) => number),
        [3, 4, 5],
      );
      await it.complete(further(held, 2, 2), { batch: batchOf("3"), taken: 3, outcome: KEEP });
      assert.deepEqual(
        (await it.inbox(held.ref)).map(([number]) => number),
        [4, 5],
      );
      const { arrived, taken } = await it.task("a");
      assert.deepEqual([arrived, taken], [5, 3]);
    });
  });
}
