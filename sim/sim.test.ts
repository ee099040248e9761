import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { describe, it } from "node:test";
import { effort, isSoak } from "../test/support/effort.ts";
import { Crew } from "./command/many-seeds/crew.ts";
import { Figures } from "./command/many-seeds/figures.ts";

const SEEDS = effort(40, 300);
/** One of this many seeds runs twice, and both runs are compared. */
const TWICE = 5;
/** Generous, for loaded machines. */
const MOST_MS = 600_000;
/** `npm run sim -- --seed N` prints all of them. */
const MOST_SHOWN = 10;

describe("the simulated cluster", () => {
  it(`a cluster keeps its promises in ${SEEDS} seeds, and a repeated seed gives the same run`, {
    timeout: MOST_MS,
  }, async () => {
    const crew = new Crew({ jobs: Math.min(4, availableParallelism()) });
    try {
      const figures = new Figures();
      const reports = await Promise.all(
        Array.from({ length: SEEDS }, (_, i) => crew.perform({ seed: i + 1, once: i % TWICE > 0 })),
      );
      for (const report of reports) figures.add(report);
      const broken = reports.flatMap(({ seed, violations }) =>
        violations.slice(0, 1).map(({ checker, what }) => `seed ${seed}: ${checker}: ${what}`),
      );
      assert.equal(broken.length, 0, [`${broken.length} seeds fail`, ...broken.slice(0, MOST_SHOWN)].join("\n"));
      assert.equal(figures.runs, SEEDS + SEEDS / TWICE);
      if (isSoak) assert.deepEqual(figures.missedFaults, [], "kinds of trouble that never came");
    } finally {
      crew.close();
    }
  });
});
