// HTTP workers register, send heartbeats, change and leave; builds are drained and resumed; operators see all
// of it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ApiResponse, type Json, openApi } from "./api-kit.test.ts";

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];

describe("cluster info of the workflow API", () => {
  it("the cluster info has everything that a worker requires, and needs no version", async (t) => {
    const api = await openApi(t);
    const { status, body } = await api.send("GET", "/cluster/info", undefined, {
      "x-durable-workflow-control-plane-version": "9",
    });
    assert.equal(status, 200);
    const { control_plane, worker_protocol, auth_composition_contract } = body as Record<string, Json>;
    assert.equal(control_plane!.version, "2");
    assert.equal(worker_protocol!.version, "1.20");
    assert.equal(auth_composition_contract!.version, 1);
    const capabilities = worker_protocol!.server_capabilities as Json;
    assert.equal(capabilities.query_tasks, true);
    assert.deepEqual(capabilities.sticky_execution, {
      supported: true,
      enabled: true,
      ttl_seconds: 300,
      history_tail: true,
    });
    assert.deepEqual(capabilities.leases, { workflow_task_seconds: 60, activity_task_seconds: 300 });
  });

  it("the capabilities are part of every answer to a worker, including rejections", async (t) => {
    const api = await openApi(t);
    const { body, headers } = await api.poll("nobody");
    assert.equal(body.protocol_version, "1.20");
    assert.equal((body.server_capabilities as Json).query_tasks, true);
    assert.equal(headers.get("x-durable-workflow-protocol-version"), "1.20");
  });

  it("a request without a matching version is rejected", async (t) => {
    const api = await openApi(t);
    const header = "x-durable-workflow-protocol-version";
    for (const [version, reason] of [
      ["", "missing_protocol_version"],
      ["2.0", "unsupported_protocol_version"],
      ["1.21", "unsupported_protocol_version"],
      ["one", "unsupported_protocol_version"],
    ] as const) {
      const response = await api.send("POST", "/worker/heartbeat", { worker_id: "w" }, { [header]: version });
      assert.deepEqual(reasonOf(response), [400, reason]);
      assert.equal(response.body.supported_version, "1.20");
    }
    const control = "x-durable-workflow-control-plane-version";
    assert.deepEqual(reasonOf(await api.send("GET", "/workflows", undefined, { [control]: "" })), [
      400,
      "missing_control_plane_version",
    ]);
    assert.deepEqual(reasonOf(await api.send("GET", "/workflows", undefined, { [control]: "1" })), [
      400,
      "unsupported_control_plane_version",
    ]);
  });

  it("a request for another namespace is rejected", async (t) => {
    const api = await openApi(t);
    assert.deepEqual(reasonOf(await api.send("GET", "/workflows", undefined, { "x-namespace": "other" })), [
      404,
      "namespace_not_found",
    ]);
    assert.equal((await api.send("GET", "/workflows", undefined, { "x-namespace": "default" })).status, 200);
  });

  it("an unknown path of the workflow API is rejected", async (t) => {
    const api = await openApi(t);
    assert.deepEqual(reasonOf(await api.get("/nothing")), [404, "route_not_found"]);
    const wrong = await api.send("DELETE", "/workflows");
    assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, POST"]);
    assert.equal((await fetch(`${api.app.url}/api/health`)).status, 200);
  });
});

