// Runs whose attempts end with their process: the store counts them, and the run is parked before it ends
// more processes.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openApi } from "../http-workers/api/api-kit.test.ts";
import { go, NAMESPACE, StickySites } from "../placement/sticky/sticky-kit.test.ts";
import { workflow } from "./definition/definition.ts";
import { inboxMessage } from "./inbox/inbox-messages.ts";

let ran = 0;
const counted = workflow("counted", async (ctx): Promise<number> => {
  ran++;
  return ctx.signal(go);
});
const apps = { workflows: [counted] };

/** A run with a ready task that no process works on. */
async function leave(sites: StickySites): Promise<void> {
  const first = await sites.open(apps);
  await first.app.workflows.start(counted, { id: "k", input: undefined });
  await first.app.advance(10);
  await first.app.stop();
  const run = { namespace: NAMESPACE, workflowId: "k", runId: undefined, key: "look" };
  await sites.store.workflows.deliver([inboxMessage(run, { kind: "LookAgain" })]);
}

/** A process claims the task and dies at once. */
async function claimAndDie(sites: StickySites, number: number, leaseMs: number): Promise<void> {
  const { tasks } = await sites.store.workflows.claim({
    namespace: NAMESPACE,
    queue: "default",
    limit: 1,
    isSticky: true,
    staleMs: 1,
    types: [{ type: "counted", pins: [{ pinned: undefined, pins: undefined }] }],
    lease: { token: `token ${number}`, worker: `dead ${number}`, leaseMs },
  });
  assert.equal(tasks.length, 1);
  await sites.clock.advance(2_000);
}

/** A run that this many processes claimed and then died, one after the other. */
async function leftBehind(sites: StickySites, deaths: number) {
  await leave(sites);
  for (let i = 0; i < deaths; i++) await claimAndDie(sites, i, 1_000);
  ran = 0;
  const site = await sites.open(apps);
  await site.app.advance("10s");
  return { site, handle: site.app.workflows.get(counted, "k") };
}

describe("runs whose processes die", () => {
  it("a run continues while fewer attempts are lost than allowed", async () => {
    await using sites = new StickySites();
    const { handle } = await leftBehind(sites, 2);
    assert.deepEqual([ran > 0, (await handle.describe()).blocked], [true, undefined]);
  });

  it("a run at the limit is parked with the reason, its code does not run, and a wake hands it out again", async () => {
    await using sites = new StickySites();
    const { site, handle } = await leftBehind(sites, 3);
    await handle.signal(go, 5);
    await site.app.advance("2h");
    const { blocked } = await handle.describe();
    assert.match(
      String(blocked),
      /^parked: attempts lost: 3 attempts in a row .*worker\.maxLostAttempts is 3.* --wake/,
    );
    const { summary } = await site.app.host.workflows.look({ workflowId: "k" }, 0);
    assert.match(summary, /is parked: 3 attempts in a row ended with their process; it continues after a wake/);
    assert.equal(ran, 0);
    await site.app.host.workflows.wake({ workflowId: "k" });
    await site.app.advance("1s");
    assert.deepEqual([ran > 0, await handle.result()], [true, 5]);
  });

  it("a parked run rejects queries, also from a process without its code", async () => {
    await using sites = new StickySites();
    const { site, handle } = await leftBehind(sites, 3);
    const elsewhere = await sites.open();
    for (const asked of [handle, elsewhere.app.workflows.get("k")]) {
      const refusal = {
        code: "WORKFLOW_ATTEMPTS_LOST",
        message: /^workflow k does not answer queries while .* --wake/,
      };
      await assert.rejects(asked.query("any"), refusal);
    }
    assert.equal(ran, 0);
    await site.app.host.workflows.wake({ workflowId: "k" });
    await site.app.advance("1s");
    await assert.rejects(handle.query("any"), { code: "QUERY_UNKNOWN" });
  });

  it("a run with a lost attempt is not replayed for display", async () => {
    await using sites = new StickySites();
    await leave(sites);
    await claimAndDie(sites, 0, 1_000);
    await claimAndDie(sites, 1, 3_600_000);
    const { app } = await sites.open(apps);
    ran = 0;
    const { isCodeAsked } = await app.host.workflows.look({ workflowId: "k" }, 0);
    assert.deepEqual([(await sites.task("k")).lost, isCodeAsked, ran], [1, false, 0]);
  });

  it("a parked run can be cancelled and terminated without its code", async () => {
    for (const [end, status] of [
      ["cancel", "cancelled"],
      ["terminate", "terminated"],
    ] as const) {
      await using sites = new StickySites();
      const { site, handle } = await leftBehind(sites, 3);
      await handle[end]();
      await site.app.advance("1s");
      assert.deepEqual([(await handle.describe()).status, ran], [status, 0]);
    }
  });

  it("a run loses no attempt when its processes stop properly, any number of times", async () => {
    await using sites = new StickySites();
    const activities = { forever: () => new Promise<void>(() => {}) };
    const long = workflow("long", async (ctx) => ctx.activity("forever", undefined, { startToClose: "1d" }));
    for (let i = 0; i < 5; i++) {
      const { app } = await sites.open({ workflows: [long], activities });
      if (i === 0) await app.workflows.start(long, { id: "l", input: undefined });
      await app.advance("1s");
      const stopped = app.stop();
      await sites.clock.advance(60_000);
      await stopped;
    }
    const { lost, problem } = await sites.task("l");
    assert.deepEqual([lost, problem], [0, undefined]);
  });
});

describe("runs whose remote workers die", () => {
  it("a run of a remote worker is parked after the replacement has seen three deaths", async (t) => {
    const api = await openApi(t);
    await api.start("k");
    for (let i = 0; i < 3; i++) {
      await api.worker("w", { process_metrics: { process_id: i + 1, host: "h" } });
      await api.task("w");
    }
    await api.worker("w", { process_metrics: { process_id: 9, host: "h" } });
    const { body } = await api.poll("w", "workflow", { timeout_seconds: 0 });
    assert.equal(body.task, null);
    const described = await api.app.workflows.get("k").describe();
    assert.match(String(described.blocked), /^parked: attempts lost: 3 attempts in a row/);
    await api.app.host.workflows.wake({ workflowId: "k" });
    await api.task("w");
  });
});
