// Workflow tasks of HTTP workers: their completion, their commands, and repeated requests.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { testLimpet } from "../../testing.ts";
import { Api, type ApiResponse, blob, envelope, eventTypes, type Json, openApi, unwrap } from "./api-kit.test.ts";

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];
const ACTIVITY = { type: "schedule_activity", activity_type: "charge", arguments: envelope([1]) };
const DONE = { type: "complete_workflow", result: envelope("done") };
const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };

async function begun(t: TestContext, more: Json = {}): Promise<{ api: Api; task: Json }> {
  const api = await openApi(t);
  await api.worker("w1", more);
  await api.start("o-1", ["tea", 2]);
  return { api, task: await api.task("w1") };
}

const none = async (api: Api, worker = "w1"): Promise<void> =>
  assert.equal((await api.poll(worker, "workflow", { timeout_seconds: 0 })).body.task, null);

describe("workflow tasks of HTTP workers", () => {
  it("a task carries the run, its arguments and its history", async (t) => {
    const { task } = await begun(t);
    assert.deepEqual([task.task_kind, task.workflow_id, task.workflow_type], ["workflow", "o-1", "order"]);
    assert.deepEqual([task.workflow_task_attempt, task.lease_owner, task.payload_codec], [1, "w1", "avro"]);
    assert.deepEqual(unwrap(task.arguments), ["tea", 2]);
    assert.deepEqual(task.sticky_execution, {
      sticky_worker_id: null,
      sticky_until: null,
      replay_mode: "cold_replay",
      cache_directive: "cold_replay",
    });
    const [started] = task.history_events as Json[];
    assert.deepEqual([started!.sequence, started!.event_type], [1, "WorkflowStarted"]);
    assert.equal(task.next_history_page_token, null);
  });

  it("a task is completed once, and a repeated or late completion is rejected", async (t) => {
    const { api, task } = await begun(t);
    const response = await api.complete(task, [ACTIVITY]);
    assert.deepEqual([response.status, response.body.outcome, response.body.recorded], [200, "completed", true]);
    assert.equal((response.body.created_task_ids as string[]).length, 1);
    assert.deepEqual(reasonOf(await api.complete(task, [ACTIVITY])), [409, "task_not_leased"]);
    const charge = await api.task("w1", "activity");
    await api.activity(charge, "complete", { result: envelope("paid") });
    const next = await api.task("w1");
    assert.deepEqual(reasonOf(await api.complete(task, [ACTIVITY])), [409, "task_not_leased"]);
    assert.equal((await api.complete(next, [DONE])).body.run_status, "completed");
    assert.deepEqual(reasonOf(await api.complete(next, [DONE])), [409, "run_closed"]);
    assert.deepEqual((await api.get("/workflows/o-1")).body.output, "done");
  });

  it("a task belongs to its worker at its attempt", async (t) => {
    const { api, task } = await begun(t);
    await api.worker("w2");
    assert.deepEqual(reasonOf(await api.complete({ ...task, lease_owner: "w2" }, [DONE])), [
      409,
      "lease_owner_mismatch",
    ]);
    const wrong = await api.complete({ ...task, workflow_task_attempt: 2 }, [DONE]);
    assert.deepEqual([...reasonOf(wrong), wrong.body.current_attempt], [409, "workflow_task_attempt_mismatch", 1]);
    for (const task_id of ["nonsense", "999999.abc", "1.%00"]) {
      assert.deepEqual(reasonOf(await api.complete({ ...task, task_id }, [DONE])), [404, "task_not_found"]);
    }
    assert.deepEqual(reasonOf(await api.complete({ ...task, lease_owner: null }, [DONE])), [422, "validation_failed"]);
    assert.equal((await api.complete(task, [DONE])).status, 200);
  });

  it("a task is assigned to another worker when its lease is over", async () => {
    await using app = await testLimpet({ http: { port: 0 } });
    const api = new Api(app as never);
    await api.worker("w1");
    await api.worker("w2");
    await api.start("o-1");
    const task = await api.task("w1", "workflow", { timeout_seconds: 0 });
    const beat = { lease_owner: "w1", workflow_task_attempt: 1 };
    await app.advance("40s");
    const kept = await api.post(`/worker/workflow-tasks/${task.task_id}/heartbeat`, beat);
    assert.deepEqual([kept.status, kept.body.renewed], [200, true]);
    await app.advance("40s");
    await none(api, "w2");
    await app.advance("30s");
    assert.deepEqual(reasonOf(await api.complete(task, [DONE])), [409, "lease_expired"]);
    const stolen = await api.task("w2", "workflow", { timeout_seconds: 0 });
    assert.equal(stolen.workflow_task_attempt, 2);
    assert.deepEqual(reasonOf(await api.complete(task, [DONE])), [409, "lease_owner_mismatch"]);
    assert.deepEqual(reasonOf(await api.post(`/worker/workflow-tasks/${task.task_id}/heartbeat`, beat)), [
      409,
      "lease_owner_mismatch",
    ]);
    assert.equal((await api.complete(stolen, [DONE])).status, 200);
  });

  it("a failed task is retried, and the run shows the reason", async () => {
    await using app = await testLimpet({ http: { port: 0 } });
    const api = new Api(app as never);
    await api.worker("w1");
    await api.start("o-1");
    const task = await api.task("w1", "workflow", { timeout_seconds: 0 });
    const failure = { message: "the code has changed", type: "NonDeterministicReplayError" };
    const holder = { lease_owner: "w1", workflow_task_attempt: 1 };
    const failed = await api.post(`/worker/workflow-tasks/${task.task_id}/fail`, { ...holder, failure });
    assert.deepEqual([failed.status, failed.body.outcome], [200, "failed"]);
    assert.equal(
      (await api.get("/workflows/o-1")).body.wait_reason,
      "NonDeterministicReplayError: the code has changed",
    );
    await none(api);
    await app.advance("2s");
    const again = await api.task("w1", "workflow", { timeout_seconds: 0 });
    assert.equal(again.workflow_task_attempt, 2);
    await api.complete(again, [DONE]);
    assert.equal((await api.get("/workflows/o-1")).body.status, "completed");
  });

  it("a task of a run that is terminated meanwhile cannot be completed", async (t) => {
    const { api, task } = await begun(t);
    assert.equal((await api.post("/workflows/o-1/terminate", { reason: "enough" })).status, 200);
    const late = await api.complete(task, [DONE]);
    assert.deepEqual(
      [...reasonOf(late), late.body.stop_reason, late.body.can_continue],
      [409, "run_closed", "run_terminated", false],
    );
  });
});

