// The life of an HTTP worker and its effect on runs in memory: restart, replacement, roll-out, disabled
// cache; and the fields that protocol versions allow.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type TestApp, testLimpet } from "../../testing.ts";
import { Api, type ApiResponse, envelope, type Json } from "./api-kit.test.ts";

const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const DONE = { type: "complete_workflow", result: envelope("done") };
const OWN = { sticky_cache_enabled: true, sticky_cache_capacity: 100 };
const CAPABLE = {
  capabilities: ["sticky_execution"],
  capability_manifest: { sticky_execution: { supported: true, minimum_protocol_version: "1.18" } },
};
const NOW = { timeout_seconds: 0 };
const VERSION = "x-durable-workflow-protocol-version";

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];
const modeOf = (task: Json): unknown => (task.sticky_execution as Json).replay_mode;

async function open(): Promise<{ readonly app: TestApp; readonly api: Api }> {
  const app = await testLimpet({ http: { port: 0 } });
  return { app, api: new Api(app) };
}

/** A run that rests with `w1`, and then gets a new task. */
async function rests(api: Api, registers: Json, id = "o-1"): Promise<void> {
  await api.worker("w1", registers);
  await api.start(id);
  assert.equal((await api.complete(await api.task("w1", "workflow", NOW), [WAIT])).status, 200);
  await api.post(`/workflows/${id}/signal/go`);
}

const process = (process_id: number): Json => ({ process_metrics: { process_id, host: "h" } });

describe("worker that returns under its id", () => {
  for (const [what, first, then] of [
    ["as another process", { ...OWN, ...process(1) }, { ...OWN, ...process(2) }],
    ["with another build", { ...OWN }, { ...OWN, build_id: "b2" }],
  ] as [string, Json, Json][]) {
    it(`a worker that returns ${what} has no run in memory: its runs are replayed cold, by force, with the whole history`, async () => {
      const { app, api } = await open();
      await using _ = app;
      await rests(api, first);
      await app.advance("1s");
      assert.equal((await api.worker("w1", then)).status, 201);
      const task = await api.task("w1", "workflow", { ...NOW, accept_history_tail: true });
      assert.deepEqual([modeOf(task), task.sticky_replay_mode], ["forced_cold_replay", "forced_cold_replay"]);
      const { cache_directive, sticky_worker_id } = task.sticky_execution as Json;
      assert.deepEqual([cache_directive, sticky_worker_id], ["cold_replay", "w1"]);
      assert.equal(task.first_history_sequence, 1);
      const { sticky_execution } = (await api.get("/system/operator-metrics")).body as Record<string, Json>;
      assert.equal(sticky_execution!.forced_cold_replay_last_minute, 1);
      // From then on the worker has the run in memory.
      await api.complete(task, [WAIT]);
      await api.post("/workflows/o-1/signal/go");
      assert.equal(modeOf(await api.task("w1", "workflow", NOW)), "sticky_hit_expected");
    });
  }

  it("a worker that returns with other code has no run of the earlier code in memory", async () => {
    const { app, api } = await open();
    await using _ = app;
    const finger = (print: string): Json => ({ ...OWN, workflow_definition_fingerprints: { order: print } });
    await rests(api, finger("sha256:a"));
    await app.advance("31s");
    assert.equal((await api.worker("w1", finger("sha256:b"))).status, 201);
    assert.equal(modeOf(await api.task("w1", "workflow", NOW)), "forced_cold_replay");
  });

  it("a worker that returns after it had left has no run in memory", async () => {
    const { app, api } = await open();
    await using _ = app;
    await rests(api, OWN);
    await app.advance("1s");
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w1", OWN);
    assert.equal(modeOf(await api.task("w1", "workflow", NOW)), "forced_cold_replay");
  });

  it("a worker that returns as the same process keeps its runs in memory", async () => {
    const { app, api } = await open();
    await using _ = app;
    await rests(api, { ...OWN, ...process(1) });
    await app.advance("1s");
    await api.worker("w1", { ...OWN, ...process(1) });
    assert.equal(modeOf(await api.task("w1", "workflow", NOW)), "sticky_hit_expected");
  });
});

describe("replaced worker process", () => {
  it("a heartbeat of a replaced process is rejected, and does not change its successor", async () => {
    const { app, api } = await open();
    await using _ = app;
    await api.worker("w1", process(1));
    const beat = (id: number): Promise<ApiResponse> =>
      api.post("/worker/heartbeat", { worker_id: "w1", ...process(id) });
    assert.equal((await beat(1)).status, 200);
    await api.worker("w1", process(2));
    assert.deepEqual(reasonOf(await beat(1)), [409, "worker_registration_superseded"]);
    assert.equal((await beat(2)).status, 200);
    assert.deepEqual((await api.get("/workers/w1")).body.process_metrics, process(2).process_metrics);
    assert.equal((await api.post("/worker/heartbeat", { worker_id: "w1" })).status, 200);
  });
});

