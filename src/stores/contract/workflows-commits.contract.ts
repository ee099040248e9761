// Workflows that an actor's turn starts and signals: applied in the transaction of its commit, once, if and
// only if the commit counts.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Commit } from "../../ports/store/store.ts";
import { setOf } from "./reminders-shared.contract.ts";
import { actor, change, clear, commitOf, keep, send, take, takeAll, whole } from "./shared.contract.ts";
import {
  batchOf,
  closeAs,
  freshId,
  HOUR,
  LARGE,
  lease,
  leasedOf,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowCommitsContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);
  const alice = (it: Site, id = "alice") => actor(id, it.namespace);

  /**
   * A commit that starts a new and an existing workflow, and sends to an idle, a closed, an unknown and a new
   * one.
   */
  async function everything(it: Site, commit: Commit): Promise<Commit> {
    await it.idle("idle");
    await it.closed("over");
    await it.start("open");
    return {
      ...commit,
      starts: [it.startOf("new", { reminders: [setOf(it.place.key("its timer"))] }), it.startOf("open")],
      messages: [it.messageTo("idle", "k"), it.messageTo("over"), it.messageTo("nobody"), it.messageTo("new", "k")],
      reminders: [setOf(it.place.key("tea"))],
    };
  }

  async function view(it: Site) {
    const runs = await it.workflows.list({ namespace: it.namespace, limit: 100 });
    return {
      runs: runs.map(({ workflowId, task }) => `${workflowId}: ${task?.state ?? "over"}, ${task?.arrived ?? 0}`).sort(),
      reminders: await it.reminders(),
    };
  }
  const BEFORE = { runs: ["idle: idle, 0", "open: ready, 0", "over: over, 0"], reminders: [] };
  const AFTER = {
    runs: ["idle: ready, 1", "new: ready, 1", "open: ready, 0", "over: over, 0"],
    reminders: ["its timer", "tea"],
  };

  describe("commits with workflows", () => {
    for (const [name, before, one] of [
      ["a whole state", undefined, whole("1")],
      ["a large state", undefined, whole(LARGE)],
      ["a change", whole("1"), change("2")],
      ["a cleared state", whole("1"), clear],
      ["an unchanged state", whole("1"), keep],
    ] as const) {
      test(`a commit of ${name} starts runs and sends messages, once`, async () => {
        const it = site();
        const held = await take(it.store, alice(it));
        if (before !== undefined) assert.equal(await send(it.store, commitOf(held, before)), "committed");
        const commit = await everything(it, commitOf(held, one, before === undefined ? 0 : 1));
        assert.deepEqual(await view(it), BEFORE);
        assert.equal(await send(it.store, commit), "committed");
        assert.deepEqual(await view(it), AFTER);
        assert.equal((await it.stored("new")).runId, commit.starts?.[0]?.runId);
        const idle = (await it.claim()).tasks.find(({ workflowId }) => workflowId === "idle")!;
        assert.equal((await it.complete(leasedOf(idle), { batch: batchOf("k"), taken: 1 })).kind, "done");
        await it.place.cancel(it.place.key("its timer"));
        assert.equal(await send(it.store, commit), "committed");
        assert.deepEqual([(await it.task("idle")).arrived, (await it.task("idle")).state], [1, "idle"]);
        assert.deepEqual(await it.reminders(), ["tea"]);
        assert.equal((await it.workflows.list({ ...it.key("new"), limit: 9 })).length, 1);
      });

      test(`a commit of ${name} wakes the runs of waking messages`, async () => {
        const it = site();
        const held = await take(it.store, alice(it));
        if (before !== undefined) assert.equal(await send(it.store, commitOf(held, before)), "committed");
        await it.start("later", { delayMs: HOUR });
        const messages = [it.messageTo("later", "k", { wakes: true })];
        await send(it.store, { ...commitOf(held, one, before === undefined ? 0 : 1), messages });
        assert.deepEqual(await it.ids(), ["later"]);
      });

      test(`a commit of ${name} that does not count starts and sends nothing`, async () => {
        const it = site();
        const held = await take(it.store, alice(it));
        if (before !== undefined) assert.equal(await send(it.store, commitOf(held, before)), "committed");
        const commit = await everything(it, commitOf(held, one, before === undefined ? 0 : 1));
        const settle = [{ kind: "done", generation: 2 ** 40, token: freshId() } as const];
        assert.equal(await send(it.store, { ...commit, settle }), "void");
        await take(it.store, alice(it), "host-2");
        assert.equal(await send(it.store, commit), "fenced");
        assert.equal(await send(it.store, { ...commit, ref: 2 ** 40 }), "fenced");
        assert.deepEqual(await view(it), BEFORE);
      });
    }

    test("a commit starts or keeps a closed workflow as its start requests", async () => {
      const it = site();
      const held = await take(it.store, alice(it));
      for (const id of ["a", "b"]) await it.closed(id, {}, closeAs("completed"));
      const starts = [it.startOf("a", { ifClosed: "start" }), it.startOf("b", { ifClosed: "start unless completed" })];
      assert.equal(await send(it.store, { ...commitOf(held, keep), starts }), "committed");
      assert.deepEqual([await it.status("a"), await it.status("b")], ["running", "completed"]);
    });

    test("a commit starts a run with its lease or delay", async () => {
      const it = site();
      const held = await take(it.store, alice(it));
      const own = lease();
      const starts = [it.startOf("mine", { lease: own }), it.startOf("later", { delayMs: HOUR })];
      assert.equal(await send(it.store, { ...commitOf(held, whole("1")), starts }), "committed");
      assert.deepEqual(await it.ids(), []);
      const { ref } = await it.stored("mine");
      assert.equal((await it.complete({ ref, token: own.token, last: 1, taken: 0 })).kind, "done");
      await opened().advance(2 * HOUR);
      assert.deepEqual(await it.ids(), ["later"]);
    });

    test("each commit of a batch starts and sends its own, and one that does not count nothing", async () => {
      const it = site();
      const keys = Array.from({ length: 40 }, (_, i) => ({ ...alice(it, `${i}`), owner: "host-1" }));
      const held = await takeAll(it.store, keys);
      await it.idle("target");
      const isFenced = (i: number) => i % 5 === 3;
      const batch = held.map((one, i): Commit => {
        const mine = isFenced(i) ? { ...one, epoch: one.epoch - 1 } : one;
        const starts = i % 3 === 0 ? [it.startOf(`child ${i}`), it.startOf("shared")] : undefined;
        const messages = i % 2 === 0 ? [it.messageTo("target", `from ${i}`)] : [];
        return { ...commitOf(mine, [whole("x"), whole(LARGE), keep][i % 3]!), starts, messages };
      });
      for (let time = 0; time < 2; time++) {
        const outcomes = await it.store.commit(batch);
        assert.deepEqual(
          outcomes,
          keys.map((_, i) => (isFenced(i) ? "fenced" : "committed")),
        );
      }
      const expected = (every: number) => keys.flatMap((_, i) => (i % every === 0 && !isFenced(i) ? [i] : []));
      const children = await it.workflows.list({ namespace: it.namespace, prefix: "child ", limit: 100 });
      assert.deepEqual(
        children.map(({ workflowId }) => workflowId).sort(),
        expected(3)
          .map((i) => `child ${i}`)
          .sort(),
      );
      assert.equal((await it.workflows.list({ ...it.key("shared"), limit: 9 })).length, 1);
      const { ref } = await it.stored("target");
      assert.deepEqual(
        (await it.inbox(ref)).map(([, key]) => key).sort(),
        expected(2)
          .map((i) => `from ${i}`)
          .sort(),
      );
    });
  });
}