describe("registration of HTTP workers", () => {
  it("a registration accepts both ways to announce sticky execution", async (t) => {
    const api = await openApi(t);
    const plain = await api.post("/worker/register", {
      worker_id: "orders-worker-01",
      task_queue: "orders",
      runtime: "python",
      sticky_cache_enabled: true,
      sticky_cache_capacity: 100,
    });
    assert.equal(plain.status, 201);
    assert.deepEqual(plain.body.status, "active");
    const manifest = { sticky_execution: { supported: true, minimum_protocol_version: "1.18" } };
    const capable = await api.worker("w2", { capabilities: ["sticky_execution"], capability_manifest: manifest });
    assert.deepEqual([capable.status, capable.body.capability_manifest], [201, manifest]);
    await api.worker("w3");
    const { body } = await api.get("/workers");
    const enabled = (body.workers as Json[]).map(({ worker_id, sticky_cache }) => [
      worker_id,
      (sticky_cache as Json).enabled,
      (sticky_cache as Json).capacity,
    ]);
    assert.deepEqual(enabled, [
      ["orders-worker-01", true, 100],
      ["w2", true, 100],
      ["w3", false, 0],
    ]);
  });

  it("a worker without an id gets one", async (t) => {
    const api = await openApi(t);
    const { body } = await api.post("/worker/register", { task_queue: "orders", runtime: "go" });
    assert.match(String(body.worker_id), /^[\w-]{20,}$/);
  });

  it("an invalid registration is rejected with the name of the field", async (t) => {
    const api = await openApi(t);
    const wrong: readonly [string, Json][] = [
      ["task_queue", { task_queue: "" }],
      ["task_queue", { task_queue: "a/b" }],
      ["worker_id", { worker_id: "$drain x" }],
      ["runtime", { runtime: "cobol" }],
      ["build_id", { build_id: "a\u0000" }],
      ["build_id", { build_id: "\ud800" }],
      ["supported_workflow_types", { supported_workflow_types: [1] }],
      ["supported_activity_types", { supported_activity_types: ["a/b"] }],
      ["max_concurrent_workflow_tasks", { max_concurrent_workflow_tasks: 0, max_concurrent_activity_tasks: 0 }],
      ["heartbeat_interval_seconds", { heartbeat_interval_seconds: 0 }],
      ["sticky_cache_enabled", { sticky_cache_enabled: "yes" }],
    ];
    for (const [field, more] of wrong) {
      const response = await api.worker("w", more);
      assert.deepEqual(reasonOf(response), [422, "validation_failed"], field);
      assert.deepEqual(Object.keys(response.body.errors as Json), [field]);
    }
    assert.deepEqual(reasonOf(await api.send("POST", "/worker/register", "{")), [400, "invalid_body"]);
    assert.deepEqual(reasonOf(await api.send("POST", "/worker/register", "[]")), [400, "invalid_body"]);
    const mismatch = {
      capabilities: ["sticky_execution"],
      capability_manifest: { sticky_execution: { supported: false } },
    };
    assert.deepEqual(reasonOf(await api.worker("w", mismatch)), [409, "worker_capability_manifest_mismatch"]);
  });

  it("another definition under the id of an active worker is rejected", async (t) => {
    const api = await openApi(t);
    const finger = (print: string): Json => ({ workflow_definition_fingerprints: { order: print } });
    assert.equal((await api.worker("w1", finger("sha256:a"))).status, 201);
    assert.equal((await api.worker("w1", finger("sha256:a"))).status, 201);
    assert.deepEqual(reasonOf(await api.worker("w1", finger("sha256:b"))), [409, "workflow_definition_changed"]);
    assert.equal((await api.worker("w2", finger("sha256:b"))).status, 201);
  });
});

describe("heartbeats of HTTP workers", () => {
  it("a heartbeat stores the cache figures of a worker, and operators see them", async (t) => {
    const api = await openApi(t);
    await api.worker("w1", { sticky_cache_enabled: true, sticky_cache_capacity: 100 });
    const sticky_cache = {
      enabled: true,
      capacity: 100,
      size: 95,
      hit_count: 940,
      miss_count: 31,
      forced_cold_replay_count: 8,
      eviction_count: 15,
    };
    const response = await api.post("/worker/heartbeat", {
      worker_id: "w1",
      sticky_cache,
      task_slots: { workflow_available: 3 },
    });
    assert.deepEqual([response.status, response.body.acknowledged], [200, true]);
    const worker = await api.get("/workers/w1");
    assert.deepEqual(worker.body.sticky_cache, sticky_cache);
    assert.deepEqual(worker.body.task_slots, { workflow_available: 3 });
    const { sticky_execution, sticky_execution_workers } = (await api.get("/system/operator-metrics")).body as Record<
      string,
      Json
    >;
    assert.deepEqual(sticky_execution_workers, {
      worker_count: 1,
      cache_capacity: 100,
      cache_size: 95,
      hit_count: 940,
      miss_count: 31,
      forced_cold_replay_count: 8,
      eviction_count: 15,
      capacity_pressure_worker_count: 1,
    });
    assert.equal(sticky_execution!.miss_last_minute, 0, "the counters of a first heartbeat began before it");
    assert.equal(sticky_execution!.capacity_pressure_tasks, 0, "there are no tasks");
    for (const name of "active_sticky_runs ready_sticky_tasks leased_sticky_tasks hit_expected_last_minute forced_cold_replay_last_minute cold_replay_last_minute hit_rate_last_minute miss_rate_last_minute".split(
      " ",
    )) {
      assert.equal(typeof sticky_execution![name], "number", name);
    }
  });

  it("a heartbeat of an unknown worker is rejected", async (t) => {
    const api = await openApi(t);
    assert.deepEqual(reasonOf(await api.post("/worker/heartbeat", { worker_id: "ghost" })), [
      404,
      "worker_not_registered",
    ]);
    assert.deepEqual(reasonOf(await api.post("/worker/heartbeat", {})), [422, "validation_failed"]);
  });
});

