import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Paint } from "../../../src/cli/common/terminal.ts";
import { COVERAGE } from "../../coverage/coverage.ts";
import type { Report } from "../job.ts";
import { Figures } from "./figures.ts";
import { jsonOf, summaryOf } from "./summary.ts";

const plain: Paint = (_tint, text) => text;

function figuresOf(seeds: number, marks: readonly string[]): Figures {
  const figures = new Figures();
  const report: Report = {
    seed: 1,
    violations: [],
    trace: "",
    runs: 1,
    steps: 10,
    simulatedMs: 1_000,
    operations: 1,
    faults: {},
    reached: marks,
    story: [],
  };
  for (let i = 0; i < seeds; i++) figures.add(report);
  return figures;
}

const isTooTame = (figures: Figures): boolean => jsonOf(figures, 1, [], {}, { commit: "", node: "" }).coverage.tooTame;

describe("the summary of many seeds", () => {
  it("a long run with incomplete coverage is called too tame", () => {
    const [first, ...others] = Object.keys(COVERAGE);
    const figures = figuresOf(5_000, others);
    const text = summaryOf(figures, [], false, plain);
    assert.match(text, new RegExp(`missed: ${first}\n`));
    assert.match(text, /^too tame: 5000 seeds are enough to reach every situation$/m);
    assert.ok(isTooTame(figures));
  });

  it("a short run, and a run with full coverage, is not called too tame", () => {
    for (const figures of [figuresOf(4_999, []), figuresOf(5_000, Object.keys(COVERAGE))]) {
      assert.doesNotMatch(summaryOf(figures, [], false, plain), /too tame/);
      assert.ok(!isTooTame(figures));
    }
  });

  it("seeds that ran out of real time are listed apart from failed ones", () => {
    const figures = figuresOf(2, []);
    const nothing = { violations: [], trace: "", runs: 0, steps: 0, simulatedMs: 0, operations: 0, faults: {} };
    figures.add({ seed: 77, ...nothing, reached: [], story: [], overran: "it did not come to an end" });
    const text = summaryOf(figures, [], false, plain);
    assert.match(text, /^not finished in real time, nothing found: 77$/m);
    assert.match(text, /^every rule held in the runs that ended$/m);
    const { failed, overran } = jsonOf(figures, 1, [], {}, { commit: "", node: "" });
    assert.deepEqual([failed, overran], [0, [77]]);
  });

  it("one seed is counted in the singular", () => {
    assert.match(summaryOf(figuresOf(1, []), [], false, plain), /^1 seed in /m);
  });
});
