// The limit of histories with real stores: a run that reaches it is parked with the reason, can be ended, and
// continues under a higher limit.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Actor, type App, isLimpetError, limpet, workflow } from "../../src/index.ts";
import { STORES } from "../support/two-stores.ts";

const listens = workflow("listens", async (ctx): Promise<number> => {
  let heard = 0;
  while ((await ctx.signal("go")) !== "end") heard++;
  return heard;
});
const suggested = workflow("suggested", async (ctx, rounds: number): Promise<number> => {
  while (!ctx.info.continueAsNewSuggested) await ctx.signal("go");
  return rounds < 2 ? ctx.continueAsNew(rounds + 1) : rounds;
});
const canceller = workflow("canceller", async (ctx, id: string): Promise<void> => ctx.workflow(id).cancel());

class Clerk extends Actor<Record<string, never>> {
  cancel(id: string): void {
    this.workflows.cancel(id, "too long");
  }
}

const MOST = 40;
const ENDS = {
  terminated: (app: App, id: string) => app.workflows.get(id).terminate("too long"),
  "cancelled by a client": (app: App, id: string) => app.workflows.get(id).cancel("too long"),
  "cancelled by a workflow": (app: App, id: string) => app.workflows.start(canceller, { input: id }),
  "cancelled by an actor": (app: App, id: string) => app.actor(Clerk, "c").cancel(id),
};

for (const { name, open } of STORES) {
  describe(`histories at their limit, with ${name}`, { timeout: 600_000 }, () => {
    test("a run at the limit is parked with the reason, can be ended, and continues under a higher limit", async () => {
      await using place = await open();
      const start = (historyEvents: number): Promise<App> =>
        limpet({
          store: place.store,
          cluster: false,
          logLevel: "error",
          actors: [Clerk],
          workflows: [listens, suggested, canceller],
          worker: { historyEvents },
        });
      const ids = ["raised", ...Object.keys(ENDS)];
      const app = await start(MOST);
      for (const id of ids) {
        const handle = await app.workflows.start(listens, { id, input: undefined });
        for (let i = 0; i < MOST + 10; i++) await handle.signal("go", i);
      }
      for (const id of ids) await isParked(app, id);
      for (const [id, end] of Object.entries(ENDS)) {
        await end(app, id);
        const code = id === "terminated" ? "WORKFLOW_TERMINATED" : "WORKFLOW_CANCELLED";
        // Long before the next retry.
        await assert.rejects(app.workflows.get(id).result({ timeout: "60s" }), (error) => isLimpetError(error, code));
      }
      const view = await app.host.workflows.look({ workflowId: "raised" }, 1);
      assert.deepEqual([view.budget?.isParked, view.budget?.most.events], [true, MOST]);
      await app.stop();
      await using next = await start(MOST * 10);
      const raised = next.workflows.get("raised");
      await raised.signal("go", "end");
      await next.host.workflows.wake({ workflowId: "raised" });
      assert.equal(await raised.result({ timeout: "60s" }), MOST + 10);
    });

    test("a run gets the suggestion to continue as new in time, and code that follows it is never parked", async () => {
      await using place = await open();
      await using app = await limpet({
        store: place.store,
        cluster: false,
        logLevel: "error",
        workflows: [suggested],
        worker: { historyMegabytes: 5 },
      });
      const handle = await app.workflows.start(suggested, { input: 1 });
      const text = "x".repeat(500_000);
      const over = handle.result({ timeout: "120s" });
      let isOver = false;
      over.finally(() => {
        isOver = true;
      });
      while (!isOver) await handle.signal("go", text).catch(() => {});
      assert.equal(await over, 2);
      const { runs } = await app.workflows.list({ type: "suggested" });
      assert.equal(runs.length, 2);
      for (const { historyBytes } of runs) assert.ok(historyBytes > 4 * 1024 * 1024, `${historyBytes} bytes`);
    });
  });
}

async function isParked(app: App, id: string): Promise<void> {
  for (;;) {
    const { blocked } = await app.workflows.get(id).describe();
    if (blocked !== undefined)
      return assert.match(blocked, /^parked: its history has \d+ events and \d+ bytes, and no room/);
    await pause(20);
  }
}
