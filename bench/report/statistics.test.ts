import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { intervalOf, rounded, spreadOf } from "./statistics.ts";

test("nothing measured has no spread", () => {
  assert.equal(spreadOf([]), undefined);
});

test("the median of an odd number of rounds is the middle one, whatever their order", () => {
  assert.deepEqual(spreadOf([30, 10, 20]), { median: 20, min: 10, max: 30 });
});

test("the median of an even number of rounds lies between the middle two", () => {
  assert.deepEqual(spreadOf([4, 1, 3, 2]), { median: 2.5, min: 1, max: 4 });
});

test("numbers are compared as numbers, not as text", () => {
  assert.deepEqual(spreadOf([9, 10, 100]), { median: 10, min: 9, max: 100 });
});

test("half of the rounds are at most the median and half at least, and the samples stay as they were", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, min: 0, max: 1e9 }), { minLength: 1 }), (samples) => {
      const before = [...samples];
      const { median, min, max } = spreadOf(samples)!;
      assert.deepEqual(samples, before);
      assert.ok(samples.filter((value) => value <= median).length * 2 >= samples.length);
      assert.ok(samples.filter((value) => value >= median).length * 2 >= samples.length);
      assert.equal(min, Math.min(...samples));
      assert.equal(max, Math.max(...samples));
    }),
  );
});

test("values keep four digits", () => {
  assert.equal(rounded(1_234_567), 1_235_000);
  assert.equal(rounded(0.123456), 0.1235);
  assert.equal(rounded(0), 0);
});

test("the interval of the median follows the binomial ranks", () => {
  const samples = (count: number) => Array.from({ length: count }, (_, i) => i + 1).reverse();
  assert.deepEqual(intervalOf(samples(6)), [1, 6]);
  assert.deepEqual(intervalOf(samples(15)), [4, 12]);
  assert.deepEqual(intervalOf(samples(20)), [6, 15]);
  assert.deepEqual(intervalOf(samples(2)), [1, 2]);
});