describe("commands of HTTP workers", () => {
  it("invalid commands are rejected, and the task stays with its worker", async (t) => {
    const { api, task } = await begun(t);
    const wrong: readonly (readonly unknown[])[] = [
      [],
      [{ type: "fly" }],
      ["no object"],
      [{ type: "schedule_activity", activity_type: "a/b" }],
      [{ type: "schedule_activity" }],
      [{ type: "start_timer", delay_seconds: -1 }],
      [{ type: "start_timer", delay_seconds: "soon" }],
      [DONE, DONE],
      [DONE, ACTIVITY],
      [{ type: "complete_update", update_id: "u", result: envelope(1) }],
      [{ type: "record_version_marker", change_id: "c", version: 1 }],
      [{ ...ACTIVITY, retry_policy: { max_attempts: 0 } }],
      [{ ...ACTIVITY, retry_policy: { backoff_seconds: ["1"] } }],
      [{ type: "start_child_workflow", workflow_type: "w", parent_close_policy: "explode" }],
      [{ type: "upsert_search_attributes", attributes: { city: { of: "Rome" } } }, DONE],
      [{ type: "upsert_search_attributes", attributes: { city: "x".repeat(3_000) } }, DONE],
    ];
    for (const commands of wrong) {
      const response = await api.complete(task, commands as Json[]);
      assert.deepEqual(reasonOf(response), [409, "invalid_commands"], JSON.stringify(commands));
    }
    const codec = [{ ...DONE, result: { codec: "json", blob: "1" } }];
    assert.deepEqual(reasonOf(await api.complete(task, codec)), [422, "unsupported_payload_codec"]);
    const broken = [{ ...DONE, result: { codec: "avro", blob: "AAAA" } }];
    assert.deepEqual(reasonOf(await api.complete(task, broken)), [422, "invalid_payload_framing"]);
    assert.equal((await api.complete(task, [DONE])).status, 200);
  });

  it("commands are limited in number and in size", async (t) => {
    const { api, task } = await begun(t);
    const many = Array.from({ length: 1_001 }, () => ({ type: "record_side_effect", result: blob(1) }));
    const response = await api.complete(task, many);
    assert.deepEqual(
      [...reasonOf(response), response.body.configured_limit],
      [422, "structural_limit_exceeded", 1_000],
    );
    const large = [{ ...DONE, result: envelope("x".repeat(2_100_000)) }];
    const refused = await api.complete(task, large);
    assert.deepEqual(
      [...reasonOf(refused), refused.body.limit_kind],
      [422, "structural_limit_exceeded", "payload_size"],
    );
    const huge = [{ ...DONE, result: "x".repeat(LIMITS.httpBodyBytes) }];
    assert.deepEqual(reasonOf(await api.complete(task, huge)), [413, "payload_too_large"]);
    // Whatever their number, the run must wait for something, or end.
    assert.deepEqual(reasonOf(await api.complete(task, many.slice(1))), [409, "invalid_commands"]);
    assert.equal((await api.complete(task, [...many.slice(0, 10), DONE])).status, 200);
  });

  it("commands become events with the numbers of commands, not of events", async (t) => {
    const { api, task } = await begun(t);
    await api.complete(task, [
      { type: "record_side_effect", result: blob(7) },
      { type: "record_version_marker", change_id: "c", version: 2, min_supported: 1, max_supported: 2 },
      { type: "upsert_search_attributes", attributes: { city: "Rome" } },
      { type: "start_timer", delay_seconds: 0 },
    ]);
    const next = await api.task("w1");
    const events = next.history_events as { event_type: string; payload: Json; sequence: number }[];
    assert.deepEqual(
      events.map(({ event_type, payload, sequence }) => [sequence, event_type, payload.sequence]),
      [
        [1, "WorkflowStarted", undefined],
        [2, "SideEffectRecorded", 1],
        [3, "VersionMarkerRecorded", 2],
        [4, "SearchAttributesUpserted", 3],
        [5, "TimerScheduled", 4],
        [6, "TimerFired", 4],
      ],
    );
    assert.deepEqual((await api.get("/workflows/o-1")).body.search_attributes, { city: "Rome" });
  });

  it("commands that are repeated while their step is open are not executed twice", async (t) => {
    const { api, task } = await begun(t);
    await api.complete(task, [WAIT]);
    await api.post("/workflows/o-1/signal/go");
    await api.complete(await api.task("w1"), [ACTIVITY]);
    // An update wakes the worker while the activity is open; an older worker sends its activity again after
    // it.
    const updating = api.post("/workflows/o-1/update/rename", { input: [1], wait_for: "completed" });
    const update = await api.task("w1");
    const { workflow_update_id: update_id } = update;
    assert.equal(
      (await api.complete(update, [{ type: "complete_update", update_id, result: envelope(2) }, ACTIVITY])).status,
      200,
    );
    assert.equal((await updating).body.result, 2);
    const { body } = await api.get(`/workflows/o-1/runs/${update.run_id}/history`);
    const scheduled = (body.events as Json[]).filter(({ event_type }) => event_type === "ActivityScheduled");
    assert.equal(scheduled.length, 1);
    // With other arguments it is another activity.
    const charge = await api.task("w1", "activity");
    await api.activity(charge, "complete", { result: envelope("paid") });
    await api.complete(await api.task("w1"), [{ ...ACTIVITY, arguments: envelope([2]) }]);
    assert.deepEqual(unwrap((await api.task("w1", "activity")).arguments), [2]);
  });

  it("a run that waits for a step is not woken by a signal, which arrives together with the result", async (t) => {
    const { api, task } = await begun(t);
    await api.complete(task, [ACTIVITY]);
    await api.post("/workflows/o-1/signal/early", { input: ["x"] });
    await none(api);
    const charge = await api.task("w1", "activity");
    await api.activity(charge, "complete", { result: envelope("paid") });
    const next = await api.task("w1");
    assert.deepEqual(eventTypes(next), ["WorkflowStarted", "ActivityScheduled", "SignalReceived", "ActivityCompleted"]);
  });

  it("a group wakes its worker when all of it is over, or when one step has failed", async (t) => {
    const { api, task } = await begun(t);
    const group = (base: number, size: number): Json[] =>
      Array.from({ length: size }, (_, index) => ({
        ...ACTIVITY,
        arguments: envelope([index]),
        parallel_group_id: `g:${base}:${size}`,
        parallel_group_kind: "activity",
        parallel_group_base_sequence: base,
        parallel_group_size: size,
        parallel_group_index: index,
      }));
    await api.complete(task, group(1, 2));
    const [a, b] = [await api.task("w1", "activity"), await api.task("w1", "activity")];
    await api.activity(b, "complete", { result: envelope("b") });
    await none(api);
    await api.activity(a, "complete", { result: envelope("a") });
    const next = await api.task("w1");
    const done = (next.history_events as { event_type: string; payload: Json }[]).filter(
      ({ event_type }) => event_type === "ActivityCompleted",
    );
    assert.deepEqual(
      done.map(({ payload }) => [payload.sequence, payload.parallel_group_index]),
      [
        [2, 1],
        [1, 0],
      ],
    );
    await api.complete(next, group(3, 2));
    await api.task("w1", "activity");
    const d = await api.task("w1", "activity");
    await api.activity(d, "fail", { failure: { message: "no", type: "Nope" } });
    assert.equal(eventTypes(await api.task("w1")).at(-1), "ActivityFailed");
  });

  it("a run can continue as new, and late signals reach the new run", async (t) => {
    const { api, task } = await begun(t);
    await api.post("/workflows/o-1/signal/late", { input: ["x"] });
    await api.complete(task, [{ type: "continue_as_new", arguments: envelope(["second"]) }]);
    const next = await api.task("w1");
    assert.notEqual(next.run_id, task.run_id);
    assert.deepEqual(unwrap(next.arguments), ["second"]);
    assert.deepEqual(eventTypes(next), ["WorkflowStarted", "SignalReceived"]);
    await api.complete(next, [DONE]);
    const { body } = await api.get("/workflows/o-1/runs");
    assert.deepEqual(
      (body.runs as Json[]).map(({ status, is_current_run }) => [status, is_current_run]),
      [
        ["completed", false],
        ["completed", true],
      ],
    );
  });

  it("a run can continue in another queue", async (t) => {
    const { api, task } = await begun(t);
    await api.worker("w2", { task_queue: "returns" });
    const command = { type: "continue_as_new", arguments: envelope([]), queue: "returns" };
    assert.equal((await api.complete(task, [command])).status, 200);
    await none(api);
    const next = await api.task("w2", "workflow", { task_queue: "returns" });
    assert.deepEqual([next.workflow_id, next.task_queue], ["o-1", "returns"]);
    assert.deepEqual(reasonOf(await api.complete(next, [{ ...command, queue: "a/b" }])), [409, "invalid_commands"]);
  });

  it("a child can have time limits, and its parent learns of a timeout", async () => {
    await using app = await testLimpet({ http: { port: 0 } });
    const api = new Api(app as never);
    const now = (): Promise<Json> => api.task("w1", "workflow", { timeout_seconds: 0 });
    for (const limit of ["execution_timeout_seconds", "run_timeout_seconds"]) {
      await api.worker("w1");
      await api.start(limit);
      const child = { type: "start_child_workflow", workflow_type: "order", arguments: envelope([]) };
      const wrong = await api.complete(await now(), [{ ...child, [limit]: 0 }]);
      assert.deepEqual(reasonOf(wrong), [409, "invalid_commands"]);
      await app.advance("61s");
      assert.equal((await api.complete(await now(), [{ ...child, [limit]: 5 }])).status, 200);
      const begun = await now();
      await api.complete(begun, [WAIT]);
      await app.advance("4s");
      await none(api);
      await app.advance("2s");
      const response = await now();
      assert.deepEqual([response.workflow_id, eventTypes(response).at(-1)], [limit, "ChildRunFailed"]);
      assert.equal((await api.get(`/workflows/${begun.workflow_id}`)).body.closed_reason, "timed_out");
      await api.complete(response, [DONE]);
    }
  });

  it("a run can fail with the error that its worker reports", async (t) => {
    const { api, task } = await begun(t);
    await api.complete(task, [{ type: "fail_workflow", message: "no stock", exception_type: "OutOfStock" }]);
    const { body } = await api.get("/workflows/o-1");
    assert.deepEqual([body.status, (body.failure as Json).message], ["failed", "no stock"]);
    await assert.rejects(api.app.workflows.get("o-1").result(), { code: "WORKFLOW_FAILED", message: /no stock/ });
  });
});