describe("departure of HTTP workers", () => {
  it("a worker that leaves releases its tasks at once", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    await api.worker("w2");
    await api.start("o-1");
    await api.task("w1");
    const gone = await api.send("DELETE", "/worker/registrations/w1");
    assert.deepEqual([gone.status, gone.body.recovered_workflow_task_count], [200, 1]);
    const task = await api.task("w2");
    assert.equal(task.workflow_id, "o-1");
    assert.deepEqual(reasonOf(await api.send("DELETE", "/worker/registrations/w1")), [404, "worker_not_found"]);
    assert.deepEqual(reasonOf(await api.poll("w1")), [412, "worker_not_registered"]);
  });

  it("a process that replaces another under the same id gets the tasks of the one before", async (t) => {
    const api = await openApi(t);
    await api.worker("w1", { process_metrics: { process_id: 1, host: "h" } });
    await api.start("o-1");
    await api.task("w1");
    await api.worker("w1", { process_metrics: { process_id: 2, host: "h" } });
    assert.equal((await api.task("w1")).workflow_id, "o-1");
  });
});

describe("polls of HTTP workers", () => {
  it("a poll returns tasks only to registered workers, for their queue and their build", async (t) => {
    const api = await openApi(t);
    await api.worker("w1", { build_id: "b1" });
    assert.deepEqual(reasonOf(await api.poll("ghost")), [412, "worker_not_registered"]);
    assert.deepEqual(reasonOf(await api.poll("w1", "workflow", { task_queue: "other" })), [409, "task_queue_mismatch"]);
    assert.deepEqual(reasonOf(await api.poll("w1", "activity", { build_id: "b2" })), [409, "build_id_mismatch"]);
    assert.deepEqual(reasonOf(await api.poll("w1", "query", { timeout_seconds: 61 })), [422, "validation_failed"]);
    const empty = await api.poll("w1", "workflow", { timeout_seconds: 0, build_id: "b1" });
    assert.deepEqual([empty.body.task, empty.body.poll_status], [null, "empty"]);
    await api.worker("w2", { supported_workflow_types: [], supported_activity_types: [] });
    assert.equal((await api.poll("w2")).body.poll_status, "no_workflow_capability");
  });

  it("a run that is pinned to a build goes to no other build", async (t) => {
    const api = await openApi(t);
    await api.worker("w1", { build_id: "b1" });
    await api.worker("w2", { build_id: "b2" });
    await api.start("o-1", [], { build_id: "b2" });
    assert.equal((await api.poll("w1", "workflow", { timeout_seconds: 0 })).body.task, null);
    assert.equal((await api.task("w2")).compatibility, "b2");
  });

  it("a poll waits for a task, and releases it when the client no longer waits", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    await api.worker("w2");
    const hangUp = new AbortController();
    const lost = api.post("/worker/workflow-tasks/poll", { worker_id: "w1", task_queue: "orders" }, hangUp.signal);
    const waiting = api.task("w2", "workflow", { timeout_seconds: 30 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    hangUp.abort();
    await assert.rejects(lost);
    await api.start("o-1");
    assert.equal((await waiting).workflow_id, "o-1");
  });

  it("a repeated poll under the same id returns the same task", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    await api.start("o-1");
    const first = await api.task("w1", "workflow", { poll_request_id: "p1" });
    const again = await api.task("w1", "workflow", { poll_request_id: "p1" });
    assert.deepEqual(again, first);
    const other = await api.poll("w1", "workflow", { poll_request_id: "p2", timeout_seconds: 0 });
    assert.equal(other.body.task, null);
  });
});

describe("drained build", () => {
  it("a drained build gets no work until it is resumed, while other builds do", async (t) => {
    const api = await openApi(t);
    await api.worker("w1", { build_id: "b1" });
    await api.worker("w2", { build_id: "b2" });
    await api.start("o-1");
    const held = await api.task("w1");
    assert.equal((await api.post("/task-queues/orders/build-ids/drain", { build_id: "b1" })).status, 200);
    const refused = await api.poll("w1");
    assert.deepEqual([...reasonOf(refused), refused.body.poll_status], [409, "worker_draining", "draining"]);
    // The worker may complete the task it holds.
    assert.equal((await api.complete(held, [{ type: "complete_workflow", result: null }])).status, 200);
    assert.equal((await api.post("/worker/heartbeat", { worker_id: "w1" })).body.status, "draining");
    assert.equal((await api.worker("w3", { build_id: "b1" })).body.status, "draining");
    await api.start("o-2");
    assert.equal((await api.task("w2")).workflow_id, "o-2");
    const { body } = await api.get("/task-queues/orders/build-ids");
    const builds = (body.build_ids as Json[]).map(({ build_id, drain_intent, rollout_status }) => [
      build_id,
      drain_intent,
      rollout_status,
    ]);
    assert.deepEqual(builds.sort(), [
      ["b1", "draining", "draining"],
      ["b2", "active", "active"],
    ]);
    await api.post("/task-queues/orders/build-ids/resume", { build_id: "b1" });
    await api.start("o-3");
    assert.equal((await api.task("w1")).workflow_id, "o-3");
    assert.equal((await api.get("/workers")).body.worker_count, 3);
  });
});
