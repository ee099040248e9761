// Attachments of a step besides its events: reminders, runs that it starts, and messages to other runs. All
// of them apply, or none.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TaskCompletion } from "../../ports/store/workflows.ts";
import { cancelOf, setOf } from "./reminders-shared.contract.ts";
import {
  batchOf,
  closeAs,
  freshId,
  HOUR,
  KEEP,
  LARGE,
  lease,
  leasedOf,
  REST,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowTogetherContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);

  /**
   * A step with everything: it sets and cancels reminders, starts two runs, and sends messages to two others.
   */
  async function everything(it: Site, step: TaskCompletion): Promise<TaskCompletion> {
    await it.place.set(it.place.key("cancelled"));
    await it.idle("idle");
    await it.closed("over");
    await it.start("open");
    return {
      ...step,
      reminders: [setOf(it.place.key("timer"), { data: LARGE }), cancelOf(it.place.key("cancelled"))],
      starts: [it.startOf("child", { reminders: [setOf(it.place.key("of the child"))] }), it.startOf("open")],
      messages: [
        it.messageTo("idle", "k"),
        it.messageTo("over", "k"),
        it.messageTo("nobody", "k"),
        it.messageTo("child", "k"),
      ],
    };
  }

  async function view(it: Site) {
    return {
      reminders: await it.reminders(),
      child: await it.status("child"),
      idle: (await it.task("idle")).state,
      arrived: (await it.task("idle")).arrived,
    };
  }
  const BEFORE = { reminders: ["cancelled"], child: undefined, idle: "idle", arrived: 0 };
  const AFTER = { reminders: ["of the child", "timer"], child: "running", idle: "ready", arrived: 1 };

  describe("steps with attachments", () => {
    test("a step delivers a message to its own run, but does not report it", async () => {
      const it = site();
      const held = await it.leased("a");
      const outcome = await it.complete(held, { outcome: KEEP, messages: [it.messageTo("a", "k")] });
      assert.deepEqual(outcome, { kind: "done", delivered: 0, starts: [], isWatched: false });
      assert.equal((await it.task("a")).arrived, 1);
    });

    for (const task of [KEEP, REST, closeAs()]) {
      test(`all attachments are applied with the step (${task.kind})`, async () => {
        const it = site();
        const held = await it.leased("a");
        const step = await everything(it, it.completionOf(held, { batch: batchOf("2"), outcome: task }));
        assert.deepEqual(await view(it), BEFORE);
        const outcome = await it.step(step);
        assert.deepEqual(await view(it), AFTER);
        const [child, open] = [await it.stored("child"), await it.stored("open")];
        assert.deepEqual(outcome.kind === "done" && outcome.starts, [
          { ref: child.ref, runId: step.starts[0]!.runId, status: "running", isNew: true },
          { ref: open.ref, runId: open.runId, status: "running", isNew: false },
        ]);
        assert.deepEqual(await it.inbox(child.ref), [[1, "k"]]);
        assert.equal((await it.place.stored(it.place.key("timer"))).data, LARGE);
        assert.deepEqual(new Set(await it.ids()), new Set(["child", "idle", "open"]));
      });

      test(`no attachment is applied when the step is lost (${task.kind})`, async () => {
        const it = site();
        const held = await it.leased("a");
        const step = await everything(it, it.completionOf(held, { batch: batchOf("2"), outcome: task }));
        assert.deepEqual(await it.step({ ...step, token: freshId() }), { kind: "lost" });
        assert.deepEqual(await it.step({ ...step, last: 7 }), { kind: "lost" });
        assert.deepEqual(await view(it), BEFORE);
      });

      test(`all attachments are applied once when the step is repeated (${task.kind})`, async () => {
        const it = site();
        const held = await it.leased("a");
        const step = await everything(it, it.completionOf(held, { batch: batchOf("2"), outcome: task }));
        const first = await it.step(step);
        await it.place.cancel(it.place.key("timer"));
        const idle = (await it.claim()).tasks.find(({ workflowId }) => workflowId === "idle")!;
        await it.complete(leasedOf(idle), { batch: batchOf("k"), taken: 1 });
        const again = await it.step(step);
        assert.deepEqual(again.kind === "done" && again.starts, first.kind === "done" && first.starts);
        assert.deepEqual(await view(it), { ...AFTER, reminders: ["of the child"], idle: "idle" });
        assert.equal((await it.task("child")).arrived, 1);
      });
    }

    test("a run that continues as new closes and starts in one step", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a", "not taken");
      const own = lease();
      const starts = [it.startOf("a", { first: batchOf("anew"), lease: own })];
      const step = it.completionOf(held, { batch: batchOf("continued"), outcome: closeAs("continued"), starts });
      const outcome = await it.step(step);
      assert.ok(outcome.kind === "done" && outcome.starts[0]?.isNew);
      const { ref } = outcome.starts[0];
      const runs = await it.workflows.list({ ...it.key("a"), limit: 9 });
      assert.deepEqual(
        runs.map((run) => [run.ref, run.status]),
        [
          [ref, "running"],
          [held.ref, "continued"],
        ],
      );
      const again = await it.step(step);
      assert.deepEqual(again.kind === "done" && again.starts, outcome.starts);
      assert.equal(
        (await it.complete({ ref, token: own.token, last: 1, taken: 0 }, { batch: batchOf("2") })).kind,
        "done",
      );
      assert.deepEqual(await it.events(ref), ["anew", "2"]);
    });

    test("a start that kept an existing run starts nothing when its step is repeated", async () => {
      const it = site();
      const [held, other] = [await it.leased("a"), await it.leased("b")];
      const starts = [it.startOf("b", { ifClosed: "start" })];
      const step = it.completionOf(held, { batch: batchOf("2"), starts });
      const first = await it.step(step);
      assert.deepEqual(first.kind === "done" && first.starts[0]?.ref, other.ref);
      await it.complete(other, { outcome: closeAs("failed") });
      const again = await it.step(step);
      assert.ok(again.kind === "done");
      assert.deepEqual([again.starts[0]?.ref, again.starts[0]?.isNew], [other.ref, false]);
      assert.deepEqual([await it.status("b"), await it.ids()], ["failed", []]);
    });

    test("a child with a lease belongs to its parent's worker from the start", async () => {
      const it = site();
      const held = await it.leased("a");
      const own = lease();
      const outcome = await it.complete(held, { starts: [it.startOf("child", { lease: own })] });
      assert.ok(outcome.kind === "done");
      assert.deepEqual(await it.ids(), []);
      const child = { ref: outcome.starts[0]!.ref, token: own.token, last: 1, taken: 0 };
      assert.equal(
        (await it.complete(child, { outcome: closeAs(), messages: [it.messageTo("a", "its result")] })).kind,
        "done",
      );
      assert.deepEqual(await it.ids(), ["a"]);
      assert.deepEqual(await it.inbox(held.ref), [[1, "its result"]]);
    });
  });

  describe("steps of one batch", () => {
    test("steps of one batch may send to each other, and idle runs are woken", async () => {
      const it = site();
      const [a, b, c] = [await it.leased("a"), await it.leased("b"), await it.leased("c")];
      const outcomes = await it.workflows.complete([
        it.completionOf(a, {
          batch: batchOf("2"),
          messages: [it.messageTo("b", "from a"), it.messageTo("c", "from a")],
        }),
        it.completionOf(b, {
          batch: batchOf("2"),
          messages: [it.messageTo("a", "from b"), it.messageTo("c", "from b")],
        }),
        it.completionOf(c, { batch: batchOf("2"), outcome: KEEP, messages: [it.messageTo("a", "from c")] }),
      ]);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["done", "done", "done"],
      );
      assert.deepEqual((await it.ids()).sort(), ["a", "b"]);
      const keys = async (ref: number) => (await it.inbox(ref)).map(([, key]) => key).sort();
      assert.deepEqual(await keys(a.ref), ["from b", "from c"]);
      assert.deepEqual(await keys(b.ref), ["from a"]);
      assert.deepEqual(await keys(c.ref), ["from a", "from b"]);
      assert.equal((await it.task("c")).state, "leased");
    });

    test("steps of one batch may start the same workflow, and one of them does", async () => {
      const it = site();
      const all = await Promise.all(["a", "b", "c"].map((id) => it.leased(id)));
      const outcomes = await it.workflows.complete(
        all.map((held) => it.completionOf(held, { starts: [it.startOf("child")] })),
      );
      const starts = outcomes.map((one) => one.kind === "done" && one.starts[0]);
      assert.equal(starts.filter((one) => one !== false && one?.isNew).length, 1);
      assert.equal(new Set(starts.map((one) => one !== false && one?.ref)).size, 1);
      assert.equal((await it.workflows.list({ ...it.key("child"), limit: 9 })).length, 1);
      assert.deepEqual(await it.ids(), ["child"]);
    });

    test("steps of one batch may set the same reminder, and one of them is stored", async () => {
      const it = site();
      const all = await Promise.all(["a", "b", "c"].map((id) => it.leased(id)));
      const key = it.place.key("shared");
      const batch = all.map((held, i) => it.completionOf(held, { reminders: [setOf(key, { data: `${i}` })] }));
      const outcomes = await it.workflows.complete(batch);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["done", "done", "done"],
      );
      assert.ok(["0", "1", "2"].includes((await it.place.stored(key)).data!));
    });

    test("steps of one batch may send to a run that another of them closes, and nothing is left behind", async () => {
      const it = site();
      const [a, b] = [await it.leased("a"), await it.leased("b")];
      const outcomes = await it.workflows.complete([
        it.completionOf(a, { batch: batchOf("2"), messages: [it.messageTo("b")] }),
        it.completionOf(b, { batch: batchOf("2"), outcome: closeAs() }),
      ]);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["done", "done"],
      );
      assert.deepEqual([await it.status("b"), await it.ids()], ["completed", []]);
    });

    test("each step of a batch applies its own attachments, and a lost one none", async () => {
      const it = site();
      const all = await Promise.all(Array.from({ length: 40 }, (_, i) => it.leased(`${i}`)));
      await it.idle("target");
      const isLost = (i: number) => i % 5 === 2;
      await it.workflows.complete(
        all.map((held, i) =>
          it.completionOf(isLost(i) ? { ...held, token: freshId() } : held, {
            batch: batchOf(`${i}`),
            reminders: i % 2 === 0 ? [setOf(it.place.key(`timer ${i}`)), setOf(it.place.key(`timeout ${i}`))] : [],
            starts: i % 3 === 0 ? [it.startOf(`child ${i}`, { delayMs: HOUR })] : [],
            messages: i % 4 === 0 ? [it.messageTo("target", `from ${i}`)] : [],
          }),
        ),
      );
      const expected = (every: number) => all.flatMap((_, i) => (i % every === 0 && !isLost(i) ? [i] : []));
      assert.deepEqual(
        (await it.reminders()).sort(),
        expected(2)
          .flatMap((i) => [`timer ${i}`, `timeout ${i}`])
          .sort(),
      );
      const children = await it.workflows.list({ namespace: it.namespace, prefix: "child ", limit: 100 });
      assert.deepEqual(
        new Set(children.map(({ workflowId }) => workflowId)),
        new Set(expected(3).map((i) => `child ${i}`)),
      );
      const task = await it.theTask();
      assert.equal(task.delivered, expected(4).length);
      const inbox = await it.inbox(task.ref);
      assert.deepEqual(
        inbox.map(([number]) => number),
        expected(4).map((_, i) => i + 1),
      );
      assert.deepEqual(new Set(inbox.map(([, key]) => key)), new Set(expected(4).map((i) => `from ${i}`)));
    });
  });
}
