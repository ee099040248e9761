// Dead reminders: they are kept separately for operators, which may revive or forget them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ReminderKey } from "../../ports/store/reminders.ts";
import {
  assertAbout,
  freshToken,
  HOUR,
  Place,
  type RemindersHarness,
  type SetOptions,
  TRIED,
} from "./reminders-shared.contract.ts";

export function deadRemindersContract({ opened }: RemindersHarness): void {
  describe("dead reminders", () => {
    const place = () => new Place(opened().store);
    const die = async (it: Place, key: ReminderKey, error = "it hurts", options: SetOptions = {}, tick = TRIED) => {
      const token = freshToken();
      const generation = await it.set(key, { ...options, lease: { token, leaseMs: HOUR } });
      assert.equal(await it.settle({ kind: "dead", tick, error, generation, token }), true);
      return generation;
    };
    const dead = (it: Place) => it.reminders.listDead({ namespace: it.namespace, limit: 100 });

    test("a dead reminder keeps all its values, its last tick, its error and the time of its death", async () => {
      const it = place();
      const key = it.key("tea");
      const before = { at: 2_000, due: 1_000, number: 6, attempt: 9 };
      const tick = { at: 4_000, due: 3_000, number: 8, attempt: 10 };
      const error = `"it's" gone 🐚\n  at line 1`;
      const generation = await die(it, key, error, { ...before, schedule: "hourly", data: "milk" }, tick);
      const [found, ...others] = await dead(it);
      assert.deepEqual(others, []);
      const { diedAt, ...rest } = found!;
      assert.deepEqual(rest, { key, generation, tick, schedule: "hourly", data: "milk", bytes: 4, error });
      assertAbout(diedAt, await it.now());
    });

    test("a dead reminder with four mebibytes of data is kept and revived whole", async () => {
      const it = place();
      const data = "é".repeat(2 * 1024 * 1024);
      await die(it, it.key("large"), "e".repeat(10_000), { data });
      assert.equal((await dead(it))[0]?.data, data);
      assert.equal(await it.reminders.revive(it.key("large")), true);
      assert.equal((await it.stored(it.key("large"))).data, data);
    });

    test("a revived reminder is due now, with no attempts and a new generation", async () => {
      const it = place();
      const key = it.key("tea");
      const generation = await die(it, key, "e", { data: "milk" }, { at: 2_000, due: 1_000, number: 6, attempt: 9 });
      assert.equal(await it.reminders.revive(key), true);
      const stored = await it.stored(key);
      assert.notEqual(stored.generation, generation);
      assertAbout(stored.tick.at, await it.now());
      assert.deepEqual([stored.tick.due, stored.tick.number, stored.tick.attempt], [1_000, 6, 0]);
      assert.deepEqual([stored.schedule, stored.data, stored.leasedUntil], ["once", "milk", undefined]);
      assert.deepEqual(await dead(it), []);
      assert.deepEqual(await it.names(), ["tea"]);
      assert.equal(await it.reminders.revive(key), false);
    });

    test("a dead reminder whose key was set again meanwhile is not revived", async () => {
      const it = place();
      const key = it.key("tea");
      await die(it, key, "e", { data: "old" });
      await it.set(key, { data: "new" });
      const before = await it.stored(key);
      assert.equal(await it.reminders.revive(key), false);
      assert.deepEqual(await it.stored(key), before);
      assert.equal((await dead(it))[0]?.data, "old");
      await it.cancel(key);
      assert.equal(await it.reminders.revive(key), true);
      assert.equal((await it.stored(key)).data, "old");
    });

    test("a forgotten reminder is gone, and the live one of its key stays", async () => {
      const it = place();
      const key = it.key("tea");
      await die(it, key);
      await it.set(key, { data: "alive" });
      assert.equal(await it.reminders.forget(key), true);
      assert.deepEqual(await dead(it), []);
      assert.equal(await it.reminders.forget(key), false);
      assert.equal((await it.stored(key)).data, "alive");
    });

    test("only the last death of a reminder that died twice is kept", async () => {
      const it = place();
      const key = it.key("tea");
      await die(it, key, "first", { data: "x".repeat(5_000) });
      const generation = await die(it, key, "second");
      assert.deepEqual(
        (await dead(it)).map((one) => [one.error, one.generation, one.data]),
        [["second", generation, undefined]],
      );
    });

    test("a reminder that is not dead is neither revived nor forgotten", async () => {
      const it = place();
      await it.set(it.key("tea"));
      for (const name of ["tea", "nobody"]) {
        assert.equal(await it.reminders.revive(it.key(name)), false);
        assert.equal(await it.reminders.forget(it.key(name)), false);
      }
      assert.notEqual(await it.reminders.get(it.key("tea")), undefined);
    });

    test("a dead reminder survives setting and cancelling its key", async () => {
      const it = place();
      await die(it, it.key("tea"));
      assert.equal(await it.cancel(it.key("tea")), false);
      await it.set(it.key("tea"), { isNew: true });
      assert.equal((await dead(it)).length, 1);
    });

    test("dead reminders of other namespaces are never visible", async () => {
      const [here, there] = [place(), place()];
      await die(here, here.key("tea"));
      assert.deepEqual(await dead(there), []);
      assert.equal(await there.reminders.revive(there.key("tea")), false);
      assert.equal(await there.reminders.forget(there.key("tea")), false);
      assert.equal((await dead(here)).length, 1);
    });
  });
}
