// Selections, memos and local activities of an HTTP worker, as plain requests, and commands that are rejected
// by name before they are recorded.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Api, blob, envelope, eventTypes, eventually, type Json, openApi } from "./api-kit.test.ts";

const SIZE = 2;

/** A member of a selection of two steps, each of them a member. */
const member = (index: number, key: string, kind: string): Json => {
  const entry = {
    parallel_group_id: "select-calls:1:2",
    parallel_group_kind: "mixed",
    parallel_group_mode: "select",
    parallel_group_base_sequence: 1,
    parallel_group_size: SIZE,
    parallel_group_index: index,
    selection_member_key: key,
    selection_member_index: index,
    selection_member_base_sequence: 1 + index,
    selection_member_size: 1,
    selection_member_kind: kind,
  };
  return { ...entry, parallel_group_path: [entry] };
};

const charge = (more: Json = {}): Json => ({
  type: "schedule_activity",
  activity_type: "charge",
  arguments: envelope(["o"]),
  ...more,
});
const timer = (more: Json = {}): Json => ({ type: "start_timer", delay_seconds: 3_600, ...more });
const SELECTION = [charge(member(0, "paid", "activity")), timer(member(1, "late", "timer"))];
const eventOf = (task: Json, type: string): Json =>
  (task.history_events as Json[]).find(({ event_type }) => event_type === type)!;

async function begin(t: Parameters<typeof openApi>[0]): Promise<{ api: Api; task: Json }> {
  const api = await openApi(t);
  await api.worker("w1");
  await api.start("o");
  return { api, task: await api.task("w1") };
}

describe("selections of an HTTP worker", () => {
  it("a selection is resolved by the first member that ends, and wakes its worker with the winner", async (t) => {
    const { api, task } = await begin(t);
    assert.equal((await api.complete(task, SELECTION)).status, 200);
    await api.activity(await api.task("w1", "activity"), "complete", { result: envelope("paid") });
    const next = await api.task("w1");
    assert.deepEqual(eventTypes(next).slice(-2), ["ActivityCompleted", "SelectionResolved"]);
    const runId = String(next.run_id);
    assert.deepEqual(eventOf(next, "SelectionResolved").payload, {
      selection_group_id: "select-calls:1:2",
      selection_group_base_sequence: 1,
      selection_group_size: SIZE,
      member_key: "paid",
      member_index: 0,
      member_base_sequence: 1,
      member_size: 1,
      operation_kind: "activity",
      operation_identity: `${runId}:1`,
      outcome: "completed",
      resolution_event_id: `${runId}:4`,
      resolution_event_type: "ActivityCompleted",
    });
  });

  it("a selection takes the failure of a member as its outcome", async (t) => {
    const { api, task } = await begin(t);
    await api.complete(task, SELECTION);
    await api.activity(await api.task("w1", "activity"), "fail", { failure: { message: "no money" } });
    const { payload } = eventOf(await api.task("w1"), "SelectionResolved") as { payload: Json };
    assert.deepEqual([payload.outcome, payload.resolution_event_type], ["failed", "ActivityFailed"]);
  });

  it("a member of a selection is cancelled once, and its timer is removed", async (t) => {
    const { api, task } = await begin(t);
    await api.complete(task, SELECTION);
    await api.activity(await api.task("w1", "activity"), "complete", { result: envelope("paid") });
    const next = await api.task("w1");
    const cancel = {
      type: "cancel_selection_operation",
      selection_group_id: "select-calls:1:2",
      member_key: "late",
      member_index: 1,
      member_base_sequence: 2,
      member_size: 1,
      operation_kind: "timer",
      operation_identity: `${next.run_id}:2`,
    };
    const wrong = await api.complete(next, [{ ...cancel, operation_identity: "x" }, timer()]);
    assert.deepEqual([wrong.status, wrong.body.reason], [409, "invalid_commands"]);
    assert.equal((await api.complete(next, [cancel, cancel])).status, 200);
    const last = await api.task("w1");
    assert.deepEqual(eventTypes(last).slice(-1), ["SelectionOperationCancelled"]);
    assert.equal((await api.complete(last, [{ type: "complete_workflow", result: envelope(1) }])).status, 200);
  });

  it("a step of the next selection is not mistaken for one of the selection before", async (t) => {
    const { api, task } = await begin(t);
    await api.complete(task, SELECTION);
    await api.activity(await api.task("w1", "activity"), "complete", { result: envelope("paid") });
    const text = JSON.stringify(SELECTION)
      .replaceAll("select-calls:1:2", "select-calls:3:2")
      .replaceAll('"parallel_group_base_sequence":1', '"parallel_group_base_sequence":3')
      .replaceAll('"selection_member_base_sequence":1', '"selection_member_base_sequence":3')
      .replaceAll('"selection_member_base_sequence":2', '"selection_member_base_sequence":4');
    assert.equal((await api.complete(await api.task("w1"), JSON.parse(text))).status, 200);
    await api.activity(await api.task("w1", "activity"), "complete", { result: envelope("again") });
    const types = eventTypes(await api.task("w1"));
    assert.equal(types.filter((type) => type === "TimerScheduled").length, 2);
    assert.equal(types.filter((type) => type === "SelectionResolved").length, 2);
  });
});

