import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WORDS } from "./ring-points.ts";
import { cut, firstAt, shiftFor, spliceSegments, suits } from "./ring-segments.ts";

const NONE = new Uint32Array(0);

/** Points of host 0 at these upper halves. */
const at = (...halves: number[]): Uint32Array => Uint32Array.from(halves.flatMap((half) => [half, 0, 0]));
/** This many points, evenly spread. */
const evenly = (count: number): Uint32Array =>
  at(...Array.from({ length: count }, (_, index) => Math.floor((index * 2 ** 32) / count)));

describe("segments of a ring", () => {
  it("the points of a ring are cut by the upper bits of the hash, so that each segment holds a handful", () => {
    for (const count of [0, 1, 64, 1_000, 100_000]) {
      const points = evenly(count);
      const segments = cut(points);
      assert.deepEqual(Uint32Array.from(segments.flatMap((segment) => [...segment])), points);
      for (const [number, segment] of segments.entries()) {
        assert.ok(segment.length <= 130 * WORDS);
        for (let word = 0; word < segment.length; word += WORDS) {
          assert.equal(segment[word]! >>> shiftFor(segments), number);
        }
      }
    }
  });

  it("segments that a change does not touch are shared", () => {
    const before = cut(evenly(1_000));
    const joining = at(5, 6, 2 ** 32 - 1);
    const after = spliceSegments(before, NONE, joining, ["a:1"]);
    assert.notEqual(after[0], before[0]);
    assert.notEqual(after.at(-1), before.at(-1));
    for (let number = 1; number < before.length - 1; number++) assert.equal(after[number], before[number]);
    assert.deepEqual(spliceSegments(after, joining, NONE, ["a:1"]), before);
  });

  it("segments stay for a while as points come and go, and are then cut anew", () => {
    const segments = cut(evenly(10_000));
    assert.ok(suits(segments, 10_000));
    assert.ok(suits(segments, 20_000));
    assert.ok(suits(segments, 5_000));
    assert.ok(!suits(segments, 100_000));
    assert.ok(!suits(segments, 1_000));
  });

  it("the first point from a hash on is found, even where hashes are crowded", () => {
    const crowded = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2 ** 31 - 1];
    const points = at(...crowded);
    for (const wanted of [...crowded, 10, 1_000_000, 2 ** 30]) {
      assert.equal(firstAt(points, wanted, 0, 31), crowded.findIndex((half) => half >= wanted) * WORDS);
    }
    assert.equal(firstAt(points, 2 ** 31 - 1, 1, 31), points.length);
    assert.equal(firstAt(NONE, 5, 5, 31), 0);
  });
});
