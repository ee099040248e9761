import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FairCapacity } from "./fair-capacity.ts";

const fill = (shares: FairCapacity, type: string, isAlone = false): number => {
  let count = 0;
  for (; shares.roomFor(type, isAlone) > 0; count++) shares.take(type);
  return count;
};

describe("shares of the capacity", () => {
  it("a type without others may take all places", () => {
    const shares = new FairCapacity(10);
    assert.equal(shares.roomFor("A", true), 10);
    assert.equal(fill(shares, "A", true), 10);
    assert.deepEqual([shares.left, shares.roomFor("A", true)], [0, 0]);
  });

  it("a type leaves as many places as it takes, for one type after another", () => {
    const shares = new FairCapacity(16);
    assert.deepEqual(
      ["A", "B", "C", "D", "E"].map((type) => fill(shares, type)),
      [8, 4, 2, 1, 1],
    );
  });

  it("freed places can be taken again", () => {
    const shares = new FairCapacity(4);
    assert.equal(fill(shares, "A"), 2);
    shares.free("A");
    assert.deepEqual([shares.roomFor("A", false), shares.taken, shares.left], [1, 1, 3]);
    shares.free("A");
    assert.deepEqual([shares.roomFor("A", false), shares.roomFor("B", false), shares.taken], [2, 2, 0]);
  });

  it("the capacity shrinks for a while, and places in use stay in use", () => {
    const shares = new FairCapacity(16);
    assert.equal(fill(shares, "A", true), 16);
    shares.narrow(5);
    assert.deepEqual([shares.taken, shares.left, shares.roomFor("B", false)], [16, -11, 0]);
    for (let i = 0; i < 12; i++) shares.free("A");
    assert.equal(shares.roomFor("A", true), 1);
    shares.widen();
    assert.deepEqual([shares.all, shares.roomFor("A", true)], [10, 6]);
    shares.widen();
    assert.equal(shares.all, 16);
  });

  it("a type without a place finds one while any is left, after any sequence of takes and frees", () => {
    const step = fc.tuple(fc.constantFrom("A", "B", "C", "D"), fc.boolean());
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 200 }), (all, steps) => {
        const shares = new FairCapacity(all);
        const held = new Map<string, number>();
        for (const [type, takes] of steps) {
          const count = held.get(type) ?? 0;
          if (takes && shares.roomFor(type, false) > 0) {
            shares.take(type);
            held.set(type, count + 1);
          } else if (!takes && count > 0) {
            shares.free(type);
            held.set(type, count - 1);
          }
          assert.ok(shares.left >= 0);
          assert.equal(shares.roomFor("new", false) > 0, shares.left > 0);
          // The places may be taken one by one.
          const room = shares.roomFor(type, false);
          assert.ok(room <= shares.left);
        }
      }),
    );
  });
});
