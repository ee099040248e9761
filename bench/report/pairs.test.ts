import assert from "node:assert/strict";
import { test } from "node:test";
import type { BenchCase } from "../case.ts";
import { cpuRateOf, figuresOf, verdictOf } from "./pairs.ts";

const ours = { module: "x.ts", make: "x" };

test("a figure of which less is better is inverted", () => {
  const benchCase: BenchCase = {
    name: "x",
    ours,
    figures: { rate: { unit: "calls/s", better: "higher" }, wait: { unit: "ms", better: "lower" } },
  };
  assert.deepEqual(
    [...figuresOf(benchCase, { rate: 10, wait: 4 })],
    [
      ["rate", 10],
      ["wait", 0.25],
    ],
  );
});

test("a single figure has no name", () => {
  assert.deepEqual([...figuresOf({ name: "x", ours, unit: "ms", better: "lower" }, 2)], [["", 0.5]]);
});

test("a rate and the time it was measured for give the operations per CPU second", () => {
  const benchCase: BenchCase = { name: "x", ours, unit: "calls/s", better: "higher" };
  assert.equal(cpuRateOf(benchCase, 100, { seconds: 2, cpuSeconds: 0.5 }), 400);
});

test("operations per CPU second use the mean of several rates, and no other figures", () => {
  const rate = { unit: "calls/s", better: "higher" } as const;
  const figures = { one: rate, many: rate, wait: { unit: "ms", better: "lower" } } as const;
  assert.equal(
    cpuRateOf({ name: "x", ours, figures }, { one: 10, many: 30, wait: 7 }, { seconds: 3, cpuSeconds: 2 }),
    30,
  );
});

test("a load of fixed size needs no rate: half the CPU time is twice as good", () => {
  const benchCase: BenchCase = { name: "x", ours, unit: "items/s", better: "higher", fixedLoad: true };
  const rates = [4, 2].map((cpuSeconds) => cpuRateOf(benchCase, 100, { seconds: 9, cpuSeconds })!);
  assert.equal(rates[1]! / rates[0]!, 2);
});

test("a case without rates has no operations per CPU second", () => {
  const benchCase: BenchCase = { name: "x", ours, unit: "ms", better: "lower" };
  assert.equal(cpuRateOf(benchCase, 5, { seconds: 1, cpuSeconds: 1 }), undefined);
});

test("an interval on both sides of the bound is unresolved", () => {
  assert.equal(verdictOf([0.97, 1.2], 0.03), "not worse");
  assert.equal(verdictOf([0.9, 0.96], 0.03), "worse");
  assert.equal(verdictOf([0.9, 1.1], 0.03), "unresolved");
});
