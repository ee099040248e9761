import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FairCapacity } from "./fair-capacity.ts";

const fill = (capacity: FairCapacity, type: string, isAlone = false): number => {
  let count = 0;
  for (; capacity.freeFor(type, isAlone) > 0; count++) capacity.take(type);
  return count;
};

describe("capacity of the capacity", () => {
  it("a type without others may take all places", () => {
    const capacity = new FairCapacity(10);
    assert.equal(capacity.freeFor("A", true), 10);
    assert.equal(fill(capacity, "A", true), 10);
    assert.deepEqual([capacity.left, capacity.freeFor("A", true)], [0, 0]);
  });

  it("a type leaves as many places as it takes, for one type after another", () => {
    const capacity = new FairCapacity(16);
    assert.deepEqual(
      ["A", "B", "C", "D", "E"].map((type) => fill(capacity, type)),
      [8, 4, 2, 1, 1],
    );
  });

  it("freed places can be taken again", () => {
    const capacity = new FairCapacity(4);
    assert.equal(fill(capacity, "A"), 2);
    capacity.free("A");
    assert.deepEqual([capacity.freeFor("A", false), capacity.taken, capacity.left], [1, 1, 3]);
    capacity.free("A");
    assert.deepEqual([capacity.freeFor("A", false), capacity.freeFor("B", false), capacity.taken], [2, 2, 0]);
  });

  it("the capacity shrinks for a while, and places in use stay in use", () => {
    const capacity = new FairCapacity(16);
    assert.equal(fill(capacity, "A", true), 16);
    capacity.narrow(5);
    assert.deepEqual([capacity.taken, capacity.left, capacity.freeFor("B", false)], [16, -11, 0]);
    for (let i = 0; i < 12; i++) capacity.free("A");
    assert.equal(capacity.freeFor("A", true), 1);
    capacity.widen();
    assert.deepEqual([capacity.all, capacity.freeFor("A", true)], [10, 6]);
    capacity.widen();
    assert.equal(capacity.all, 16);
  });

  it("a type without a place finds one while any is left, after any sequence of takes and frees", () => {
    const step = fc.tuple(fc.constantFrom("A", "B", "C", "D"), fc.boolean());
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 200 }), (all, steps) => {
        const capacity = new FairCapacity(all);
        const taken = new Map<string, number>();
        for (const [type, takes] of steps) {
          const count = taken.get(type) ?? 0;
          if (takes && capacity.freeFor(type, false) > 0) {
            capacity.take(type);
            taken.set(type, count + 1);
          } else if (!takes && count > 0) {
            capacity.free(type);
            taken.set(type, count - 1);
          }
          assert.ok(capacity.left >= 0);
          assert.equal(capacity.freeFor("new", false) > 0, capacity.left > 0);
          // The places may be taken one by one.
          const free = capacity.freeFor(type, false);
          assert.ok(free <= capacity.left);
        }
      }),
    );
  });
});
