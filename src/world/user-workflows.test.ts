// Workflows in a test's world: several hosts, a virtual network and database, and faults.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../kernel/errors.ts";
import { everySeed, openWorld } from "../testing.ts";
import { signal, workflow } from "../workflows/definition/definition.ts";

const go = signal<number>("go");
const double = async (n: number): Promise<number> => n * 2;
const adds = workflow("adds", async (ctx, from: number) => {
  const doubled = await ctx.activity(double, from);
  await ctx.sleep("10s");
  return doubled + (await ctx.signal(go));
});
const definitions = { workflows: [adds], activities: { double } };

describe("workflows in a world", () => {
  it("workflows can be started at one host and queried at another, while time passes", async () => {
    await using world = await openWorld({ ...definitions, hosts: 2 });
    const [one, other] = world.hosts;
    const handle = await one.workflows.start(adds, { id: "a", input: 4 });
    await other!.workflows.get(adds, "a").signal(go, 2);
    assert.equal(await handle.result(), 10);
    assert.equal(await other!.workflows.count({ status: "completed" }), 1);
  });

  it("workflows continue elsewhere when their host crashes", async () => {
    await using world = await openWorld({ ...definitions, hosts: 3 });
    await world.hosts[0].workflows.start(adds, { id: "a", input: 4 });
    await world.advance("1s");
    world.crash(0);
    const handle = world.hosts[1]!.workflows.get(adds, "a");
    await handle.signal(go, 2);
    assert.equal(await handle.result(), 10);
  });

  it("a client of a crashing host gets an ambiguous outcome", async () => {
    await using world = await openWorld({ ...definitions, hosts: 2 });
    const handle = await world.hosts[0].workflows.start(adds, { id: "a", input: 4 });
    const lost = assert.rejects(handle.result(), (error) => isLimpetError(error, "ANSWER_LOST"));
    await world.advance("1s");
    world.crash(0);
    await lost;
  });

  it("workflows repeat under the same seed", async () => {
    const traces: unknown[] = [];
    for (const seed of [7, 7, 8]) {
      await using world = await openWorld({ ...definitions, hosts: 3, seed });
      const start = (id: string): Promise<unknown> => world.someHost().workflows.start(adds, { id, input: 1 });
      await Promise.all(["a", "b", "c"].map(start));
      await world.chaos("20s");
      traces.push(world.trace);
    }
    assert.equal(traces[0], traces[1]);
    assert.notEqual(traces[0], traces[2]);
  });

  it("workflows complete under every seed and all faults of their hosts", async () => {
    await everySeed(
      5,
      async (world) => {
        const ids = ["a", "b", "c"];
        for (const [i, id] of ids.entries()) await world.hosts[0].workflows.start(adds, { id, input: i });
        await world.chaos("30s", { faults: ["crash", "pause", "partition", "database-failing", "clock-jump"] });
        const [host] = world.hosts;
        for (const id of ids) await host.workflows.get(id).signal(go, 1);
        const results: number[] = [];
        for (const id of ids) results.push(await host.workflows.get(adds, id).result());
        assert.deepEqual(results, [1, 3, 5]);
      },
      { ...definitions, hosts: 3 },
    );
  });
});
