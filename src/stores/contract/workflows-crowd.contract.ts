// Many operations on workflows at once: one of two requests for the same row gets it, no operation blocks
// another for good, and nothing is lost.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Commit, CommitOutcome, Store } from "../../ports/store/store.ts";
import type { TaskCompletion } from "../../ports/store/workflows.ts";
import { setOf } from "./reminders-shared.contract.ts";
import { actor, commitOf, take, whole } from "./shared.contract.ts";
import {
  batchOf,
  closeAs,
  freshId,
  further,
  insist,
  insistent,
  KEEP,
  type LeasedTask,
  lease,
  leasedOf,
  Site,
  type WorkflowsHarness,
  withSecond,
} from "./workflows-shared.contract.ts";

export function workflowCrowdContract(harness: WorkflowsHarness): void {
  const { opened } = harness;

  /** The namespace in this process, and in another one where there can be one. */
  const together = (work: (it: Site, there: Site) => Promise<void>): Promise<void> =>
    withSecond(harness, async (second: Store | undefined) => {
      const { store } = opened();
      const it = new Site(store, undefined, insistent(store.workflows));
      await work(it, second === undefined ? it : new Site(second, it.namespace, insistent(second.workflows)));
    });
  const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

  /** Repeats until no other transaction holds a row of the commit. */
  async function persist(store: Store, commit: Commit): Promise<CommitOutcome> {
    for (let tries = 0; tries < 50; tries++) {
      const [outcome] = await insist(() => store.commit([commit]));
      assert.ok(outcome !== undefined);
      if (outcome !== "locked") return outcome;
    }
    assert.fail("its rows were held all the time");
  }

  describe("many operations on workflows at once", () => {
    test("each task is claimed by one worker", () =>
      together(async (it, there) => {
        await it.workflows.start(many(120, (i) => it.startOf(`${i}`)));
        const claimed: string[] = [];
        const claimer = async (site: Site, worker: string): Promise<void> => {
          for (let rounds = 0; claimed.length < 120; rounds++) {
            assert.ok(rounds < 1_000, "no end");
            claimed.push(...(await site.ids({ worker, limit: 7 })));
          }
        };
        await Promise.all(many(6, (i) => claimer(i % 2 === 0 ? it : there, `w${i}`)));
        assert.deepEqual([claimed.length, new Set(claimed).size], [120, 120]);
      }));

    test("only one of many starts of a workflow starts it", () =>
      together(async (it, there) => {
        for (let round = 0; round < 5; round++) {
          const outcomes = await Promise.all(many(8, (i) => (i % 2 === 0 ? it : there).start(`${round}`)));
          assert.equal(outcomes.filter(({ isNew }) => isNew).length, 1);
          assert.equal(new Set(outcomes.map(({ ref }) => ref)).size, 1);
        }
      }));

    test("the same start sent many times at once is applied once, and all get the same run", () =>
      together(async (it, there) => {
        const start = it.startOf("a", { reminders: [setOf(it.place.key("timer"))] });
        const outcomes = await Promise.all(many(8, (i) => (i % 2 === 0 ? it : there).send(start)));
        assert.equal(new Set(outcomes.map(({ ref }) => ref)).size, 1);
        assert.ok(outcomes.every(({ isNew }) => isNew));
        assert.equal((await it.workflows.list({ namespace: it.namespace, limit: 9 })).length, 1);
      }));

    test("batches that start the same workflows in different orders all succeed", () =>
      together(async (it, there) => {
        const ids = many(30, (i) => `${i}`);
        const results = await Promise.all(
          many(6, (i) => {
            const site = i % 2 === 0 ? it : there;
            const order = i % 2 === 0 ? ids : ids.toReversed();
            return site.workflows.start(order.map((id) => site.startOf(id)));
          }),
        );
        assert.equal(results.flat().filter(({ isNew }) => isNew).length, 30);
      }));

    test("messages from many senders are numbered without gaps", () =>
      together(async (it, there) => {
        for (const id of ["a", "b"]) await it.idle(id);
        const outcomes = await Promise.all(
          many(20, (i) => {
            const ids = i % 2 === 0 ? ["a", "b", "a"] : ["b", "a", "a"];
            return (i % 2 === 0 ? it : there).workflows.deliver(ids.map((id, k) => it.messageTo(id, `${i}/${k}`)));
          }),
        );
        const numbers = (ref: number) =>
          outcomes.flat().flatMap((one) => (one.kind === "delivered" && one.ref === ref ? [one.number] : []));
        for (const [id, count] of [
          ["a", 40],
          ["b", 20],
        ] as const) {
          const { ref } = await it.stored(id);
          const expected = many(count, (i) => i + 1);
          assert.deepEqual(
            numbers(ref).sort((a, b) => a - b),
            expected,
          );
          assert.deepEqual(
            (await it.inbox(ref)).map(([number]) => number),
            expected,
          );
        }
      }));

    test("only one of many deliveries of the same message counts", () =>
      together(async (it, there) => {
        const { ref } = await it.idle("a");
        const outcomes = await Promise.all(many(10, (i) => (i % 2 === 0 ? it : there).deliver("a", "k")));
        assert.deepEqual(
          outcomes.map((one) => one.kind === "delivered" && one.number),
          many(10, () => 1),
        );
        assert.deepEqual([await it.inbox(ref), (await it.task("a")).arrived], [[[1, "k"]], 1]);
      }));

    test("only one of many different steps of one holder counts, and the history has no gap", () =>
      together(async (it, there) => {
        let held: LeasedTask = await it.leased("a");
        for (let round = 0; round < 10; round++) {
          const outcomes = await Promise.all(
            many(6, (i) =>
              (i % 2 === 0 ? it : there).complete(held, {
                batch: batchOf(...many(i + 1, () => `${round}`)),
                outcome: KEEP,
              }),
            ),
          );
          const winners = outcomes.flatMap((one, i) => (one.kind === "done" ? [i] : []));
          assert.equal(winners.length, 1);
          held = further(held, winners[0]! + 1);
          assert.equal((await it.events(held.ref)).length, held.last);
        }
      }));

    test("the same step sent many times at once is applied once, and all get the same result", () =>
      together(async (it, there) => {
        await it.idle("target");
        const step = it.completionOf(await it.leased("a"), {
          batch: batchOf("2"),
          starts: [it.startOf("child")],
          messages: [it.messageTo("target")],
        });
        const outcomes = await Promise.all(many(8, (i) => (i % 2 === 0 ? it : there).step(step)));
        assert.ok(outcomes.every(({ kind }) => kind === "done"));
        assert.deepEqual(await it.events(step.ref), ["started", "2"]);
        assert.equal((await it.task("target")).arrived, 1);
      }));

    test("batches of steps that send to each other's runs all succeed", () =>
      together(async (it, there) => {
        const all = await Promise.all(many(24, (i) => it.leased(`${i}`)));
        let heads = all;
        for (let round = 0; round < 5; round++) {
          const stepOf = (held: LeasedTask, i: number): TaskCompletion => {
            const to = [1, 7, 13].map((far) => it.messageTo(`${(i + far) % 24}`, `${round}/${i}/${far}`));
            return it.completionOf(held, {
              batch: batchOf(`${round}`),
              outcome: KEEP,
              messages: to,
              starts: [it.startOf(`s${(i * round) % 7}`)],
            });
          };
          const steps = heads.map(stepOf);
          const parts = [steps.slice(0, 8), steps.slice(8, 16).reverse(), steps.slice(16)];
          const outcomes = await Promise.all(
            parts.map((part, i) => (i % 2 === 0 ? it : there).workflows.complete(part)),
          );
          assert.ok(outcomes.flat().every(({ kind }) => kind === "done"));
          heads = heads.map((held) => further(held, 1));
        }
        for (const { ref } of all) {
          assert.deepEqual(
            (await it.inbox(ref)).map(([number]) => number),
            many(15, (i) => i + 1),
          );
        }
      }));

    test("concurrent steps, messages, claims, renewals and ends of the same runs all succeed, and no run is left behind", () =>
      together(async (it, there) => {
        const ids = many(30, (i) => `${i}`);
        await it.workflows.start(ids.map((id) => it.startOf(id)));
        const isOver = async () =>
          (await it.workflows.count({ namespace: it.namespace, status: "running", limit: 1 })) === 0;
        const work = async (site: Site, worker: string): Promise<void> => {
          for (let rounds = 0; !(await isOver()); rounds++) {
            assert.ok(rounds < 2_000, "no end");
            const { tasks } = await site.claim({ worker, limit: 5 });
            await site.workflows.renew(tasks, 60_000);
            await site.workflows.complete(
              tasks.map((task) => {
                const isLast = task.last >= 4;
                return site.completionOf(leasedOf(task), {
                  batch: batchOf("x"),
                  taken: task.delivered,
                  outcome: isLast ? closeAs() : { kind: "rest" },
                });
              }),
            );
          }
        };
        const poke = async (site: Site): Promise<void> => {
          for (let rounds = 0; !(await isOver()); rounds++) {
            assert.ok(rounds < 2_000, "no end");
            await site.workflows.deliver(ids.toReversed().map((id) => site.messageTo(id, freshId())));
            await site.workflows.wake(site.key(ids[rounds % 30]!));
          }
        };
        await Promise.all([work(it, "w1"), work(there, "w2"), poke(it), poke(there)]);
        for (const id of ids) {
          const { ref, events } = await it.stored(id);
          assert.deepEqual([(await it.events(ref)).length, events], [5, 5]);
        }
        assert.deepEqual(await it.ids(), []);
      }));

    test("commits that start and signal the same workflows all succeed", () =>
      together(async (it, there) => {
        const ids = many(10, (i) => `${i}`);
        const storeOf = (i: number) => (i % 2 === 0 ? it : there).store;
        const held = await Promise.all(many(8, (i) => take(storeOf(i), actor(`${i}`, it.namespace), `host-${i % 2}`)));
        const outcomes = await Promise.all(
          held.map((one, i) => {
            const order = i % 2 === 0 ? ids : ids.toReversed();
            const starts = order.map((id) => it.startOf(id, { lease: lease() }));
            const messages = order.map((id) => it.messageTo(id, `from ${i}`));
            const commit = { ...commitOf(one, whole("1")), starts, messages };
            return persist(storeOf(i), commit);
          }),
        );
        assert.deepEqual(
          outcomes,
          many(8, () => "committed"),
        );
        for (const id of ids) assert.equal((await it.task(id)).arrived, 8);
      }));
  });
}
