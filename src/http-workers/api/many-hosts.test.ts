// HTTP workers with several hosts: the store holds all of their state. The same over a real database.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { startPostgres } from "../../../test/support/postgres.ts";
import { resolveSettings } from "../../config/settings.ts";
import { openApp } from "../../host/app.ts";
import { silentLog } from "../../ports/log.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { Api, envelope, eventually, type Json, openApi, type Scripted, ScriptedWorker } from "./api-kit.test.ts";

async function openHost(t: TestContext, store: MemoryStore): Promise<Api> {
  const settings = resolveSettings({ code: { store: "memory:", http: { port: 0 } }, file: false, env: {} });
  const app = await openApp({}, settings, { log: silentLog, store });
  t.after(() => app.stop());
  return new Api(app);
}

const ACTIVITY = { type: "schedule_activity", activity_type: "charge", arguments: envelope([1]) };

it("a task that one host assigned is completed at another, and its activity at a third", async (t) => {
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

const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const KEEPS = { sticky_cache_enabled: true, sticky_cache_capacity: 100 };

/** One task that host `a` assigned to `w1`, and one of a run in the memory of `w1`; `w2` gets neither. */
async function leavesWork(a: Api, b: Api): Promise<Json> {
  await a.worker("w1", { ...KEEPS, process_metrics: { process_id: 1, host: "h" } });
  await a.start("warm");
  await a.complete(await a.task("w1"), [WAIT]);
  await a.start("held");
  const held = await a.task("w1");
  await a.post("/workflows/warm/signal/go");
  await b.worker("w2", KEEPS);
  assert.equal((await b.poll("w2", "workflow", { timeout_seconds: 0 })).body.task, null);
  return held;
}

for (const [what, happens] of [
  [
    "is replaced by another process",
    async (b: Api) => {
      const again = { ...KEEPS, process_metrics: { process_id: 2, host: "h" } };
      assert.equal((await b.worker("w1", again)).status, 201);
    },
  ],
  [
    "comes back with other code",
    async (b: Api) => {
      const again = { ...KEEPS, build_id: "b2", process_metrics: { process_id: 1, host: "h" } };
      assert.equal((await b.worker("w1", again)).status, 201);
    },
  ],
  [
    "leaves",
    async (b: Api) => {
      const { body } = await b.send("DELETE", "/worker/registrations/w1");
      assert.equal(body.recovered_workflow_task_count, 1);
    },
  ],
  [
    "is removed by an operator",
    async (b: Api) => {
      const { body } = await b.send("DELETE", "/workers/w1");
      assert.equal(body.recovered_workflow_task_count, 1);
    },
  ],
] as [string, (b: Api) => Promise<void>][]) {
  it(`the tasks of a worker at one host are free at once when it ${what} at another host`, async (t) => {
    const store = new MemoryStore();
    const [a, b] = [await openHost(t, store), await openHost(t, store)];
    const held = await leavesWork(a, b);
    await happens(b);
    const tasks = [await b.task("w2"), await a.task("w2")];
    const claims = tasks.map((task) => [task.workflow_id, task.workflow_task_attempt, task.sticky_replay_mode]);
    assert.deepEqual(claims.sort(), [
      ["held", 2, "cold_replay"],
      ["warm", 1, "forced_cold_replay"],
    ]);
    // Reports of the earlier process no longer count.
    assert.equal((await a.complete(held, [WAIT])).status, 409);
    for (const task of tasks) assert.equal((await a.complete(task, [WAIT])).status, 200);
  });
}

it("a worker that registers again unchanged keeps its tasks", async (t) => {
  const store = new MemoryStore();
  const [a, b] = [await openHost(t, store), await openHost(t, store)];
  const held = await leavesWork(a, b);
  await b.worker("w1", { ...KEEPS, process_metrics: { process_id: 1, host: "h" } });
  assert.equal((await b.poll("w2", "workflow", { timeout_seconds: 0 })).body.task, null);
  assert.equal((await b.complete(held, [WAIT])).status, 200);
  assert.equal((await b.task("w1")).sticky_replay_mode, "sticky_hit_expected");
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

it("an HTTP worker runs workflows on SQLite, and finds them again after a restart of everything", async (t) => {
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

it("an HTTP worker runs workflows on PostgreSQL that are started and signalled at another host", async () => {
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
