// Leases of reminders: a holder has the row alone, until its lease ends on the store's clock; replacing and
// cancelling void the lease at once.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  assertAbout,
  HOUR,
  leasesOf,
  namesOf,
  Place,
  type RemindersHarness,
  TRIED,
} from "./reminders-shared.contract.ts";

export function reminderLeasesContract({ opened }: RemindersHarness): void {
  describe("leases of reminders", () => {
    const place = () => new Place(opened().store);
    const advance = (ms: number) => opened().advance(ms);

    test("a claimed reminder is not claimed by others until its lease ends", async () => {
      const it = place();
      await it.set(it.key("tea"));
      const first = await it.claim({ leaseMs: 2 * HOUR });
      assertAbout((await it.stored(it.key("tea"))).leasedUntil, first.now + 2 * HOUR);
      await advance(HOUR);
      assert.deepEqual(await it.names(), []);
      assert.notEqual((await it.stored(it.key("tea"))).leasedUntil, undefined);
      await advance(2 * HOUR);
      assert.equal((await it.stored(it.key("tea"))).leasedUntil, undefined);
      const again = await it.claim();
      assert.equal(again.reminders[0]?.generation, first.reminders[0]?.generation);
    });

    test("a claim with the same token does not get a claimed reminder again", async () => {
      const it = place();
      await it.set(it.key("tea"));
      assert.deepEqual(await it.names({ token: "mine" }), ["tea"]);
      assert.deepEqual(await it.names({ token: "mine" }), []);
    });

    test("a holder whose lease has ended and whose row another process claimed can change nothing", async () => {
      const it = place();
      const generation = await it.set(it.key("tea"));
      await it.claim({ token: "old" });
      await advance(2 * HOUR);
      assert.deepEqual(await it.names({ token: "new" }), ["tea"]);
      const before = await it.stored(it.key("tea"));
      const tick = { ...before.tick, number: 2 };
      for (const late of [
        { kind: "done" },
        { kind: "release" },
        { kind: "dead", tick: TRIED, error: "late" },
        { kind: "next", tick, leaseMs: undefined },
        { kind: "next", tick, leaseMs: 5 * HOUR },
      ] as const) {
        assert.equal(await it.settle({ ...late, generation, token: "old" }), false, late.kind);
      }
      assert.deepEqual(await it.reminders.renew(leasesOf([generation], "old"), 9 * HOUR), [generation]);
      const { leasedUntil, ...after } = await it.stored(it.key("tea"));
      assertAbout(leasedUntil, before.leasedUntil!);
      assert.deepEqual({ ...after, leasedUntil: before.leasedUntil }, before);
      assert.equal(await it.settle({ kind: "done", generation, token: "new" }), true);
    });

    test("a holder whose lease has ended still settles a row that no other process has claimed", async () => {
      const it = place();
      for (const [i, end] of (["done", "release"] as const).entries()) {
        const generation = await it.set(it.key(`${i}`));
        await it.claim({ token: "mine" });
        await advance(2 * HOUR);
        assert.equal(await it.settle({ kind: end, generation, token: "mine" }), true);
      }
    });

    test("a replaced reminder loses its lease: it can be claimed at once, and the old claim can change nothing", async () => {
      const it = place();
      const old = await it.set(it.key("tea"));
      await it.claim({ token: "mine" });
      const generation = await it.set(it.key("tea"), { data: "new" });
      assert.equal(await it.settle({ kind: "done", generation: old, token: "mine" }), false);
      assert.equal(await it.settle({ kind: "done", generation, token: "mine" }), false);
      assert.deepEqual(await it.reminders.renew(leasesOf([old, generation], "mine"), HOUR), [old, generation]);
      const { reminders } = await it.claim();
      assert.deepEqual([reminders[0]?.data, reminders[0]?.generation], ["new", generation]);
    });

    test("a cancelled reminder loses its lease, and no operation of the old claim restores it", async () => {
      const it = place();
      const generation = await it.set(it.key("tea"));
      const { reminders } = await it.claim({ token: "mine" });
      assert.equal(await it.cancel(it.key("tea")), true);
      const tick = { ...reminders[0]!.tick, number: 2 };
      for (const late of [
        { kind: "next", tick, leaseMs: HOUR },
        { kind: "release" },
        { kind: "dead", tick: TRIED, error: "late" },
      ] as const) {
        assert.equal(await it.settle({ ...late, generation, token: "mine" }), false);
      }
      assert.equal(await it.reminders.get(it.key("tea")), undefined);
      assert.deepEqual(await it.reminders.listDead({ namespace: it.namespace, limit: 10 }), []);
      assert.deepEqual(await it.reminders.renew(leasesOf([generation], "mine"), HOUR), [generation]);
    });

    test("a reminder that is set with a lease belongs to its writer", async () => {
      const it = place();
      const generation = await it.set(it.key("tea"), { lease: { token: "mine", leaseMs: 2 * HOUR } });
      assertAbout((await it.stored(it.key("tea"))).leasedUntil, (await it.now()) + 2 * HOUR);
      assert.deepEqual(await it.names(), []);
      await advance(HOUR);
      assert.deepEqual(await it.names(), []);
      assert.equal(await it.settle({ kind: "done", generation, token: "other" }), false);
      assert.equal(await it.settle({ kind: "done", generation, token: "mine" }), true);
    });

    test("a reminder that was set with a lease can be claimed when the lease ends", async () => {
      const it = place();
      await it.set(it.key("tea"), { lease: { token: "mine", leaseMs: HOUR } });
      await advance(2 * HOUR);
      assert.deepEqual(await it.names(), ["tea"]);
    });

    test("a set with a lease voids the lease of another process", async () => {
      const it = place();
      const old = await it.set(it.key("tea"));
      await it.claim({ token: "old" });
      const generation = await it.set(it.key("tea"), { lease: { token: "mine", leaseMs: HOUR } });
      assert.equal(await it.settle({ kind: "done", generation: old, token: "old" }), false);
      assert.equal(await it.settle({ kind: "done", generation, token: "mine" }), true);
    });

    test("a renewed lease lasts from the renewal", async () => {
      const it = place();
      const generation = await it.set(it.key("tea"));
      await it.claim({ token: "mine", leaseMs: 2 * HOUR });
      await advance(HOUR);
      assert.deepEqual(await it.reminders.renew(leasesOf([generation], "mine"), 3 * HOUR), []);
      assertAbout((await it.stored(it.key("tea"))).leasedUntil, (await it.now()) + 3 * HOUR);
      await advance(2 * HOUR);
      assert.deepEqual(await it.names(), []);
      await advance(2 * HOUR);
      assert.deepEqual(await it.names(), ["tea"]);
    });

    test("an ended lease can be renewed until another process claims the row", async () => {
      const it = place();
      const generation = await it.set(it.key("tea"));
      await it.claim({ token: "mine" });
      await advance(2 * HOUR);
      assert.deepEqual(await it.reminders.renew(leasesOf([generation], "mine"), HOUR), []);
      assert.deepEqual(await it.names(), []);
    });

    test("a renewal returns the reminders that are not held any more, and renews the others", async () => {
      const it = place();
      const names = ["kept", "cancelled", "replaced", "done", "released"];
      for (const name of names) await it.set(it.key(name), { at: names.indexOf(name) });
      const { reminders } = await it.claim({ token: "mine" });
      const [kept, cancelled, replaced, done, released] = reminders.map(({ generation }) => generation);
      await it.cancel(it.key("cancelled"));
      await it.set(it.key("replaced"));
      await it.settle({ kind: "done", generation: done!, token: "mine" });
      await it.settle({ kind: "release", generation: released!, token: "mine" });
      const asked = [done!, kept!, 2 ** 40, cancelled!, released!, replaced!];
      const lost = await it.reminders.renew(leasesOf(asked, "mine"), 5 * HOUR);
      assert.deepEqual(
        lost.sort((a, b) => a - b),
        [2 ** 40, cancelled!, done!, released!, replaced!].sort((a, b) => a - b),
      );
      assertAbout((await it.stored(it.key("kept"))).leasedUntil, (await it.now()) + 5 * HOUR);
      assert.equal((await it.stored(it.key("released"))).leasedUntil, undefined);
    });

    test("leased rows do not hide the rows behind them", async () => {
      const it = place();
      for (let i = 0; i < 50; i++) await it.set(it.key(`${i}`), { at: i });
      await it.claim({ limit: 40 });
      const { reminders } = await it.claim({ limit: 5 });
      assert.deepEqual(namesOf(reminders), ["40", "41", "42", "43", "44"]);
      await advance(2 * HOUR);
      assert.deepEqual(await it.names({ limit: 3 }), ["0", "1", "2"]);
    });
  });
}
