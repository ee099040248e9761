// The smallest form of what the benchmark does, so that it cannot rot unnoticed.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Make, Settings } from "../case.ts";
import { ALL_STEPS, IN_FLIGHT, rateAt, replayOf } from "./figures.ts";
import { replay } from "./ours-replay.ts";
import { longRun, tenSteps } from "./ours-steps.ts";

async function measured(make: Make, params: Settings["params"]): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), "limpet-bench-smoke-"));
  const running = await make({ durationMs: 5, warmupMs: 5, folder, postgres: "", quick: true, params });
  try {
    return (await running.run()) as Record<string, number>;
  } finally {
    await running.close();
    await rm(folder, { recursive: true, force: true });
  }
}

test("workflows of ten steps run, one at a time and many at once", async () => {
  const figures = await measured(tenSteps, {});
  for (const count of IN_FLIGHT) assert.ok(figures[rateAt(count)]! > 0, rateAt(count));
});

test("one workflow takes many steps", async () => {
  assert.ok((await measured(longRun, { quickSteps: 150 }))[ALL_STEPS]! > 0);
});

test("a workflow that is not in memory is woken", async () => {
  const figures = await measured(replay, { quickLengths: "20", quickWakes: 2 });
  assert.ok(Number.isFinite(figures[replayOf(20)]));
});
