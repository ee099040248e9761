import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FirstFew } from "./actor-views.ts";

test("the first few items equal the first items of a full sort", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer()), fc.integer({ min: 1, max: 8 }), (items, count) => {
      const few = new FirstFew<number>(count, (a, b) => a - b);
      for (const item of items) few.add(item);
      assert.deepEqual(few.sorted(), items.toSorted((a, b) => a - b).slice(0, count));
    }),
  );
});

test("a page of 60,000 items takes few comparisons per item", () => {
  let compared = 0;
  const few = new FirstFew<number>(101, (a, b) => {
    compared++;
    return a - b;
  });
  for (let i = 0; i < 60_000; i++) few.add((i * 7_919) % 60_000);
  assert.deepEqual(few.sorted().slice(0, 3), [0, 1, 2]);
  assert.ok(compared < 3 * 60_000, `${compared} comparisons`);
});
