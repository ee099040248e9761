// A worker elsewhere may talk to any host: whatever counts is in the store. And the same over a real database.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { startPostgres } from "../../../../test/support/postgres.ts";
import { resolveSettings } from "../../../config/settings.ts";
import { openApp } from "../../../nodes/app.ts";
import { silentLog } from "../../../ports/log.ts";
import { MemoryStore } from "../../../stores/memory/memory-store.ts";
import { Api, envelope, eventually, type Json, openApi, type Scripted, ScriptedWorker } from "./api-kit.test.ts";

async function openHost(t: TestContext, store: MemoryStore): Promise<Api> {
  const settings = resolveSettings({ code: { store: "memory:", http: { port: 0 } }, file: false, env: {} });
  const app = await openApp({}, settings, { log: silentLog, store });
  t.after(() => app.stop());
  return new Api(app);
}

const ACTIVITY = { type: "schedule_activity", activity_type: "charge", arguments: envelope([1]) };

it("a task that one host has handed out is completed at another, and its activity at a third", async (t) => {
  const store = new MemoryStore();
  const [a, b, c] = [await openHost(t, store), await openHost(t, store), await openHost(t, store)];
  assert.equal((await a.worker("w1", { sticky_cache_enabled: true })).status, 201);
  await b.start("o-1", ["x"]);
  const task = await b.task("w1");
  assert.equal((await c.complete(task, [ACTIVITY])).status, 200);
  const activity = await a.task("w1", "activity");
  assert.equal((await b.activity(activity, "heartbeat", { details: { page: 1 } })).status, 200);
  assert.equal((await c.activity(activity, "complete", { result: envelope("paid") })).status, 200);
  const next = await a.task("w1");
  assert.equal(next.sticky_replay_mode, "sticky_hit_expected");
  const holder = { lease_owner: "w1", workflow_task_attempt: 1, next_history_page_token: "MA==" };
  const { body } = await b.post(`/worker/workflow-tasks/${next.task_id}/history`, holder);
  assert.deepEqual(body.history_events, next.history_events);
  assert.equal((await b.complete(next, [{ type: "complete_workflow", result: envelope("done") }])).status, 200);
  assert.equal((await c.get("/workflows/o-1")).body.output, "done");
  assert.equal(await a.app.workflows.get("o-1").result(), "done");
});

const SCRIPT: Scripted = {
  *run([id]) {
    const paid = yield { type: "schedule_activity", activity_type: "charge", arguments: envelope([id]) };
    yield { type: "start_timer", delay_seconds: 0 };
    yield { type: "open_condition_wait", condition_key: "go", test: (state: Json) => state.go === true } as never;
    return `${paid}!`;
  },
  signals: { go: (state) => Object.assign(state, { go: true }) },
};

const isWaiting = (api: Api): Promise<boolean> =>
  eventually(async () => (await api.app.workflows.get("o-1").describe()).historyEvents >= 6);

it("a worker elsewhere runs workflows on SQLite, and finds them again after everything was closed", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "limpet-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const settings = { store: join(folder, "limpet.db"), cluster: false };
  const first = await openApi({ after: () => {} }, {}, settings);
  await first.worker("w1");
  const worker = new ScriptedWorker(first, "w1", { order: SCRIPT }).begin({ charge: (id) => `paid ${id}` });
  await first.start("o-1", ["tea"]);
  await isWaiting(first);
  await worker.stop();
  await first.app.stop();
  const second = await openApi(t, {}, settings);
  await second.post("/workflows/o-1/signal/go");
  await second.worker("w2");
  const another = new ScriptedWorker(second, "w2", { order: SCRIPT }).begin();
  t.after(() => another.stop());
  assert.equal(await second.app.workflows.get("o-1").result(), "paid tea!");
});

it("a worker elsewhere runs workflows on PostgreSQL that are started and signalled at another host", async () => {
  await using server = await startPostgres();
  const settings = { store: await server.createDatabase(), cluster: false };
  const [a, b] = [await openApi({ after: () => {} }, {}, settings), await openApi({ after: () => {} }, {}, settings)];
  // They close before their database does.
  await using _a = a.app;
  await using _b = b.app;
  await a.worker("w1", { sticky_cache_enabled: true });
  const worker = new ScriptedWorker(a, "w1", { order: SCRIPT }).begin({ charge: (id) => `paid ${id}` });
  await b.start("o-1", ["tea"]);
  await isWaiting(b);
  await b.post("/workflows/o-1/signal/go");
  assert.equal(await b.app.workflows.get("o-1").result(), "paid tea!");
  await worker.stop();
  const [first, ...others] = worker.modes;
  assert.equal(first, "cold_replay");
  assert.ok(others.length > 0 && others.every((mode) => mode === "sticky_hit_expected"), worker.modes.join());
});