describe("worker with a disabled cache", () => {
  it("a worker with a disabled cache keeps no runs: they are free for any worker until it enables the cache", async () => {
    const { app, api } = await open();
    await using _ = app;
    await rests(api, OWN);
    await api.worker("w2", OWN);
    assert.equal((await api.poll("w2", "workflow", NOW)).body.task, null);
    const cache = (sticky_cache: Json): Promise<ApiResponse> =>
      api.post("/worker/heartbeat", { worker_id: "w1", sticky_cache });
    await cache({ enabled: false, capacity: 100 });
    const task = await api.task("w2", "workflow", NOW);
    assert.equal(modeOf(task), "forced_cold_replay");
    assert.equal(((await api.get("/workers/w1")).body.sticky_cache as Json).enabled, false);
    await api.complete(task, [DONE]);
    await api.start("o-2");
    await api.complete(await api.task("w1", "workflow", NOW), [WAIT]);
    assert.equal((await api.get("/workflows/o-2")).body.sticky_worker_id, null);
    await cache({ enabled: true, capacity: 10 });
    await api.post("/workflows/o-2/signal/go");
    await api.complete(await api.task("w1", "workflow", NOW), [WAIT]);
    assert.equal((await api.get("/workflows/o-2")).body.sticky_worker_id, "w1");
  });
});

describe("reports of a worker with its completions", () => {
  const claimOf = ({ workflow_id, run_id }: Json, more: Json = {}): Json => ({
    sticky_cache: { worker_id: "w1", workflow_id, run_id, ttl_seconds: 300, ...more },
  });

  it("cache figures in a completion are shown to operators, and each miss counts once", async () => {
    const { app, api } = await open();
    await using _ = app;
    await api.worker("w1", CAPABLE);
    await api.start("o-1");
    for (const miss of [1, 2, 2, 3]) {
      const task = await api.task("w1", "workflow", NOW);
      const metrics = { hit: 7, miss, eviction: 3, forced_cold_replay: 2, entries: 4, history_bytes: 999 };
      assert.equal((await api.complete(task, [WAIT], claimOf(task, { metrics }))).status, 200);
      await api.post("/workflows/o-1/signal/go");
    }
    await api.post("/worker/heartbeat", { worker_id: "w1" });
    assert.deepEqual((await api.get("/workers/w1")).body.sticky_cache, {
      enabled: true,
      capacity: 100,
      size: 4,
      hit_count: 7,
      miss_count: 3,
      forced_cold_replay_count: 2,
      eviction_count: 3,
    });
    const { sticky_execution } = (await api.get("/system/operator-metrics")).body as Record<string, Json>;
    // The first figure was counted before the worker was known.
    assert.equal(sticky_execution!.miss_last_minute, 2);
  });

  it("a field in a completion must be allowed by the protocol version of the worker", async () => {
    const { app, api } = await open();
    await using _ = app;
    const old = { [VERSION]: "1.17" };
    const body = { worker_id: "w0", task_queue: "orders", runtime: "python", ...CAPABLE };
    const refused = await api.send("POST", "/worker/register", body, old);
    assert.deepEqual(reasonOf(refused), [409, "worker_capability_protocol_floor_mismatch"]);
    assert.deepEqual([refused.body.capability, refused.body.minimum_protocol_version], ["sticky_execution", "1.18"]);
    const unsupported = {
      sticky_execution: { supported: false, reason: "no" },
      local_activities: { supported: false },
    };
    const modest = { ...body, capabilities: [], capability_manifest: unsupported };
    assert.equal((await api.send("POST", "/worker/register", modest, old)).status, 201);
    const later = { worker_sessions: { supported: true, minimum_protocol_version: "1.20" } };
    assert.deepEqual(reasonOf(await api.worker("w0", { capability_manifest: later })), [
      409,
      "worker_capability_protocol_floor_mismatch",
    ]);
    await api.worker("w1", CAPABLE);
    await api.start("o-1");
    const task = await api.task("w1", "workflow", NOW);
    const { lease_owner, workflow_task_attempt } = task;
    const done = { lease_owner, workflow_task_attempt, commands: [WAIT], ...claimOf(task) };
    const path = `/worker/workflow-tasks/${task.task_id}/complete`;
    assert.deepEqual(reasonOf(await api.send("POST", path, done, old)), [
      409,
      "portable_worker_affinity_protocol_floor_unavailable",
    ]);
    assert.equal((await api.send("POST", path, done)).status, 200);
  });
});

describe("task kinds of a poll", () => {
  it("a poll returns only tasks of the requested kinds", async () => {
    const { app, api } = await open();
    await using _ = app;
    await api.worker("w1");
    await api.start("o-1");
    const poll = (task_kinds: string[]): Promise<ApiResponse> => api.poll("w1", "workflow", { ...NOW, task_kinds });
    assert.equal((await poll(["update_validation"])).body.task, null);
    assert.equal(((await poll(["workflow", "update_validation"])).body.task as Json).task_kind, "workflow");
  });
});