describe("long history of a task", () => {
  it("a long history is read in pages, from any event", async (t) => {
    const { api, task } = await begun(t);
    await api.complete(task, [
      ...Array.from({ length: 20 }, (_, i) => ({ type: "record_side_effect", result: blob(i) })),
      WAIT,
    ]);
    await api.post("/workflows/o-1/signal/go");
    const next = await api.task("w1", "workflow", { history_page_size: 10 });
    assert.deepEqual([(next.history_events as Json[]).length, next.total_history_events], [10, 23]);
    const holder = { lease_owner: "w1", workflow_task_attempt: 1, history_page_size: 10 };
    const path = `/worker/workflow-tasks/${next.task_id}/history`;
    const all = [...(next.history_events as Json[])];
    for (let token = next.next_history_page_token; token !== null; ) {
      const { body } = await api.post(path, { ...holder, next_history_page_token: token });
      all.push(...(body.history_events as Json[]));
      token = body.next_history_page_token;
    }
    assert.deepEqual(
      all.map(({ sequence }) => sequence),
      Array.from({ length: 23 }, (_, i) => i + 1),
    );
    const whole = await api.post(path, { ...holder, history_page_size: 1_000, next_history_page_token: "MA==" });
    assert.deepEqual(whole.body.history_events, all);
    assert.deepEqual(reasonOf(await api.post(path, { ...holder, next_history_page_token: "%%" })), [
      400,
      "invalid_page_token",
    ]);
    assert.deepEqual(
      reasonOf(await api.post(path, { ...holder, lease_owner: "w2", next_history_page_token: "MA==" })),
      [409, "lease_owner_mismatch"],
    );
  });
});

