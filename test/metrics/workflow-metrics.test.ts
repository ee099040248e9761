// Metrics of workflows without a test elsewhere: each counts the events of its description, on virtual time.
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
const hang = (): Promise<void> => new Promise(() => {});
const trying = workflow("trying", (ctx) => ctx.activity("attempt", undefined, { retry: { attempts: 5 } }));
const waiting = workflow("waiting", (ctx) => ctx.activity("hang"));
const napping = workflow("napping", (ctx) => ctx.sleep("1m"));

const open = (settings = {}): Promise<TestWorld> =>
  openWorld({
    actors: [],
    workflows: [trying, napping, waiting],
    activities: { attempt, hang },
    hosts: 1,
    ...settings,
  });
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

  it("limpet_workflow_tasks_total counts tasks by mode, and the cache counts hits and misses", async () => {
    await using world = await open();
    await world.hosts[0].workflows.start(napping, { id: "warm" });
    await world.advance("2m");
    assert.equal(read(world, "workflow_tasks_total", { mode: "sticky_hit_expected" }), 1);
    assert.equal(read(world, "workflow_cache_hits"), 1);
    assert.equal(read(world, "workflow_cache_misses"), 0);
  });

  it("limpet_workflow_replay_seconds observes each replay of a history, and a restarted worker replays cold", async () => {
    await using world = await open();
    await world.hosts[0].workflows.start(napping, { id: "cold" });
    await world.advance("1s");
    await world.restart(0);
    await world.advance("2m");
    assert.equal(read(world, "workflow_replay_seconds_count"), 1);
    assert.equal(read(world, "workflow_tasks_total", { mode: "sticky_hit_expected" }), 0);
  });

  it("limpet_workflow_cache_misses counts tasks whose run was expected in memory and was not", async () => {
    await using world = await open({ worker: { cacheRuns: 1 } });
    for (const id of ["first", "second"]) await world.hosts[0].workflows.start(napping, { id });
    await world.advance("2m");
    assert.equal(read(world, "workflow_cache_misses"), 1);
  });

  it("limpet_workflows_working counts runs with an activity in progress", async () => {
    await using world = await open();
    await world.hosts[0].workflows.start(waiting, { id: "busy" });
    await world.advance("1s");
    assert.equal(read(world, "workflows_working"), 1);
  });

  it("limpet_workflow_tasks_blocked_total counts tasks whose code could not go on", async () => {
    await using world = await open();
    await world.hosts[0].workflows.start(napping, { id: "changed" });
    await world.advance("1s");
    const changed = workflow("napping", (ctx) => ctx.activity("attempt"));
    await world.restart(0, { workflows: [changed] });
    await world.advance("2m");
    assert.ok(read(world, "workflow_tasks_blocked_total")! >= 1);
  });
});
