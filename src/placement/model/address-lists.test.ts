import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { differences, indexOfAddress, inOrder, sameList } from "./address-lists.ts";

const lists = fc.array(fc.stringMatching(/^[ab]:[0-3]{1,2}$/), { maxLength: 20 });

describe("lists of addresses", () => {
  it("addresses are ordered by code unit, each once, in a list that is never the caller's own", () => {
    assert.deepEqual(inOrder(["b:1", "a:9", "a:10", "b:1", "B:1"]), ["B:1", "a:10", "a:9", "b:1"]);
    const ordered = ["a:1", "a:2"];
    assert.deepEqual(inOrder(ordered), ordered);
    assert.notEqual(inOrder(ordered), ordered);
  });

  it("the place of an address is its index, or the index at which it would be inserted", () => {
    const list = ["a:1", "a:3", "b:1"];
    assert.deepEqual(
      ["a:0", "a:1", "a:2", "b:1", "c:1"].map((address) => indexOfAddress(address, list)),
      [0, 0, 1, 2, 3],
    );
  });

  it("two lists are the same when every address is", () => {
    assert.ok(sameList([], []));
    assert.ok(sameList(["a:1", "b:1"], ["a:1", "b:1"]));
    assert.ok(!sameList(["a:1"], ["a:1", "b:1"]));
    assert.ok(!sameList(["a:1", "b:1"], ["a:1", "b:2"]));
  });

  it("two lists differ in the addresses that joined and left", () => {
    fc.assert(
      fc.property(lists.map(inOrder), lists.map(inOrder), (old, now) => {
        const { joining, leaving } = differences(old, now);
        assert.deepEqual(
          joining.map((at) => now[at]),
          now.filter((address) => !old.includes(address)),
        );
        assert.deepEqual(
          leaving.map((at) => old[at]),
          old.filter((address) => !now.includes(address)),
        );
      }),
    );
  });
});
