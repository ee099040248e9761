import assert from "node:assert/strict";
import { test } from "node:test";
import type { BenchCase } from "../case.ts";
import { figuresOf, verdictOf } from "./pairs.ts";

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

test("an interval on both sides of the bound is unresolved", () => {
  assert.equal(verdictOf([0.97, 1.2], 0.03), "not worse");
  assert.equal(verdictOf([0.9, 0.96], 0.03), "worse");
  assert.equal(verdictOf([0.9, 1.1], 0.03), "unresolved");
});
