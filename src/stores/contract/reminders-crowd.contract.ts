// Many operations on reminders at once: claims never overlap, nothing is lost, and one of two requests for
// the same row gets it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Reminders, Settlement } from "../../ports/store/reminders.ts";
import type { Store } from "../../ports/store/store.ts";
import {
  cancelOf,
  freshToken,
  HOUR,
  Place,
  type RemindersHarness,
  setOf,
  TRIED,
  withSecond,
} from "./reminders-shared.contract.ts";

export function reminderCrowdContract(harness: RemindersHarness): void {
  const { opened } = harness;

  /**
   * Claims and settles until nothing is left; each row may come back `ticks` times. Returns every delivery.
   */
  async function drain(store: Store, namespace: string, types: string[], ticks: number): Promise<string[]> {
    const it = new Place(store, namespace);
    const delivered: string[] = [];
    for (let rounds = 0; ; rounds++) {
      assert.ok(rounds < 10_000, "no end");
      const token = freshToken();
      const { reminders, next } = await it.claim({ types, limit: 17, token });
      if (reminders.length === 0 && next === undefined) return delivered;
      const settlements = reminders.map(({ generation, tick }): Settlement => {
        if (tick.number === ticks) return { kind: "done", generation, token };
        return { kind: "next", tick: { ...tick, number: tick.number + 1 }, leaseMs: undefined, generation, token };
      });
      for (const { key, tick } of reminders) delivered.push(`${key.type}/${key.name}/${tick.number}`);
      assert.ok((await it.reminders.settle(settlements)).every(Boolean), "another claimer had it too");
    }
  }

  describe("many claimers of reminders", () => {
    test("concurrent claims never overlap, and together they cover everything", async () => {
      await withSecond(harness, async (second) => {
        const it = new Place(opened().store);
        const stores = [opened().store, second ?? opened().store];
        await it.reminders.write(
          Array.from({ length: 600 }, (_, i) => setOf(it.key(`${i}`, "alice", `T${i % 3}`), { at: i })),
        );
        const types = ["T0", "T1", "T2"];
        const claims = await Promise.all(
          Array.from({ length: 60 }, (_, i) =>
            new Place(stores[i % 2]!, it.namespace).claim({ types: i % 4 === 0 ? types.slice(1) : types, limit: 13 }),
          ),
        );
        const all = claims.flatMap(({ reminders }) => reminders.map(({ generation }) => generation));
        assert.equal(new Set(all).size, all.length);
        for (const { reminders } of claims) {
          const moments = reminders.map(({ tick }) => tick.at);
          assert.deepEqual(
            moments,
            moments.slice().sort((a, b) => a - b),
          );
        }
        const rest = await it.claim({ types, limit: 1_000 });
        for (const { generation } of rest.reminders) assert.ok(!all.includes(generation));
        assert.equal(all.length + rest.reminders.length, 600);
      });
    });

    test("claimers that drain together deliver each tick once", async () => {
      await withSecond(harness, async (second) => {
        const it = new Place(opened().store);
        const stores = [opened().store, second ?? opened().store];
        const types = ["A", "B"];
        await it.reminders.write(
          Array.from({ length: 300 }, (_, i) => setOf(it.key(`${i}`, `${i}`, types[i % 2]!), { at: i })),
        );
        const drained = await Promise.all(
          Array.from({ length: 6 }, (_, i) => drain(stores[i % 2]!, it.namespace, types, 3)),
        );
        const all = drained.flat();
        assert.equal(all.length, 900);
        assert.equal(new Set(all).size, 900);
        assert.equal((await it.reminders.count(it.namespace, 1)).all, 0);
      });
    });

    test("only one of many requests that set the same new reminder succeeds", async () => {
      await withSecond(harness, async (second) => {
        const it = new Place(opened().store);
        const both: Reminders[] = [opened().store.reminders, (second ?? opened().store).reminders];
        const key = it.key("tea");
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, (_, i) => both[i % 2]!.write([setOf(key, { data: `${i}`, isNew: true })])),
        );
        const won = outcomes.flatMap(([one], i) => (one?.kind === "set" ? [i] : []));
        assert.equal(won.length, 1);
        assert.equal((await it.stored(key)).data, `${won[0]}`);
      });
    });

    test("batches that share keys in different orders all succeed, and each key is there once", async () => {
      await withSecond(harness, async (second) => {
        const it = new Place(opened().store);
        const both: Reminders[] = [opened().store.reminders, (second ?? opened().store).reminders];
        const keys = Array.from({ length: 30 }, (_, i) => it.key(`${i}`));
        const orders = Array.from({ length: 12 }, (_, i) => [...keys.slice(i * 2), ...keys.slice(0, i * 2)]);
        const generations = await Promise.all(
          orders.map(async (order, i) => {
            const outcomes = await both[i % 2]!.write((i % 3 ? order : order.reverse()).map((key) => setOf(key)));
            return outcomes.map((one) => (one.kind === "set" ? one.generation : 0));
          }),
        );
        const all = generations.flat();
        assert.equal(new Set(all).size, all.length);
        const stored = await it.reminders.list({ namespace: it.namespace, limit: 100 });
        assert.deepEqual(
          stored.map(({ key }) => key.name),
          keys.map(({ name }) => name).sort(),
        );
        for (const { generation } of stored) assert.ok(all.includes(generation));
      });
    });

    test("settlements that share rows in different orders count once each", async () => {
      await withSecond(harness, async (second) => {
        const it = new Place(opened().store);
        const both: Reminders[] = [opened().store.reminders, (second ?? opened().store).reminders];
        await it.reminders.write(Array.from({ length: 40 }, (_, i) => setOf(it.key(`${i}`))));
        const token = freshToken();
        const { reminders } = await it.claim({ token });
        const all = reminders.map(({ generation }): Settlement => ({ kind: "done", generation, token }));
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, i) => both[i % 2]!.settle(i % 3 ? all : all.slice().reverse())),
        );
        assert.equal(answers.flat().filter(Boolean).length, 40);
      });
    });

    test("a row that is claimed, cancelled and replaced at the same moment ends as one of them left it", async () => {
      await withSecond(harness, async (second) => {
        const it = new Place(opened().store);
        const there = new Place(second ?? opened().store, it.namespace);
        for (let round = 0; round < 15; round++) {
          const key = it.key(`${round}`);
          await it.set(key);
          const token = freshToken();
          const [{ reminders }, , replaced] = await Promise.all([
            there.claim({ token, leaseMs: HOUR }),
            it.reminders.write([cancelOf(key)]),
            there.reminders.write([setOf(key, { data: "replaced" })]),
          ]);
          const [outcome] = replaced;
          assert.ok(outcome?.kind === "set");
          const stored = await it.reminders.get(key);
          if (stored !== undefined) assert.equal(stored.generation, outcome.generation);
          const mine = reminders.find((one) => one.key.name === key.name);
          if (mine !== undefined) {
            const counts = await it.settle({ kind: "done", generation: mine.generation, token });
            assert.equal(counts, stored?.generation === mine.generation && stored.leasedUntil !== undefined);
          }
          await it.cancel(key);
        }
      });
    });

    test("a process claims the reminders of another one, which sees their settlements", async (t) => {
      await withSecond(harness, async (second) => {
        if (second === undefined) return t.skip("this store has no second process");
        const here = new Place(opened().store);
        const there = new Place(second, here.namespace);
        const generation = await here.set(here.key("tea"), { data: "milk" });
        const { reminders } = await there.claim({ token: "there" });
        assert.deepEqual([reminders[0]?.generation, reminders[0]?.data], [generation, "milk"]);
        assert.deepEqual(await here.names(), []);
        assert.equal(await here.settle({ kind: "done", generation, token: "here" }), false);
        assert.equal(await there.settle({ kind: "dead", tick: TRIED, error: "e", generation, token: "there" }), true);
        assert.equal(await here.reminders.get(here.key("tea")), undefined);
        assert.equal(await here.reminders.revive(here.key("tea")), true);
        assert.deepEqual(await there.stored(here.key("tea")), await here.stored(here.key("tea")));
      });
    });
  });
}