describe("task whose worker waits for earlier steps", () => {
  it("a task whose worker waits for earlier steps rests without a problem, and is assigned again when a step ends", async (t) => {
    const { api, task } = await begin(t);
    await api.complete(task, SELECTION);
    await api.activity(await api.task("w1", "activity"), "complete", { result: envelope("paid") });
    const next = await api.task("w1");
    const holder = { lease_owner: "w1", workflow_task_attempt: next.workflow_task_attempt };
    const failure = { message: "waiting", type: "WorkflowTaskWaitingForHistory" };
    const path = `/worker/workflow-tasks/${next.task_id}/fail`;
    assert.equal((await api.post(path, { ...holder, failure })).status, 200);
    const { body } = await api.get("/workflows/o");
    const { status, last_error } = body.workflow_task as Json;
    assert.deepEqual([status, last_error], ["idle", null]);
  });
});

describe("memo updates of an HTTP worker", () => {
  it("a memo is merged, described, and sent to workers with its change and as a whole", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    await api.start("o", [], { memo: { by: "ada", "not a key": 1 } });
    const entries = envelope({ stage: "paid", by: null });
    const response = await api.complete(await api.task("w1"), [{ type: "upsert_memo", entries }, charge()]);
    assert.equal(response.status, 200);
    assert.deepEqual((await api.get("/workflows/o")).body.memo, { stage: "paid", "not a key": 1 });
    await api.activity(await api.task("w1", "activity"), "complete", { result: envelope(1) });
    const { payload } = eventOf(await api.task("w1"), "MemoUpserted") as { payload: Json };
    assert.deepEqual(payload, { sequence: 1, entries, merged: envelope({ stage: "paid" }) });
  });

  for (const [what, entries] of [
    ["a key that is a number", { 17: 1 }],
    ["a value that is too large", { a: "x".repeat(11_000) }],
    ["no entry", {}],
    ["no map", [1]],
  ] as const) {
    it(`a memo update with ${what} is rejected`, async (t) => {
      const { api, task } = await begin(t);
      const response = await api.complete(task, [{ type: "upsert_memo", entries: envelope(entries) }, charge()]);
      assert.deepEqual([response.status, response.body.reason], [409, "invalid_commands"]);
      assert.match(String(response.body.message), /upsert_memo/);
    });
  }
});

describe("local activities of an HTTP worker", () => {
  const local = (more: Json): Json => ({
    type: "record_local_activity",
    activity_type: "charge",
    execution_mode: "local",
    arguments: envelope(["o"]),
    attempts: [{}, {}],
    ...more,
  });

  it("a local activity is in the history with its result, and no worker gets it as a task", async (t) => {
    const { api, task } = await begin(t);
    const failed = local({ outcome: "failed", message: "no money", exception_type: "Broke" });
    const commands = [local({ outcome: "completed", result: envelope(7) }), failed, timer({ delay_seconds: 0 })];
    assert.equal((await api.complete(task, commands)).status, 200);
    assert.equal((await api.poll("w1", "activity", { timeout_seconds: 0 })).body.task, null);
    const next = await api.task("w1");
    const [done, broken] = ["ActivityCompleted", "ActivityFailed"].map((type) => eventOf(next, type).payload as Json);
    assert.deepEqual([done!.sequence, done!.execution_mode, done!.result], [1, "local", blob(7)]);
    assert.deepEqual([broken!.sequence, broken!.message, broken!.attempt_number], [2, "no money", 2]);
    assert.equal(eventTypes(next).at(-1), "TimerFired");
  });
});

