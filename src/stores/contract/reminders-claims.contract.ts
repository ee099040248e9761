// Claims of reminders: rows that are due soon, of the requested types, earliest first, and never a row that
// another process holds.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  assertAbout,
  freshToken,
  HOUR,
  MINUTE,
  namesOf,
  Place,
  type RemindersHarness,
  setOf,
} from "./reminders-shared.contract.ts";

export function reminderClaimsContract({ opened }: RemindersHarness): void {
  describe("claims of reminders", () => {
    const place = () => new Place(opened().store);

    test("a claim returns the store's clock, even when it requests nothing", async () => {
      const it = place();
      const { now, reminders, next } = await it.claim({ types: [] });
      assert.ok(Number.isFinite(now) && now > 1_500_000_000_000);
      assert.deepEqual([reminders, next], [[], undefined]);
      assert.ok((await it.claim()).now >= now);
    });

    test("a claimed reminder has all values that were set", async () => {
      const it = place();
      const key = it.key("tea");
      const tick = { at: 2_000, due: 1_000, number: 4, attempt: 2 };
      const generation = await it.set(key, { ...tick, schedule: "hourly", data: "milk" });
      const { reminders } = await it.claim();
      assert.deepEqual(reminders, [{ generation, key, tick, schedule: "hourly", data: "milk" }]);
    });

    test("a claim returns only reminders that are due within the requested time", async () => {
      const it = place();
      const now = await it.now();
      for (const hours of [-1, 1, 3, 5]) await it.set(it.key(`${hours}`), { at: now + hours * HOUR });
      assert.deepEqual(await it.names(), ["-1"]);
      assert.deepEqual(await it.names({ aheadMs: 4 * HOUR }), ["1", "3"]);
      assert.deepEqual(await it.names({ aheadMs: 4 * HOUR }), []);
    });

    test("a reminder is claimed by its delivery time, not by the time it was due", async () => {
      const it = place();
      const now = await it.now();
      await it.set(it.key("failed before"), { due: now - HOUR, at: now + HOUR });
      await it.set(it.key("early"), { due: now + HOUR, at: now - HOUR });
      assert.deepEqual(await it.names(), ["early"]);
    });

    test("a reminder that becomes due as time passes is claimed then", async () => {
      const it = place();
      await it.set(it.key("tea"), { at: (await it.now()) + 2 * HOUR });
      await opened().advance(HOUR);
      assert.deepEqual(await it.names(), []);
      await opened().advance(2 * HOUR);
      const { now, reminders } = await it.claim();
      assert.deepEqual(namesOf(reminders), ["tea"]);
      assertAbout(now - reminders[0]!.tick.at, HOUR);
    });

    test("types that were not requested stay unclaimed", async () => {
      const it = place();
      for (const type of ["Cart", "Order", "Cartel", "cart"]) await it.set(it.key(type, "alice", type));
      assert.deepEqual(await it.names({ types: ["Cart", "Nobody"] }), ["Cart"]);
      assert.deepEqual((await it.names({ types: ["Order", "Cartel"] })).sort(), ["Cartel", "Order"]);
      assert.equal((await it.stored(it.key("cart", "alice", "cart"))).leasedUntil, undefined);
    });

    test("a type that is requested twice is claimed once", async () => {
      const it = place();
      await it.set(it.key("tea"));
      assert.deepEqual(await it.names({ types: ["Cart", "Cart"] }), ["tea"]);
    });

    test("a claim never sees other namespaces", async () => {
      const [here, there] = [place(), place()];
      await there.set(there.key("tea"));
      const { reminders, next } = await here.claim();
      assert.deepEqual([reminders, next], [[], undefined]);
      assert.deepEqual(await there.names(), ["tea"]);
    });

    test("the earliest reminders over all types come first, and no more than requested", async () => {
      const it = place();
      const at = [50, 10, 30, 20, 60, 40];
      await it.reminders.write(
        at.map((one, i) => setOf(it.key(`${one}`, `${i}`, i % 2 === 0 ? "A" : "B"), { at: one })),
      );
      const types = ["B", "A"];
      assert.deepEqual(await it.names({ types, limit: 4 }), ["10", "20", "30", "40"]);
      assert.deepEqual(await it.names({ types, limit: 4 }), ["50", "60"]);
    });

    test("many reminders of one type do not hide the early ones of another", async () => {
      const it = place();
      const crowd = Array.from({ length: 200 }, (_, i) => setOf(it.key(`late ${i}`, "alice", "A"), { at: 1_000 + i }));
      await it.reminders.write([...crowd, setOf(it.key("early", "alice", "B"), { at: 1 })]);
      assert.deepEqual(await it.names({ types: ["A", "B"], limit: 2 }), ["early", "late 0"]);
    });

    test("many types are claimed at once", async () => {
      const it = place();
      const types = Array.from({ length: 300 }, (_, i) => `Type ${i}`);
      await it.reminders.write(
        types.flatMap((type, i) =>
          [1, 2, 3].map((n) => setOf(it.key(`${i}/${n}`, "alice", type), { at: n * 1_000 + i })),
        ),
      );
      const first = await it.claim({ types, limit: 450 });
      assert.deepEqual(
        first.reminders.map(({ tick }) => tick.at),
        types.flatMap((_, i) => [1_000 + i]).concat(types.slice(0, 150).map((_, i) => 2_000 + i)),
      );
      const second = await it.claim({ types, limit: 1_000 });
      assert.equal(second.reminders.length, 450);
    });

    test("a claim of nothing takes nothing", async () => {
      const it = place();
      await it.set(it.key("tea"));
      assert.deepEqual(await it.names({ limit: 0 }), []);
      assert.deepEqual(await it.names({ types: [] }), []);
      assert.deepEqual(await it.names(), ["tea"]);
    });
  });

  describe("time of the next claim", () => {
    const place = () => new Place(opened().store);

    test("a claim returns no next time when there is nothing else", async () => {
      const it = place();
      await it.set(it.key("tea"));
      assert.equal((await it.claim()).next, undefined);
    });

    test("the next time is the one of the next reminder, less the time that was requested ahead", async () => {
      const it = place();
      const now = await it.now();
      await it.set(it.key("later"), { at: now + 5 * HOUR });
      await it.set(it.key("tea"), { at: now + 3 * HOUR });
      assert.equal((await it.claim()).next, now + 3 * HOUR);
      assert.equal((await it.claim({ aheadMs: HOUR })).next, now + 2 * HOUR);
      const { reminders, next } = await it.claim({ aheadMs: 4 * HOUR });
      assert.deepEqual([namesOf(reminders), next], [["tea"], now + HOUR]);
    });

    test("the next time is the earliest of all requested types, and of no other", async () => {
      const it = place();
      const now = await it.now();
      for (const [hours, type] of [
        [5, "A"],
        [4, "B"],
        [3, "C"],
      ] as const) {
        await it.set(it.key("tea", "alice", type), { at: now + hours * HOUR });
      }
      assert.equal((await it.claim({ types: ["A", "B"] })).next, now + 4 * HOUR);
    });

    test("the next time of a claimed reminder is the end of its lease", async () => {
      const it = place();
      await it.set(it.key("tea"));
      await it.set(it.key("cake"), { at: (await it.now()) + 5 * HOUR });
      const { now } = await it.claim({ leaseMs: 3 * HOUR });
      const { reminders, next } = await it.claim();
      assert.deepEqual(reminders, []);
      assertAbout(next, now + 3 * HOUR);
    });

    test("the next time is now while more reminders are due than were requested", async () => {
      const it = place();
      for (const name of ["a", "b", "c"]) await it.set(it.key(name, "alice", name === "c" ? "Order" : "Cart"));
      const types = ["Cart", "Order"];
      const first = await it.claim({ types, limit: 1 });
      assert.ok(first.next !== undefined && first.next <= first.now);
      const second = await it.claim({ types, limit: 1 });
      assert.ok(second.next !== undefined && second.next <= second.now);
      assert.equal((await it.claim({ types, limit: 2 })).reminders.length, 1);
    });

    test("a claim at the next time always gets something, or a later next time", async () => {
      const it = place();
      const { advance } = opened();
      const start = await it.now();
      for (let i = 0; i < 6; i++) await it.set(it.key(`${i}`), { at: start + i * 20 * MINUTE });
      const delivered: string[] = [];
      for (let rounds = 0; delivered.length < 6; rounds++) {
        assert.ok(rounds < 20, "no progress");
        const token = freshToken();
        const { now, reminders, next } = await it.claim({ limit: 2, aheadMs: MINUTE, token });
        delivered.push(...namesOf(reminders));
        await it.reminders.settle(reminders.map(({ generation }) => ({ kind: "done", generation, token })));
        if (next !== undefined && next > now) await advance(Math.ceil(next - now) + 1);
      }
      assert.deepEqual(delivered, ["0", "1", "2", "3", "4", "5"]);
    });
  });
}
