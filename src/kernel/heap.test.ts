import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Heap } from "./heap.ts";

const drained = <T>(heap: Heap<T>): T[] => {
  const items: T[] = [];
  while (heap.size > 0) items.push(heap.pop() as T);
  return items;
};

test("a heap returns its items sorted", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -20, max: 20 })), (items) => {
      const heap = new Heap<number>((a, b) => a < b);
      for (const item of items) heap.push(item);
      assert.equal(heap.size, items.length);
      assert.deepEqual(
        drained(heap),
        items.toSorted((a, b) => a - b),
      );
    }),
  );
});

test("the smallest item of a heap is first in any mixture of pushes and pops", () => {
  /** A number is pushed, undefined pops one. */
  const steps = fc.array(fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (all) => {
      const heap = new Heap<number>((a, b) => a < b);
      let model: number[] = [];
      for (const step of all) {
        if (step === undefined) {
          assert.equal(heap.pop(), model[0]);
          model = model.slice(1);
        } else {
          heap.push(step);
          model = [...model, step].sort((a, b) => a - b);
        }
        assert.equal(heap.peek(), model[0]);
        assert.equal(heap.size, model.length);
      }
      assert.deepEqual(drained(heap), model);
    }),
  );
});

test("numbered equal items are returned in the order of their numbers", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3 })), (moments) => {
      const items = moments.map((at, order) => ({ at, order }));
      const heap = new Heap<(typeof items)[number]>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
      for (const item of items) heap.push(item);
      assert.deepEqual(
        drained(heap),
        items.toSorted((a, b) => a.at - b.at),
      );
    }),
  );
});

test("an empty heap returns undefined, and can be filled again", () => {
  const heap = new Heap<number>((a, b) => a < b);
  assert.deepEqual([heap.peek(), heap.pop(), heap.size], [undefined, undefined, 0]);
  heap.push(1);
  assert.equal(heap.pop(), 1);
  assert.deepEqual([heap.peek(), heap.pop(), heap.size], [undefined, undefined, 0]);
  heap.push(2);
  assert.equal(heap.peek(), 2);
});
