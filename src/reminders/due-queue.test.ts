import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DueQueue } from "./due-queue.ts";

interface Item {
  readonly wakeAt: number;
  readonly type: string;
}

describe("a queue of what is due", () => {
  it("gives the earliest of the types that may go on, whatever was put in", () => {
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
        // Those that had to wait are still there.
        const rest = items.some(({ type }) => !may(type));
        assert.equal(queue.first(() => true) !== undefined, rest);
      }),
    );
  });

  it("is empty in the beginning, and does not mind being asked", () => {
    const queue = new DueQueue<Item>();
    assert.equal(
      queue.first(() => true),
      undefined,
    );
    queue.pop("A");
  });
});
