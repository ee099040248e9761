// Runs whose reminders are gone, for example after a row was deleted by hand: a wake restores exactly the
// missing reminders.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MemoryStore, type TestApp, testLimpet, VirtualClock } from "../testing.ts";
import { workflow } from "./definition/definition.ts";

const charge = (): string => "paid";
const sleepy = workflow("sleepy", async (ctx): Promise<string> => {
  await ctx.sleep("1h");
  return "awake";
});
const elsewhere = workflow("elsewhere", (ctx) => ctx.activity<string>("charge", undefined, { queue: "till" }));
const selective = workflow("selective", async (ctx): Promise<void> => {
  await Promise.race([ctx.sleep("1h"), ctx.activity(charge)]);
  await ctx.signal("never");
});

async function open(): Promise<{ app: TestApp; store: MemoryStore }> {
  const clock = new VirtualClock();
  const store = new MemoryStore(() => clock.now());
  const workflows = [sleepy, elsewhere, selective];
  const app = await testLimpet({ workflows, activities: { charge }, clock, stateStore: store });
  return { app: app as TestApp, store };
}

/** Deletes a reminder of a run; true: there was one. */
async function lose(store: MemoryStore, type: string, id: string, name: string): Promise<boolean> {
  const key = { namespace: "default", type, id, name };
  const isThere = (await store.reminders.get(key)) !== undefined;
  await store.reminders.write([{ kind: "cancel", key }]);
  return isThere;
}

const wake = (app: TestApp, workflowId: string): Promise<void> => app.host.workflows.wake({ workflowId });

describe("wakes of a run with missing reminders", () => {
  it("a wake restores a timer at its original time", async () => {
    const { app, store } = await open();
    await using _ = app;
    const handle = await app.workflows.start(sleepy, { id: "s", input: undefined });
    await app.advance("1s");
    assert.ok(await lose(store, "$$timer", handle.runId!, "1"));
    await app.advance("2h");
    assert.equal((await handle.describe()).status, "running", "nobody wakes it by itself");
    await wake(app, "s");
    await app.advance("1s");
    assert.equal((await handle.describe()).status, "completed");
    assert.equal(await handle.result(), "awake");
  });

  it("a wake restores a time limit and a queued activity", async () => {
    const { app, store } = await open();
    await using _ = app;
    const handle = await app.workflows.start(elsewhere, { id: "e", input: undefined, timeout: "1d" });
    await app.advance("1s");
    assert.ok(await lose(store, "$$activity/till/charge", handle.runId!, "1"));
    assert.ok(await lose(store, "$$timeout", handle.runId!, "0"));
    await wake(app, "e");
    const activity = { namespace: "default", type: "$$activity/till/charge", id: handle.runId!, name: "1" };
    assert.notEqual(await store.reminders.get(activity), undefined);
    await app.advance("2d");
    assert.equal((await handle.describe()).status, "timed out");
  });

  it("a wake restores no step that is over or cancelled, and keeps existing reminders", async () => {
    const { app, store } = await open();
    await using _ = app;
    const handle = await app.workflows.start(selective, { id: "p", input: undefined });
    await app.workflows.start(sleepy, { id: "s", input: undefined });
    await app.advance("1s");
    const before = await store.reminders.list({ namespace: "default", limit: 100 });
    await wake(app, "p");
    await wake(app, "s");
    const after = await store.reminders.list({ namespace: "default", limit: 100 });
    assert.deepEqual(after, before);
    assert.equal((await handle.describe()).status, "running");
  });
});
