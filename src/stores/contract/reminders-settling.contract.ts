// Settlement of claimed rows: a settlement counts if generation and token are the row's, and once.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Settlement } from "../../ports/store/reminders.ts";
import {
  assertAbout,
  freshToken,
  HOUR,
  Place,
  type RemindersHarness,
  setOf,
  TRIED,
} from "./reminders-shared.contract.ts";

export function reminderSettlingContract({ opened }: RemindersHarness): void {
  describe("settlement of reminders", () => {
    const place = () => new Place(opened().store);
    const claimed = async (it: Place, name = "tea") => {
      const token = freshToken();
      const generation = await it.set(it.key(name), { data: `data of ${name}` });
      const { reminders } = await it.claim({ token });
      assert.equal(reminders.length, 1);
      return { generation, token, tick: reminders[0]!.tick };
    };

    test("a reminder that is done is gone, and a second settlement does not count", async () => {
      const it = place();
      const { generation, token } = await claimed(it);
      assert.equal(await it.settle({ kind: "done", generation, token }), true);
      assert.equal(await it.reminders.get(it.key("tea")), undefined);
      assert.equal(await it.settle({ kind: "done", generation, token }), false);
    });

    test("a settlement with another token, another generation or for an unclaimed row does not count", async () => {
      const it = place();
      const { generation, token } = await claimed(it);
      const free = await it.set(it.key("free"));
      for (const wrong of [
        { generation, token: "other" },
        { generation: generation + 1_000_000, token },
        { generation: 0, token },
        { generation: free, token },
        { generation: free, token: "" },
      ]) {
        assert.equal(await it.settle({ kind: "done", ...wrong }), false);
      }
      assert.equal((await it.reminders.list({ namespace: it.namespace, limit: 9 })).length, 2);
    });

    test("the next tick replaces the current one, and every process may claim it", async () => {
      const it = place();
      const { generation, token } = await claimed(it);
      const tick = { at: 5_000, due: 4_000, number: 2, attempt: 0 };
      assert.equal(await it.settle({ kind: "next", tick, leaseMs: undefined, generation, token }), true);
      assert.deepEqual(await it.reminders.get(it.key("tea")), {
        key: it.key("tea"),
        generation,
        tick,
        schedule: "once",
        data: "data of tea",
        bytes: 11,
        leasedUntil: undefined,
      });
      assert.equal(await it.settle({ kind: "done", generation, token }), false);
      const { reminders } = await it.claim();
      assert.deepEqual(reminders[0]?.tick, tick);
    });

    test("the next tick of a row is claimed when it is due, not before", async () => {
      const it = place();
      const { generation, token, tick } = await claimed(it);
      const at = (await it.now()) + 2 * HOUR;
      const later = { ...tick, at, due: at, number: 2 };
      assert.equal(await it.settle({ kind: "next", tick: later, leaseMs: undefined, generation, token }), true);
      const { reminders, next } = await it.claim();
      assert.deepEqual([reminders, next], [[], at]);
      assert.deepEqual(await it.names({ aheadMs: 3 * HOUR }), ["tea"]);
    });

    test("the next tick may stay with the same claimer", async () => {
      const it = place();
      const { generation, token, tick } = await claimed(it);
      const next = { ...tick, number: 2 };
      assert.equal(await it.settle({ kind: "next", tick: next, leaseMs: 2 * HOUR, generation, token }), true);
      assertAbout((await it.stored(it.key("tea"))).leasedUntil, (await it.now()) + 2 * HOUR);
      await opened().advance(HOUR);
      assert.deepEqual(await it.names(), []);
      assert.equal(await it.settle({ kind: "done", generation, token }), true);
    });

    test("a lease that was kept for the next tick ends by the clock", async () => {
      const it = place();
      const { generation, token, tick } = await claimed(it);
      await it.settle({ kind: "next", tick: { ...tick, number: 2 }, leaseMs: HOUR, generation, token });
      await opened().advance(2 * HOUR);
      assert.deepEqual(await it.names(), ["tea"]);
    });

    test("a further attempt of a tick counts, and so does a later time for the same attempt", async () => {
      const it = place();
      const { generation, token, tick } = await claimed(it);
      const again = { ...tick, at: 7_000, attempt: 1 };
      assert.equal(await it.settle({ kind: "next", tick: again, leaseMs: HOUR, generation, token }), true);
      const paused = { ...again, at: 9_000 };
      assert.equal(await it.settle({ kind: "next", tick: paused, leaseMs: HOUR, generation, token }), true);
      assert.deepEqual((await it.stored(it.key("tea"))).tick, paused);
    });

    test("a rewritten reminder has new data, keeps its generation, and may stay with its claimer", async () => {
      const it = place();
      const { generation, token, tick } = await claimed(it);
      const large = "x".repeat(100_000);
      for (const data of ["other", large, `${large}y`, "short again"]) {
        const lease = { leaseMs: HOUR, generation, token };
        assert.deepEqual(await it.reminders.rewrite([{ tick: { ...tick, attempt: 1 }, data, ...lease }]), [true]);
        const stored = await it.stored(it.key("tea"));
        assert.deepEqual([stored.data, stored.bytes, stored.generation], [data, data.length, generation]);
        assert.deepEqual([stored.schedule, stored.tick.attempt], ["once", 1]);
        assertAbout(stored.leasedUntil, (await it.now()) + HOUR);
      }
      const next = { at: 5_000, due: 4_000, number: 2, attempt: 0 };
      const freed = { generation, token, tick: next, leaseMs: undefined, data: large };
      assert.deepEqual(await it.reminders.rewrite([freed]), [true]);
      const [again] = (await it.claim()).reminders;
      assert.deepEqual([again?.generation, again?.tick, again?.data], [generation, next, large]);
    });

    test("a row is rewritten only by its holder, and not after later ticks or a cancel", async () => {
      const it = place();
      const { generation, token, tick } = await claimed(it);
      const other = await claimed(it, "milk");
      const rewriting = { generation, token, tick: { ...tick, number: 2 }, leaseMs: HOUR, data: "new" };
      for (const wrong of [{ token: "other" }, { generation: generation + 1_000_000 }]) {
        assert.deepEqual(await it.reminders.rewrite([{ ...rewriting, ...wrong }]), [false]);
      }
      const milk = { ...rewriting, ...other, data: "milk" };
      assert.deepEqual(await it.reminders.rewrite([milk, rewriting]), [true, true]);
      assert.deepEqual(await it.reminders.rewrite([{ ...rewriting, tick, data: "late" }]), [false]);
      assert.equal((await it.stored(it.key("tea"))).data, "new");
      assert.equal((await it.stored(it.key("milk"))).data, "milk");
      await it.cancel(it.key("tea"));
      assert.deepEqual(await it.reminders.rewrite([rewriting]), [false]);
      assert.equal(await it.reminders.get(it.key("tea")), undefined);
      assert.deepEqual(await it.reminders.rewrite([]), []);
    });

    test("a settlement that arrives late, after later ones, does not set the row back", async () => {
      const it = place();
      const { generation, token, tick } = await claimed(it);
      const next = (number: number, attempt: number): Settlement => {
        return {
          kind: "next",
          tick: { ...tick, at: tick.at + number, number, attempt },
          leaseMs: HOUR,
          generation,
          token,
        };
      };
      assert.equal(await it.settle(next(3, 2)), true);
      const stored = await it.stored(it.key("tea"));
      for (const [number, attempt] of [
        [2, 0],
        [2, 5],
        [3, 1],
        [3, 0],
      ] as const) {
        assert.equal(await it.settle(next(number, attempt)), false, `${number}/${attempt}`);
      }
      assert.deepEqual((await it.stored(it.key("tea"))).tick, stored.tick);
      assert.equal(await it.settle(next(4, 0)), true);
    });

    test("a released reminder can be claimed at once, and is unchanged", async () => {
      const it = place();
      const { generation, token } = await claimed(it);
      const before = await it.stored(it.key("tea"));
      assert.equal(await it.settle({ kind: "release", generation, token }), true);
      assert.deepEqual(await it.stored(it.key("tea")), { ...before, leasedUntil: undefined });
      assert.equal(await it.settle({ kind: "release", generation, token }), false);
      assert.equal(await it.settle({ kind: "done", generation, token }), false);
      assert.deepEqual(await it.names(), ["tea"]);
    });

    test("a dead reminder has no holder, and a second settlement does not count", async () => {
      const it = place();
      const { generation, token } = await claimed(it);
      assert.equal(await it.settle({ kind: "dead", tick: TRIED, error: "it hurts", generation, token }), true);
      assert.equal(await it.settle({ kind: "dead", tick: TRIED, error: "twice", generation, token }), false);
      assert.equal(await it.reminders.get(it.key("tea")), undefined);
      const { reminders, next } = await it.claim({ aheadMs: 9_000 * HOUR });
      assert.deepEqual([reminders, next], [[], undefined]);
    });

    test("a batch may mix all kinds; an invalid settlement affects no other, and results are in its order", async () => {
      const it = place();
      const names = ["done", "next", "kept", "release", "dead", "cancelled", "replaced"];
      await it.reminders.write(names.map((name, i) => setOf(it.key(name), { at: i, data: name })));
      const token = freshToken();
      const { reminders } = await it.claim({ token });
      const of = (name: string) => ({ generation: reminders[names.indexOf(name)]!.generation, token });
      await it.cancel(it.key("cancelled"));
      await it.set(it.key("replaced"));
      const tick = { at: 100, due: 100, number: 2, attempt: 0 };
      const counted = await it.reminders.settle([
        { kind: "done", ...of("cancelled") },
        { kind: "done", ...of("done") },
        { kind: "next", tick, leaseMs: undefined, ...of("next") },
        { kind: "next", tick, leaseMs: undefined, ...of("replaced") },
        { kind: "next", tick, leaseMs: HOUR, ...of("kept") },
        { kind: "dead", tick: TRIED, error: "e", generation: 2 ** 40, token },
        { kind: "dead", tick: TRIED, error: "e", ...of("dead") },
        { kind: "release", ...of("release") },
      ]);
      assert.deepEqual(counted, [false, true, true, false, true, false, true, true]);
      assert.deepEqual(
        (await it.reminders.list({ namespace: it.namespace, limit: 10 })).map(({ key, tick, leasedUntil }) => [
          ...[key.name, tick.number, leasedUntil !== undefined],
        ]),
        [
          ["kept", 2, true],
          ["next", 2, false],
          ["release", 1, false],
          ["replaced", 1, false],
        ],
      );
      const dead = await it.reminders.listDead({ namespace: it.namespace, limit: 10 });
      assert.deepEqual(
        dead.map(({ key }) => key.name),
        ["dead"],
      );
    });

    test("a batch of a thousand settlements from several claims is settled whole", async () => {
      const it = place();
      await it.reminders.write(Array.from({ length: 1_000 }, (_, i) => setOf(it.key(`${i}`), { at: i })));
      const settlements: Settlement[] = [];
      for (let i = 0; i < 4; i++) {
        const token = freshToken();
        const { reminders } = await it.claim({ limit: 250, token });
        for (const { generation } of reminders) settlements.push({ kind: "done", generation, token });
      }
      assert.deepEqual(await it.reminders.settle(settlements.reverse()), Array(1_000).fill(true));
      assert.equal((await it.reminders.count(it.namespace, 10)).all, 0);
    });
  });
}
