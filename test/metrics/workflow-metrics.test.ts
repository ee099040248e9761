// Every metric of workflows that no other test looks at counts what its description says, on virtual time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { workflow } from "../../src/index.ts";
import { openWorld, type TestWorld } from "../../src/testing.ts";
import { metricValue } from "./metric-values.ts";

let failures = 0;

const attempt = (): string => {
  if (failures-- > 0) throw new TypeError("not yet");
  return "done";
};
const trying = workflow("trying", (ctx) => ctx.activity("attempt", undefined, { retry: { attempts: 5 } }));
const napping = workflow("napping", (ctx) => ctx.sleep("1m"));

const open = (settings = {}): Promise<TestWorld> =>
  openWorld({ actors: [], workflows: [trying, napping], activities: { attempt }, hosts: 1, ...settings });
const read = (world: TestWorld, name: string, labels = {}): number | undefined =>
  metricValue(world.hosts[0].app.metrics(), `limpet_${name}`, labels);

describe("the metrics of workflows", () => {
  it("limpet_activity_attempts_total counts attempts by outcome", async () => {
    await using world = await open();
    failures = 2;
    const handle = await world.hosts[0].workflows.start(trying, { id: "a" });
    assert.equal(await handle.result(), "done");
    assert.equal(read(world, "activity_attempts_total", { outcome: "failed" }), 2);
    assert.equal(read(world, "activity_attempts_total", { outcome: "completed" }), 1);
  });

  it("limpet_workflow_steps_total counts the steps that were written", async () => {
    await using world = await open();
    const before = read(world, "workflow_steps_total")!;
    await world.hosts[0].workflows.start(napping, { id: "a" });
    await world.advance("2m");
    assert.ok(read(world, "workflow_steps_total")! > before);
  });

  it("limpet_workflow_cache_runs and limpet_workflow_cache_bytes measure the runs that rest in memory", async () => {
    await using world = await open();
    for (const id of ["a", "b"]) await world.hosts[0].workflows.start(napping, { id });
    await world.advance("1s");
    assert.equal(read(world, "workflow_cache_runs"), 2);
    assert.ok(read(world, "workflow_cache_bytes")! > 0);
    await world.advance("2m");
    assert.equal(read(world, "workflow_cache_runs"), 0);
    assert.equal(read(world, "workflow_cache_bytes"), 0);
  });

  it("limpet_workflow_cache_evictions counts runs that had to leave memory", async () => {
    await using world = await open({ worker: { cacheRuns: 2 } });
    for (let i = 0; i < 5; i++) await world.hosts[0].workflows.start(napping, { id: `nap-${i}` });
    await world.advance("1s");
    assert.equal(read(world, "workflow_cache_runs"), 2);
    assert.equal(read(world, "workflow_cache_evictions"), 3);
  });
});
