import assert from "node:assert/strict";
import { test } from "node:test";
import { measured } from "../smoke.ts";
import { ALL_STEPS, IN_FLIGHT, rateAt, replayOf } from "./figures.ts";
import { replay } from "./ours-replay.ts";
import { longRun, tenSteps } from "./ours-steps.ts";

test("workflows of ten steps run, one at a time and many at once", async () => {
  const figures = (await measured(tenSteps, {})) as Record<string, number>;
  for (const count of IN_FLIGHT) assert.ok(figures[rateAt(count)]! > 0, rateAt(count));
});

test("one workflow takes many steps", async () => {
  const figures = (await measured(longRun, { quickSteps: 150 })) as Record<string, number>;
  assert.ok(figures[ALL_STEPS]! > 0);
});

test("a workflow that is not in memory wakes up", async () => {
  const figures = (await measured(replay, { quickLengths: "20", quickWakes: 2 })) as Record<string, number>;
  assert.ok(Number.isFinite(figures[replayOf(20)]));
});
