// Watching reminders and closing the store: close waits for operations in progress, rejects everything after
// it, and loses nothing.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import {
  freshToken,
  HOUR,
  leasesOf,
  Place,
  type RemindersHarness,
  setOf,
  TRIED,
  withSecond,
} from "./reminders-shared.contract.ts";
import { actor, commitOf, keep, take } from "./shared.contract.ts";

export function reminderClosingContract(harness: RemindersHarness): void {
  const { open, opened } = harness;

  describe("watching reminders", () => {
    test("a watcher is notified when another process writes a due reminder, alone or with a commit", async (t) => {
      await withSecond(harness, async (second) => {
        const it = new Place(opened().store);
        let notifications = 0;
        const stop = it.reminders.watch(it.namespace, () => notifications++);
        if (stop === undefined) return t.skip("this store has no notifications");
        const other = second ?? opened().store;
        const there = new Place(other, it.namespace);
        const notified = async (before: number) => {
          while (notifications === before) await pause(1);
        };
        try {
          await there.set(there.key("tea"));
          await notified(0);
          const held = await take(other, actor("alice", it.namespace));
          const before = notifications;
          await other.commit([{ ...commitOf(held, keep), reminders: [setOf(it.key("cake"))] }]);
          await notified(before);
        } finally {
          stop();
        }
      });
    });

    test("a watcher that has stopped, or watches another namespace, is not notified", async (t) => {
      await withSecond(harness, async (second) => {
        const [it, elsewhere] = [new Place(opened().store), new Place(opened().store)];
        const there = new Place(second ?? opened().store, it.namespace);
        let [notifications, wrongly] = [0, 0];
        const stops = [
          it.reminders.watch(it.namespace, () => wrongly++),
          it.reminders.watch(elsewhere.namespace, () => wrongly++),
          it.reminders.watch(it.namespace, () => notifications++),
        ];
        if (stops[0] === undefined) return t.skip("this store has no notifications");
        stops[0]();
        await there.set(there.key("tea"));
        while (notifications === 0) await pause(1);
        for (const stop of stops) stop?.();
        assert.equal(wrongly, 0);
      });
    });
  });

  describe("closing a store with reminders", () => {
    test("every reminder operation after close is rejected with STORE_UNAVAILABLE", async () => {
      const opened = await open();
      try {
        const it = new Place(opened.store);
        const generation = await it.set(it.key("tea"));
        await opened.store.close();
        const refused = { name: "LimpetError", code: "STORE_UNAVAILABLE" };
        const { reminders, namespace } = it;
        const key = it.key("tea");
        await assert.rejects(reminders.write([setOf(key)]), refused);
        await assert.rejects(reminders.write([]), refused);
        await assert.rejects(it.claim(), refused);
        await assert.rejects(it.claim({ types: [] }), refused);
        await assert.rejects(reminders.settle([{ kind: "done", generation, token: "t" }]), refused);
        await assert.rejects(reminders.settle([]), refused);
        await assert.rejects(reminders.renew(leasesOf([generation], "t"), HOUR), refused);
        await assert.rejects(reminders.renew(leasesOf([], "t"), HOUR), refused);
        await assert.rejects(reminders.get(key), refused);
        await assert.rejects(reminders.list({ namespace, limit: 1 }), refused);
        await assert.rejects(reminders.listDead({ namespace, limit: 1 }), refused);
        await assert.rejects(reminders.revive(key), refused);
        await assert.rejects(reminders.forget(key), refused);
        await assert.rejects(reminders.count(namespace, 1), refused);
      } finally {
        await opened.dispose();
      }
    });

    test("a close waits for the writes, claims and settlements in progress", async () => {
      const opened = await open();
      try {
        const it = new Place(opened.store);
        await it.reminders.write(Array.from({ length: 50 }, (_, i) => setOf(it.key(`${i}`))));
        const token = freshToken();
        const { reminders } = await it.claim({ token, limit: 25 });
        const inProgress: Promise<unknown>[] = reminders.map(({ generation }) =>
          it.reminders.settle([{ kind: "done", generation, token }]),
        );
        for (let i = 0; i < 20; i++)
          inProgress.push(it.reminders.write([setOf(it.key(`more ${i}`))]), it.claim({ limit: 1 }));
        let settled = 0;
        for (const one of inProgress) void one.then(() => settled++);
        await opened.store.close();
        // A caller sees its result a moment after the store.
        await new Promise(setImmediate);
        assert.equal(settled, inProgress.length);
      } finally {
        await opened.dispose();
      }
    });

    test("reminders and leases are there when the store is opened again, and generations go on rising", async (t) => {
      const opened = await open();
      try {
        if (opened.reopen === undefined) return t.skip("this store forgets when it is closed");
        const before = new Place(opened.store);
        await before.set(before.key("free"), { data: "x".repeat(5_000) });
        const token = freshToken();
        const generation = await before.set(before.key("held"), { lease: { token, leaseMs: 2 * HOUR } });
        const dying = await before.set(before.key("dead"), { lease: { token, leaseMs: HOUR } });
        await before.settle({ kind: "dead", tick: TRIED, error: "e", generation: dying, token });
        const query = { namespace: before.namespace, limit: 10 };
        const [alive, dead] = [await before.reminders.list(query), await before.reminders.listDead(query)];
        await before.cancel(before.key("held too"));
        const last = await before.set(before.key("last"));
        await before.cancel(before.key("last"));
        await opened.store.close();
        const again = await opened.reopen();
        try {
          const after = new Place(again, before.namespace);
          assert.deepEqual(await after.reminders.list(query), alive);
          assert.deepEqual(await after.reminders.listDead(query), dead);
          assert.deepEqual(await after.names(), ["free"]);
          assert.equal(await after.settle({ kind: "done", generation, token }), true);
          assert.ok((await after.set(after.key("next"))) > last);
        } finally {
          await again.close();
        }
      } finally {
        await opened.dispose();
      }
    });
  });
}