describe("unsupported commands", () => {
  for (const [what, command, unsupported] of [
    ["a service operation", { type: "start_service_operation" }, "start_service_operation"],
    ["a prepared local activity", { type: "prepare_local_activity" }, "prepare_local_activity"],
    ["an activity of a worker session", charge({ worker_session: { id: "s" } }), "schedule_activity"],
    ["an activity of a cancellation scope", charge({ cancellation_scope_id: "1" }), "schedule_activity"],
    ["an item of a stream", { type: "record_side_effect", result: blob(1), workflow_stream: {} }, "record_side_effect"],
    [
      "a condition in a selection",
      { type: "open_condition_wait", ...member(0, "c", "condition") },
      "open_condition_wait",
    ],
    [
      "another mode of a group",
      charge({ ...member(0, "c", "activity"), parallel_group_path: [{ parallel_group_mode: "quorum" }] }),
      "schedule_activity",
    ],
  ] as const) {
    it(`${what} is rejected by name, and nothing of its task is recorded`, async (t) => {
      const { api, task } = await begin(t);
      const response = await api.complete(task, [timer(), command]);
      assert.deepEqual([response.status, response.body.reason], [409, "unsupported_command"]);
      assert.equal(response.body.unsupported, unsupported);
      assert.equal((await api.get("/workflows/o")).body.history_event_count, 1);
      assert.equal((await api.complete(task, [timer()])).status, 200, "its worker still has the task");
    });
  }

  it("a stream that a completion reads from is rejected by name", async (t) => {
    const { api, task } = await begin(t);
    const response = await api.complete(task, [timer()], { message_stream_waits: [{ stream: "s" }] });
    assert.deepEqual([response.status, response.body.unsupported], [409, "message_stream_waits"]);
  });
});

describe("control plane of workflows", () => {
  it("health requests are answered with a body", async (t) => {
    const api = await openApi(t);
    for (const path of ["/health", "/ready"]) {
      const { status, body } = await api.get(path);
      assert.deepEqual([status, body], [200, { status: "serving" }]);
    }
  });

  it("a list is filtered by a query, and an invalid query is rejected", async (t) => {
    const api = await openApi(t);
    for (const [id, city] of [
      ["a", "Rome"],
      ["b", "Oslo"],
    ] as const)
      await api.start(id, [], { search_attributes: { city } });
    const idsBy = async (query: string): Promise<unknown> => {
      const { body } = await api.get(`/workflows?query=${encodeURIComponent(query)}`);
      return (body.workflows as Json[] | undefined)?.map(({ workflow_id }) => workflow_id) ?? body.reason;
    };
    assert.deepEqual(await idsBy('city = "Rome"'), ["a"]);
    assert.deepEqual(await idsBy('WorkflowType = "order" AND Status = "running" and task_queue = "orders"'), [
      "b",
      "a",
    ]);
    assert.deepEqual(await idsBy('WorkflowType = "other"'), []);
    for (const query of ["a", 'city > "A"', 'city = "Rome" OR city = "Oslo"', 'city = "Rome" AND', 'status = "odd"'])
      assert.equal(await idsBy(query), "validation_failed", query);
    assert.equal(await idsBy(`city = "${"x".repeat(3_000)}"`), "validation_failed");
    assert.equal(await idsBy('city = "Rome" AND city = "Oslo"'), "validation_failed");
  });

  it("the history of a run is exported with a checksum", async (t) => {
    const { api, task } = await begin(t);
    await api.complete(task, [{ type: "complete_workflow", result: envelope("früh") }]);
    const { body: run } = await eventually(async () => {
      const response = await api.get("/workflows/o");
      return response.body.is_terminal === true && response;
    });
    const { status, body } = await api.get(`/workflows/o/runs/${run.run_id}/history/export`);
    assert.equal(status, 200);
    assert.deepEqual(
      (body.history_events as Json[]).map(({ type }) => type),
      ["WorkflowStarted", "WorkflowCompleted"],
    );
    assert.match(String((body.integrity as Json).checksum), /^[0-9a-f]{64}$/);
    assert.equal(body.control_plane, undefined, "the body is the bundle, and nothing else");
  });
});
