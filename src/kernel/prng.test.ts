import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Prng } from "./prng.ts";

const draws = (prng: Prng, count: number): number[] => Array.from({ length: count }, () => prng.number());
const words = (prng: Prng, count: number): number[] => draws(prng, count).map((number) => number * 2 ** 32);

/** The deviation of counts from even ones: about the number of counts for a fair generator. */
function unevenness(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

describe("stability of seeds", () => {
  // A seed that found a bug years ago must find it again. A change of these numbers makes every recorded seed
  // worthless.
  test("the numbers of a numeric seed never change", () => {
    const prng = new Prng(1);
    assert.deepEqual(words(prng, 4), [429497344, 247258197, 1810306738, 2003238587]);
    assert.equal(prng.below(1_000), 739);
    assert.equal(prng.id(), "xQhhyw_lIMVzpJ9dgE0CwS");
    assert.equal(prng.exponential(1).toFixed(12), "0.210154435152");
    assert.equal(prng.between(5, 6).toFixed(12), "5.738045385340");
    assert.deepEqual(prng.shuffle([1, 2, 3, 4, 5, 6]), [3, 1, 4, 6, 5, 2]);
    assert.equal(prng.chance(0.5), false);
    assert.equal(prng.pick(["a", "b", "c"]), "a");
  });

  test("the numbers of a text seed and of its children never change", () => {
    assert.deepEqual(words(new Prng("a seed"), 4), [2946725026, 2741696646, 538904770, 3522447076]);
    assert.deepEqual(words(new Prng(1).child("network"), 4), [4270071219, 1737064685, 2870241932, 677262621]);
    assert.deepEqual(words(new Prng(0).child("a").child("ü"), 4), [1751457912, 1230534333, 3176212350, 1598322883]);
  });
});

describe("child generators", () => {
  test("child generators do not depend on earlier draws, nor on each other", () => {
    const [used, unused] = [new Prng(7), new Prng(7)];
    draws(used, 100);
    draws(used.child("a"), 100);
    assert.deepEqual(draws(used.child("b"), 10), draws(unused.child("b"), 10));
    // Creating them draws nothing from the parent.
    assert.deepEqual(draws(used, 10), draws(unused, 110).slice(100));
  });

  test("child generators differ by name and by seed, however similar those are", () => {
    const seen = new Map<string, string>();
    for (let seed = 0; seed < 200; seed++) {
      for (let child = 0; child < 50; child++) {
        const name = `${seed} ${child}`;
        const first = words(new Prng(seed).child(`host-${child}`), 2).join(" ");
        assert.equal(seen.get(first), undefined, `${name} begins as ${seen.get(first)} does`);
        seen.set(first, name);
      }
    }
  });

  test("child generators agree with their neighbours as often as chance predicts", () => {
    let alike = 0;
    for (let seed = 0; seed < 2_000; seed++) {
      const [a, b] = [new Prng(seed).child("a"), new Prng(seed).child("b")];
      for (let i = 0; i < 8; i++) if (a.below(16) === b.below(16)) alike++;
    }
    // One in sixteen of 16,000.
    assert.ok(Math.abs(alike - 1_000) < 150, `${alike} were alike`);
  });
});

describe("random draws", () => {
  test("draws are even from the first one on", () => {
    const along = Array<number>(64).fill(0);
    const prng = new Prng("even");
    for (let i = 0; i < 64_000; i++) along[prng.below(64)]!++;
    const first = Array<number>(64).fill(0);
    for (let seed = 0; seed < 64_000; seed++) first[new Prng(seed).below(64)]!++;
    for (const counts of [along, first]) {
      const found = unevenness(counts);
      assert.ok(found > 20 && found < 120, `unevenness ${found} of 64 counts`);
    }
  });

  test("random draws stay within their bounds", () => {
    const whole = fc.integer({ min: 1, max: 1_000_000 });
    fc.assert(
      fc.property(fc.integer(), whole, fc.double({ min: -1e6, max: 1e6, noNaN: true }), (seed, end, from) => {
        const prng = new Prng(seed);
        for (let i = 0; i < 20; i++) {
          const number = prng.number();
          assert.ok(number >= 0 && number < 1);
          const below = prng.below(end);
          assert.ok(Number.isInteger(below) && below >= 0 && below < end);
          const between = prng.between(from, from + end);
          assert.ok(between >= from && between <= from + end);
          assert.ok(prng.exponential(end) >= 0);
          assert.match(prng.id(), /^[\w-]{22}$/);
        }
        assert.equal(prng.chance(0), false);
        assert.equal(prng.chance(1), true);
      }),
    );
  });

  test("draws of a mean have that mean", () => {
    const prng = new Prng("mean");
    let sum = 0;
    for (let i = 0; i < 100_000; i++) sum += prng.exponential(3);
    assert.ok(Math.abs(sum / 100_000 - 3) < 0.05, `the mean is ${sum / 100_000}`);
  });

  test("a shuffle gives every order equally often, and leaves its input unchanged", () => {
    const given = [1, 2, 3, 4];
    const counts = new Map<string, number>();
    const prng = new Prng("orders");
    for (let i = 0; i < 24_000; i++) {
      const order = prng.shuffle(given).join("");
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    assert.deepEqual(given, [1, 2, 3, 4]);
    assert.equal(counts.size, 24);
    assert.ok(unevenness([...counts.values()]) < 60);
  });
});
