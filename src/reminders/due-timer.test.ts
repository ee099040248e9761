import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DueQueue } from "./due-timer.ts";

interface Item {
  readonly wakeAt: number;
  readonly type: string;
}

describe("queue of due reminders", () => {
  it("the queue returns the earliest item of the permitted types, for any content", () => {
    const item = fc.record({ wakeAt: fc.integer({ min: 0, max: 50 }), type: fc.constantFrom("A", "B", "C") });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 60 }), fc.subarray(["A", "B", "C"]), (items, going) => {
        const queue = new DueQueue<Item>();
        for (const one of items) queue.push(one.type, one);
        const may = (type: string): boolean => going.includes(type);
        const order: number[] = [];
        for (let first = queue.first(may); first !== undefined; first = queue.first(may)) {
          order.push(first.wakeAt);
          queue.pop(first.type);
        }
        const expected = items.filter(({ type }) => may(type)).map(({ wakeAt }) => wakeAt);
        assert.deepEqual(
          order,
          expected.toSorted((a, b) => a - b),
        );
        // Items of other types are still queued.
        const rest = items.some(({ type }) => !may(type));
        assert.equal(queue.first(() => true) !== undefined, rest);
      }),
    );
  });

  it("an empty queue returns nothing", () => {
    const queue = new DueQueue<Item>();
    assert.equal(
      queue.first(() => true),
      undefined,
    );
    queue.pop("A");
  });
});