describe("sticky runs of HTTP workers", () => {
  const ORDERS = { sticky_cache_enabled: true, sticky_cache_capacity: 10 };

  it("a sticky run is reserved for the worker with the run in memory, as its tasks state", async (t) => {
    const { api, task } = await begun(t, ORDERS);
    await api.worker("w2", ORDERS);
    await api.complete(task, [WAIT]);
    const { body } = await api.get("/workflows/o-1");
    assert.equal(body.sticky_worker_id, "w1");
    await api.post("/workflows/o-1/signal/go");
    await none(api, "w2");
    const hit = await api.task("w1");
    const sticky = hit.sticky_execution as Json;
    assert.deepEqual(
      [sticky.sticky_worker_id, sticky.replay_mode, sticky.cache_directive],
      ["w1", "sticky_hit_expected", "resume_if_present"],
    );
    assert.equal(hit.sticky_replay_mode, "sticky_hit_expected");
    assert.ok(Date.parse(String(sticky.sticky_until)) > Date.now());
  });

  it("a sticky run is replayed cold by force on another worker when its worker leaves", async (t) => {
    const { api, task } = await begun(t, ORDERS);
    await api.worker("w2", ORDERS);
    await api.complete(task, [WAIT]);
    await api.send("DELETE", "/worker/registrations/w1");
    await api.post("/workflows/o-1/signal/go");
    const forced = await api.task("w2");
    assert.equal(forced.sticky_replay_mode, "forced_cold_replay");
    assert.equal((forced.sticky_execution as Json).cache_directive, "cold_replay");
  });

  it("a sticky run is released when its worker sends no heartbeat", async () => {
    await using app = await testLimpet({ http: { port: 0 } });
    const api = new Api(app as never);
    await api.worker("w1", ORDERS);
    await api.start("o-1");
    await api.complete(await api.task("w1", "workflow", { timeout_seconds: 0 }), [WAIT]);
    await app.advance("31s");
    await api.worker("w2", ORDERS);
    await api.post("/workflows/o-1/signal/go");
    const forced = await api.task("w2", "workflow", { timeout_seconds: 0 });
    assert.equal(forced.sticky_replay_mode, "forced_cold_replay");
  });

  it("a worker that claims runs with each task must claim them with its own identity", async (t) => {
    const manifest = { sticky_execution: { supported: true, minimum_protocol_version: "1.18" } };
    const capable = { capabilities: ["sticky_execution"], capability_manifest: manifest, sdk_version: "2.5.0" };
    const { api, task } = await begun(t, capable);
    const claim = { worker_id: "w1", workflow_id: "o-1", run_id: task.run_id, build_id: "2.5.0", ttl_seconds: 60 };
    for (const wrong of [{ worker_id: "w2" }, { run_id: "r" }, { workflow_id: "o-2" }, { build_id: "2.6" }]) {
      const response = await api.complete(task, [WAIT], { sticky_cache: { ...claim, ...wrong } });
      assert.deepEqual(reasonOf(response), [409, "sticky_cache_identity_mismatch"]);
    }
    assert.equal((await api.complete(task, [WAIT], { sticky_cache: claim })).status, 200);
    await api.post("/workflows/o-1/signal/go");
    const hit = await api.task("w1");
    assert.equal(hit.sticky_replay_mode, "sticky_hit_expected");
    // Without a claim the worker keeps no run.
    await api.complete(hit, [WAIT]);
    assert.equal((await api.get("/workflows/o-1")).body.sticky_worker_id, null);
  });

  it("a worker that never announced sticky execution cannot claim a run", async (t) => {
    const { api, task } = await begun(t);
    const sticky_cache = { worker_id: "w1", ttl_seconds: 60 };
    assert.deepEqual(reasonOf(await api.complete(task, [WAIT], { sticky_cache })), [
      409,
      "worker_capability_not_supported",
    ]);
    await api.complete(task, [WAIT]);
    assert.equal((await api.get("/workflows/o-1")).body.sticky_worker_id, null);
  });
});
