// Leases: whoever has one has it alone, until the store's clock says that it is over; setting anew and cancelling void it at once.
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
  describe("leases", () => {
    const place = () => new Place(opened().store);
    const advance = (ms: number) => opened().advance(ms);

    test("what is claimed is nobody else's until its lease is over", async () => {
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

    test("the same token claims nothing twice either", async () => {
      const it = place();
      await it.set(it.key("tea"));
      assert.deepEqual(await it.names({ token: "mine" }), ["tea"]);
      assert.deepEqual(await it.names({ token: "mine" }), []);
    });

    test("whose lease is over, and whose row was claimed by another, holds nothing", async () => {
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

    test("whose lease is over, and whose row nobody has claimed since, still settles it", async () => {
      const it = place();
      for (const [i, end] of (["done", "release"] as const).entries()) {
        const generation = await it.set(it.key(`${i}`));
        await it.claim({ token: "mine" });
        await advance(2 * HOUR);
        assert.equal(await it.settle({ kind: end, generation, token: "mine" }), true);
      }
    });

    test("setting it anew voids the lease: it can be claimed at once, and the old claim holds nothing", async () => {
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

    test("cancelling it voids the lease, and nothing the old claim says brings it back", async () => {
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

    test("one that is set with a lease belongs to whoever set it", async () => {
      const it = place();
      const generation = await it.set(it.key("tea"), { lease: { token: "mine", leaseMs: 2 * HOUR } });
      assertAbout((await it.stored(it.key("tea"))).leasedUntil, (await it.now()) + 2 * HOUR);
      assert.deepEqual(await it.names(), []);
      await advance(HOUR);
      assert.deepEqual(await it.names(), []);
      assert.equal(await it.settle({ kind: "done", generation, token: "other" }), false);
      assert.equal(await it.settle({ kind: "done", generation, token: "mine" }), true);
    });

    test("one that was set with a lease is anybody's when that is over", async () => {
      const it = place();
      await it.set(it.key("tea"), { lease: { token: "mine", leaseMs: HOUR } });
      await advance(2 * HOUR);
      assert.deepEqual(await it.names(), ["tea"]);
    });

    test("setting with a lease voids that of somebody else", async () => {
      const it = place();
      const old = await it.set(it.key("tea"));
      await it.claim({ token: "old" });
      const generation = await it.set(it.key("tea"), { lease: { token: "mine", leaseMs: HOUR } });
      assert.equal(await it.settle({ kind: "done", generation: old, token: "old" }), false);
      assert.equal(await it.settle({ kind: "done", generation, token: "mine" }), true);
    });

    test("a lease that is renewed lasts from then", async () => {
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

    test("a lease that is over is renewed as long as nobody else has claimed the row", async () => {
      const it = place();
      const generation = await it.set(it.key("tea"));
      await it.claim({ token: "mine" });
      await advance(2 * HOUR);
      assert.deepEqual(await it.reminders.renew(leasesOf([generation], "mine"), HOUR), []);
      assert.deepEqual(await it.names(), []);
    });

    test("renewing tells which are not held any more, and renews the others", async () => {
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

    test("leased rows do not stand in the way of those behind them", async () => {
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
