// Recorded histories, replayed with the same code, with a compatible change and with an incompatible one.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { replayHistory, testLimpet } from "../testing.ts";
import { workflow } from "../workflows/definition/definition.ts";

const double = async (n: number): Promise<number> => n * 2;

const grow = workflow("grow", async (ctx, n: number) => {
  const doubled = await ctx.activity(double, n);
  await ctx.sleep("1d");
  return doubled + (await ctx.activity(double, doubled));
});

async function recorded(days: number) {
  await using app = await testLimpet({ workflows: [grow], activities: { double } });
  const handle = await app.workflows.start(grow, { id: "g", input: 3 });
  await app.advance(`${days}d`);
  return handle.history();
}

const fails = (code: string, about: RegExp) => (error: unknown) =>
  isLimpetError(error, code as "WORKFLOW_DIVERGED") && about.test(error.message);

describe("a recorded history", () => {
  it("the history of an ended run is replayed to its end, and no activity runs", async () => {
    const history = await recorded(2);
    let runs = 0;
    const counted = async (n: number): Promise<number> => {
      runs++;
      return n * 2;
    };
    const same = workflow("grow", async (ctx, n: number) => {
      const doubled = await ctx.activity(counted, n);
      await ctx.sleep("1d");
      return doubled + (await ctx.activity(counted, doubled));
    });
    const run = await replayHistory(same, history, { activities: { double: counted } });
    assert.deepEqual([run.workflowId, run.isOver, run.events], ["g", true, history.length]);
    assert.equal(runs, 0);
  });

  it("the history of an open run is replayed to the point where it waits", async () => {
    const run = await replayHistory(grow, { events: await recorded(0) });
    assert.equal(run.isOver, false);
    assert.deepEqual(run.decides, []);
    assert.equal(run.waitsFor.length, 1);
  });

  it("a history is read from text, as the command line prints it", async () => {
    const text = JSON.stringify({ events: await recorded(2) }, undefined, 2);
    assert.equal((await replayHistory(grow, text)).isOver, true);
  });

  it("a history is read in the form of the HTTP API", async () => {
    await using app = await testLimpet({ workflows: [grow], activities: { double }, http: { port: 0 } });
    await app.workflows.start(grow, { id: "g", input: 3 });
    await app.advance("2d");
    const text = await (await fetch(`${app.url}/v1.0/inspect/workflow/g/events`)).text();
    assert.equal((await replayHistory(grow, text)).isOver, true);
  });

  it("a history fits code that changed behind its last event", async () => {
    const longer = workflow("grow", async (ctx, n: number) => {
      const doubled = await ctx.activity(double, n);
      await ctx.sleep("1d");
      await ctx.activity("announce", doubled);
    });
    assert.equal((await replayHistory(longer, await recorded(0))).isOver, false);
    await assert.rejects(replayHistory(longer, await recorded(2)), fails("WORKFLOW_DIVERGED", /double.*announce/s));
  });

  it("a history fits code with a version", async () => {
    const versioned = workflow("grow", async (ctx, n: number) => {
      if (ctx.version("announced", 0, 1) === 1) await ctx.activity("announce", n);
      const doubled = await ctx.activity(double, n);
      await ctx.sleep("1d");
      return doubled + (await ctx.activity(double, doubled));
    });
    assert.equal((await replayHistory(versioned, await recorded(2))).isOver, true);
  });

  it("a history of another workflow, with gaps, or in another format is rejected", async () => {
    const history = await recorded(2);
    const other = workflow("shrink", async () => {});
    await assert.rejects(replayHistory(other, history), fails("WORKFLOW_TYPE_UNKNOWN", /grow, not shrink/));
    await assert.rejects(replayHistory(grow, history.toSpliced(2, 1)), fails("ARGUMENT_INVALID", /event 3 is missing/));
    await assert.rejects(replayHistory(grow, "{"), fails("ARGUMENT_INVALID", /no JSON/));
    for (const wrong of ["{}", "null", "[1]", "[]", '[{"number":1,"at":1,"event":{"kind":"TimerFired"}}]'])
      await assert.rejects(replayHistory(grow, wrong), fails("ARGUMENT_INVALID", /cannot be replayed/));
  });
});
