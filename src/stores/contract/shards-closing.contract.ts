// Closing a store with shards: close waits for operations in progress, rejects everything after it, and loses
// nothing.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ground, newTerm, type ShardsHarness } from "./shards-shared.contract.ts";

export function shardClosingContract({ open }: ShardsHarness): void {
  describe("closing a store with shards", () => {
    test("every shard operation after close is rejected with STORE_UNAVAILABLE", async () => {
      const opened = await open();
      try {
        const it = new Ground(opened.store);
        const term = await newTerm(opened.store);
        await opened.store.close();
        const refused = { name: "LimpetError", code: "STORE_UNAVAILABLE" };
        const { shards, namespace } = it;
        await assert.rejects(shards.settle(it.rule()), refused);
        await assert.rejects(shards.reset(namespace, "Cart"), refused);
        await assert.rejects(shards.homes(), refused);
        await assert.rejects(shards.noteHomes(term, [it.home(0, "a")]), refused);
        await assert.rejects(shards.noteHomes(term, []), refused);
        await assert.rejects(shards.remember(undefined, [it.keep("a")]), refused);
        await assert.rejects(shards.remember("a", []), refused);
        await assert.rejects(shards.remembered(it.shard(), undefined, 1), refused);
        await assert.rejects(shards.rememberedShards(namespace, "Cart"), refused);
      } finally {
        await opened.dispose();
      }
    });

    test("a close waits for shard operations in progress", async () => {
      const opened = await open();
      try {
        const it = new Ground(opened.store);
        const term = await newTerm(opened.store);
        const inProgress = Array.from({ length: 20 }, (_, i): Promise<unknown>[] => [
          it.shards.settle(it.rule(1, "1", `T${i}`)),
          it.shards.noteHomes(term, [it.home(i, "a")]),
          it.remember(it.keep(`${i}`)),
          it.homes(),
          it.shards.remembered(it.shard(), undefined, 10),
        ]).flat();
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

    test("rules, homes and remembered actors are there when the store is opened again", async (t) => {
      const opened = await open();
      try {
        if (opened.reopen === undefined) return t.skip("this store forgets when it is closed");
        const before = new Ground(opened.store);
        const rule = before.rule(12, "twelve");
        await before.shards.settle(rule);
        const term = await newTerm(opened.store);
        assert.ok(await before.shards.noteHomes(term, [before.home(1, "a"), before.home(2, "b")]));
        await before.remember(before.keep("x", 1), before.keep("y", 1), before.forget("x", 1));
        await opened.store.close();
        const again = await opened.reopen();
        try {
          const after = before.at(again);
          assert.deepEqual(await after.shards.settle(after.rule(13, "other")), rule);
          assert.deepEqual(await after.homes(), [before.home(1, "a"), before.home(2, "b")]);
          assert.deepEqual(await after.ids(1), ["y"]);
          assert.equal(await after.shards.noteHomes(term, [after.home(2, undefined)]), true);
          assert.deepEqual(await after.homes(), [before.home(1, "a")]);
        } finally {
          await again.close();
        }
      } finally {
        await opened.dispose();
      }
    });
  });
}
