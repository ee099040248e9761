// Closing a store: close waits for operations in progress, rejects everything after it, and loses nothing.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  actor,
  change,
  commitOf,
  freshNamespace,
  type Harness,
  take,
  takeAll,
  whole,
  write,
} from "./shared.contract.ts";

export function closingContract({ open, store }: Harness): void {
  describe("closing a store", () => {
    test("a store responds to a ping and reports its location and number of lanes", async () => {
      await store().ping();
      assert.ok(store().location.length > 0);
      assert.ok(Number.isInteger(store().lanes) && store().lanes >= 1);
    });

    test("every operation after close is rejected with STORE_UNAVAILABLE, and closing again is fine", async () => {
      const opened = await open();
      try {
        const held = await take(opened.store, actor("alice"));
        await opened.store.close();
        const refused = { name: "LimpetError", code: "STORE_UNAVAILABLE" };
        await assert.rejects(opened.store.take([{ ...actor("bob"), owner: "host-1" }]), refused);
        await assert.rejects(opened.store.take([]), refused);
        await assert.rejects(opened.store.commit([commitOf(held, whole("x"))]), refused);
        await assert.rejects(opened.store.commit([]), refused);
        await assert.rejects(opened.store.list({ namespace: "n", limit: 1 }), refused);
        await assert.rejects(opened.store.find(actor("alice")), refused);
        await assert.rejects(opened.store.ping(), refused);
        await opened.store.close();
      } finally {
        await opened.dispose();
      }
    });

    test("a close waits for the commits in progress", async () => {
      const opened = await open();
      try {
        const namespace = freshNamespace();
        const keys = Array.from({ length: 100 }, (_, i) => ({ ...actor(`${i}`, namespace), owner: "host-1" }));
        const held = await takeAll(opened.store, keys);
        const commits = held.map((one) => opened.store.commit([commitOf(one, whole("x".repeat(2_000)))]));
        let settled = 0;
        for (const commit of commits) void commit.then(() => settled++);
        await opened.store.close();
        assert.equal(settled, commits.length);
        assert.deepEqual((await Promise.all(commits)).flat(), Array(100).fill("committed"));
      } finally {
        await opened.dispose();
      }
    });

    test("committed states are there when the store is opened again, and epochs go on rising", async (t) => {
      const opened = await open();
      try {
        if (opened.reopen === undefined) return t.skip("this store forgets when it is closed");
        const key = actor("alice");
        const held = await take(opened.store, key);
        await write(opened.store, held, whole("w".repeat(3_000)), change("🐚"));
        await opened.store.close();
        const again = await opened.reopen();
        try {
          const next = await take(again, key);
          assert.ok(next.epoch > held.epoch);
          assert.equal(next.version, 2);
          assert.deepEqual(next.state, { whole: "w".repeat(3_000), changes: ["🐚"] });
        } finally {
          await again.close();
        }
      } finally {
        await opened.dispose();
      }
    });
  });
}
