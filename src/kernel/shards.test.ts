import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DEFAULT_SHARDS, MOST_SHARDS, shardOf } from "./shards.ts";

test("the shard of an id never changes", () => {
  const ids = ["", "a", "cart-1", "cart-2", "żółw", "🐚", "x".repeat(1_000)];
  assert.deepEqual(
    ids.map((id) => shardOf(id, DEFAULT_SHARDS)),
    [923, 715, 33, 407, 330, 451, 346],
  );
});

test("every text has a valid shard", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: MOST_SHARDS }), (id, shards) => {
      const shard = shardOf(id, shards);
      assert.ok(Number.isInteger(shard) && shard >= 0 && shard < shards);
    }),
  );
});

test("ids that differ only by a number are spread as evenly as by chance", () => {
  for (const shards of [10, 256, 1_000]) {
    for (const prefix of ["", "user-", "order/2026/"]) {
      const counts = new Array<number>(shards).fill(0);
      const each = 100;
      for (let i = 0; i < shards * each; i++) counts[shardOf(`${prefix}${i}`, shards)]!++;
      // Six times the standard deviation of chance.
      const most = Math.max(...counts.map((count) => Math.abs(count - each)));
      assert.ok(most < 6 * Math.sqrt(each), `one of ${shards} shards is off by ${most} for ids like ${prefix}7`);
    }
  }
});
