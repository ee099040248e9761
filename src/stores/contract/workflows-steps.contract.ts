// Steps of a run: an event batch counts while the lease and the last event are the row's, and the outcome of
// the task applies with it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TaskCompletion } from "../../ports/store/workflows.ts";
import { assertAbout } from "./reminders-shared.contract.ts";
import {
  batchOf,
  closeAs,
  freshId,
  further,
  HOUR,
  KEEP,
  LARGE,
  lease,
  leasedOf,
  MINUTE,
  REST,
  Site,
  type WorkflowsHarness,
} from "./workflows-shared.contract.ts";

export function workflowStepsContract({ opened }: WorkflowsHarness): void {
  const site = () => new Site(opened().store);
  const done = { kind: "done", delivered: 0, starts: [], isWatched: false } as const;
  const lost = { kind: "lost" } as const;

  describe("steps that count", () => {
    test("event batches follow each other without gaps, and the run counts its events and bytes", async () => {
      const it = site();
      let held = await it.leased("a", { first: batchOf("1", "2") });
      for (const events of [["3"], ["4", "5", "6"], [LARGE]]) {
        assert.deepEqual(await it.complete(held, { batch: batchOf(...events), outcome: KEEP }), done);
        held = further(held, events.length);
      }
      assert.deepEqual(await it.events(held.ref), ["1", "2", "3", "4", "5", "6", LARGE]);
      const { events, bytes } = await it.stored("a");
      assert.deepEqual([events, bytes], [7, "1\n2".length + 1 + "4\n5\n6".length + LARGE.length]);
    });

    test("a step that keeps the task renews its lease for the given time", async () => {
      const it = site();
      const held = await it.leased("a", { lease: lease("w1", 10 * MINUTE) });
      await it.complete(held, { batch: batchOf("2"), outcome: { kind: "keep", leaseMs: 3 * HOUR } });
      const { state, at, worker, attempt } = await it.task("a");
      assert.deepEqual([state, worker, attempt], ["leased", "w1", 1]);
      assertAbout(at, (await it.now()) + 3 * HOUR);
      await opened().advance(2 * HOUR);
      assert.deepEqual(await it.ids(), []);
      assert.deepEqual(await it.complete(further(held, 1), { batch: batchOf("3") }), done);
    });

    test("a step without events leaves the history unchanged", async () => {
      const it = site();
      const held = await it.leased("a");
      assert.deepEqual(await it.complete(held, { outcome: KEEP }), done);
      assert.deepEqual(await it.complete(held, { outcome: REST }), done);
      assert.deepEqual(await it.events(held.ref), ["started"]);
      assert.equal((await it.task("a")).state, "idle");
    });

    test("a task that goes idle stays idle until a message arrives, and its attempts are reset", async () => {
      const it = site();
      await it.start("a");
      await it.claim();
      await opened().advance(2 * HOUR);
      const task = await it.theTask();
      assert.equal(task.attempt, 2);
      assert.deepEqual(await it.complete(leasedOf(task), { batch: batchOf("2"), outcome: REST }), done);
      const { state, attempt, worker } = await it.task("a");
      assert.deepEqual([state, attempt, worker], ["idle", 0, undefined]);
      await opened().advance(100 * HOUR);
      assert.deepEqual(await it.ids(), []);
      await it.deliver("a");
      assert.deepEqual([(await it.theTask()).attempt, (await it.task("a")).state], [1, "leased"]);
    });

    test("a task is ready at once when more messages have arrived than were taken", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.workflows.deliver(["1", "2", "3"].map((key) => it.messageTo("a", key)));
      assert.deepEqual(await it.complete(held, { batch: batchOf("x"), taken: 2 }), { ...done, delivered: 3 });
      assert.equal((await it.task("a")).state, "ready");
      const task = await it.theTask();
      assert.deepEqual([task.last, task.taken, task.delivered, task.attempt], [2, 2, 3, 1]);
      assert.deepEqual(await it.complete(leasedOf(task), { taken: 3 }), { ...done, delivered: 3 });
      assert.equal((await it.task("a")).state, "idle");
    });

    test("a closed run has its result and no task", async () => {
      const it = site();
      for (const status of ["completed", "failed", "cancelled", "terminated", "timed out", "continued"] as const) {
        const held = await it.leased(status);
        const affinity = { worker: "w1", ms: HOUR };
        const options = { batch: batchOf("the end"), outcome: closeAs(status, LARGE), affinity };
        assert.deepEqual(await it.complete(held, options), done);
        const { startedAt, closedAt, ...run } = await it.stored(status);
        assert.deepEqual([run.status, run.result, run.task, run.events], [status, LARGE, undefined, 2]);
        assert.deepEqual([run.stickyWorker, run.stickyUntil], [undefined, undefined]);
        assert.ok(closedAt !== undefined && closedAt >= startedAt);
        assertAbout(closedAt, await it.now());
        assert.deepEqual(await it.events(held.ref), ["started", "the end"]);
      }
      assert.deepEqual([await it.ids(), (await it.claim()).next], [[], undefined]);
    });

    test("a run may be closed with messages that were not taken", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.deliver("a");
      assert.deepEqual(await it.complete(held, { batch: batchOf("end"), outcome: closeAs() }), {
        ...done,
        delivered: 1,
      });
      assert.equal(await it.status("a"), "completed");
    });

    test("attributes and memo are the ones of the last step that set them", async () => {
      const it = site();
      const held = await it.leased("a", { attributes: `{"a":1}`, memo: "first" });
      const about = async () => {
        const { attributes, memo } = await it.stored("a");
        return [attributes, memo];
      };
      await it.complete(held, { outcome: KEEP });
      assert.deepEqual(await about(), [`{"a":1}`, "first"]);
      await it.complete(held, { batch: batchOf("2"), outcome: KEEP, attributes: `{"a":2}` });
      assert.deepEqual(await about(), [`{"a":2}`, "first"]);
      await it.complete(further(held, 1), { batch: batchOf("3"), outcome: KEEP, memo: LARGE });
      assert.deepEqual(await about(), [`{"a":2}`, LARGE]);
      await it.complete(further(held, 2), { outcome: closeAs(), attributes: "{}", memo: "" });
      assert.deepEqual(await about(), ["{}", ""]);
    });

    test("an ended lease of a task still counts until another worker claims the task", async () => {
      const it = site();
      const held = await it.leased("a");
      await opened().advance(100 * HOUR);
      assert.deepEqual(await it.complete(held, { batch: batchOf("2"), outcome: KEEP }), done);
      assert.deepEqual(await it.ids(), []);
      await opened().advance(100 * HOUR);
      assert.deepEqual(await it.complete(further(held, 1), { batch: batchOf("3") }), done);
    });
  });

  describe("steps that do not count", () => {
    const cases: [what: string, change: (it: Site, step: TaskCompletion) => Promise<TaskCompletion>][] = [
      ["has another token", async (_, step) => ({ ...step, token: freshId() })],
      ["is for an unknown run", async (_, step) => ({ ...step, ref: 2 ** 40 })],
      ["builds on an earlier event", async (_, step) => ({ ...step, last: step.last - 1 })],
      ["builds on an unknown event", async (_, step) => ({ ...step, last: step.last + 3 })],
      [
        "comes after another worker has claimed the task",
        async (it, step) => {
          await opened().advance(2 * HOUR);
          assert.deepEqual(await it.ids(), ["a"]);
          return step;
        },
      ],
      [
        "comes after its holder has returned the task",
        async (it, step) => {
          const { ref, token } = step;
          assert.deepEqual(await it.workflows.giveBack([{ ref, token, pauseMs: 0, problem: undefined }]), [true]);
          return step;
        },
      ],
      [
        "comes after the run was closed from outside",
        async (it, step) => {
          assert.equal(await it.workflows.close(it.closing("a", { batch: batchOf("end") })), true);
          return step;
        },
      ],
      [
        "comes after its holder has let the task go idle",
        async (it, step) => {
          assert.equal((await it.complete({ ...step, taken: 0 }, { batch: batchOf("other", "events") })).kind, "done");
          return step;
        },
      ],
      [
        "comes after a later step of its holder",
        async (it, step) => {
          assert.equal(
            (await it.complete({ ...step, taken: 0 }, { batch: batchOf("more", "than it"), outcome: KEEP })).kind,
            "done",
          );
          return step;
        },
      ],
    ];
    for (const [what, change] of cases) {
      for (const outcome of [KEEP, REST, closeAs()]) {
        test(`a step that ${what} is lost, and nothing of it is applied (${outcome.kind})`, async () => {
          const it = site();
          const held = await it.leased("a");
          await it.deliver("a", "k");
          const usual = {
            batch: batchOf("lost", "lost", "lost"),
            taken: 1,
            attributes: `{"lost":true}`,
            memo: "lost",
            outcome,
          };
          const step = await change(it, it.completionOf(held, { ...usual, affinity: { worker: "lost", ms: HOUR } }));
          const [before, events] = [await it.stored("a"), await it.events(held.ref)];
          for (let i = 0; i < 2; i++) assert.deepEqual(await it.step(step), lost);
          assert.deepEqual(await it.stored("a"), before);
          assert.deepEqual(await it.events(held.ref), events);
          if (before.status === "running") assert.deepEqual(await it.inbox(held.ref), [[1, "k"]]);
        });
      }
    }

    test("a new step with the token of an idle task is lost", async () => {
      const it = site();
      const held = await it.leased("a");
      await it.complete(held, { batch: batchOf("2") });
      assert.deepEqual(await it.complete(further(held, 1), { batch: batchOf("3") }), lost);
      assert.deepEqual(await it.events(held.ref), ["started", "2"]);
    });

    test("a returned task does not belong to its former holder, even for a step without events", async () => {
      const it = site();
      const { ref, token, ...held } = await it.leased("a");
      await it.deliver("a");
      await it.workflows.giveBack([{ ref, token, pauseMs: 0, problem: undefined }]);
      assert.deepEqual(await it.complete({ ref, token, ...held }, { taken: 1 }), lost);
      assert.deepEqual(await it.inbox(ref).then((inbox) => inbox.length), 1);
    });

    test("a lost step does not affect the others of its batch", async () => {
      const it = site();
      const all = await Promise.all(Array.from({ length: 60 }, (_, i) => it.leased(`${i}`)));
      const isLost = (i: number) => i % 4 === 1;
      const fates = [KEEP, REST, closeAs()];
      const outcomes = await it.workflows.complete(
        all.map((held, i) => {
          const outcome = fates[i % 3]!;
          return it.completionOf(isLost(i) ? { ...held, token: freshId() } : held, { batch: batchOf(`${i}`), outcome });
        }),
      );
      assert.deepEqual(
        outcomes,
        all.map((_, i) => (isLost(i) ? lost : done)),
      );
      for (const [i, { ref }] of all.entries()) {
        assert.deepEqual(await it.events(ref), isLost(i) ? ["started"] : ["started", `${i}`]);
      }
      const states = await Promise.all(all.map(async (_, i) => (await it.stored(`${i}`)).task?.state));
      assert.deepEqual(
        states,
        all.map((_, i) => (isLost(i) ? "leased" : ["leased", "idle", undefined][i % 3])),
      );
    });

    test("an empty batch of steps returns nothing", async () => {
      assert.deepEqual(await site().workflows.complete([]), []);
    });
  });

  describe("repeated steps", () => {
    for (const outcome of [KEEP, REST, closeAs()]) {
      for (const events of [["2", "3"], []]) {
        test(`a repeated step of ${events.length} events is applied once (${outcome.kind})`, async () => {
          const it = site();
          const held = await it.leased("a");
          await it.deliver("a", "k");
          const affinity = { worker: "w1", ms: HOUR };
          const some = events.length > 0 ? batchOf(...events) : undefined;
          const step = it.completionOf(held, { batch: some, taken: 1, outcome, memo: "new", affinity });
          assert.deepEqual(await it.step(step), { ...done, delivered: 1 });
          const { task: _, ...before } = await it.stored("a");
          for (let i = 0; i < 3; i++) assert.equal((await it.step(step)).kind, "done");
          const { task, ...after } = await it.stored("a");
          assert.equal(task?.state, outcome.kind === "close" ? undefined : outcome.kind === "keep" ? "leased" : "idle");
          // A repeated step without events renews the affinity, which then lasts a moment longer.
          assert.deepEqual({ ...after, stickyUntil: before.stickyUntil }, before);
          assert.deepEqual(await it.events(held.ref), ["started", ...events]);
        });
      }
    }

    test("a message that arrives meanwhile does not make an applied step look lost", async () => {
      const it = site();
      const held = await it.leased("a");
      const step = it.completionOf(held, { batch: batchOf("2") });
      assert.deepEqual(await it.step(step), done);
      await it.deliver("a");
      assert.equal((await it.step(step)).kind, "done");
      assert.equal((await it.task("a")).state, "ready");
      assert.equal((await it.theTask()).last, 2);
      assert.deepEqual(await it.step(step), lost);
    });

    test("a step that closed its run still counts as applied when the workflow runs again", async () => {
      const it = site();
      const held = await it.leased("a");
      const step = it.completionOf(held, { batch: batchOf("end"), outcome: closeAs() });
      assert.deepEqual(await it.step(step), done);
      const { ref } = await it.start("a");
      await opened().advance(HOUR);
      assert.equal((await it.step(step)).kind, "done");
      assert.deepEqual(await it.step({ ...step, token: freshId() }), lost);
      assert.equal((await it.stored("a")).ref, ref);
      assert.deepEqual(await it.events(ref), ["started"]);
    });

    test("a repeated step is recognised in a batch with new ones", async () => {
      const it = site();
      const [a, b] = [await it.leased("a"), await it.leased("b")];
      const step = it.completionOf(a, { batch: batchOf("2"), outcome: KEEP });
      await it.step(step);
      const outcomes = await it.workflows.complete([it.completionOf(b, { batch: batchOf("2") }), step]);
      assert.deepEqual(outcomes, [done, done]);
      assert.deepEqual(
        [await it.events(a.ref), await it.events(b.ref)],
        [
          ["started", "2"],
          ["started", "2"],
        ],
      );
    });
  });
}
