// The cause of a task, as its fields report it.
import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { type Api, envelope, type Json, openApi } from "../api-kit.test.ts";

const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const ACTIVITY = { type: "schedule_activity", activity_type: "charge", arguments: envelope([1]) };
const FIELDS =
  "workflow_wait_kind open_wait_id resume_source_kind resume_source_id workflow_update_id workflow_signal_id signal_name signal_wait_id workflow_command_id activity_execution_id activity_attempt_id activity_type child_call_id child_workflow_run_id timer_id condition_wait_id workflow_sequence workflow_event_type".split(
    " ",
  );

/** The fields that are not null. All fields must be present. */
function context(task: Json): Json {
  assert.deepEqual(
    FIELDS.filter((field) => task[field] === undefined),
    [],
  );
  return Object.fromEntries(FIELDS.filter((field) => task[field] !== null).map((field) => [field, task[field]]));
}

async function after(t: TestContext, commands: Json[], more: Json = {}): Promise<{ api: Api; run: string }> {
  const api = await openApi(t);
  await api.worker("w1", more);
  await api.start("o-1");
  const task = await api.task("w1");
  assert.deepEqual(context(task), {});
  assert.equal((await api.complete(task, commands)).status, 200);
  return { api, run: String(task.run_id) };
}

it("a task after an activity names the activity and its outcome", async (t) => {
  const { api, run } = await after(t, [ACTIVITY]);
  await api.activity(await api.task("w1", "activity"), "complete", { result: envelope("paid") });
  assert.deepEqual(context(await api.task("w1")), {
    resume_source_kind: "activity_execution",
    resume_source_id: `${run}:1`,
    activity_execution_id: `${run}:1`,
    activity_type: "charge",
    workflow_sequence: 1,
    workflow_event_type: "ActivityCompleted",
  });
});

it("a task after a timer names the timer", async (t) => {
  const { api, run } = await after(t, [{ type: "start_timer", delay_seconds: 0 }]);
  assert.deepEqual(context(await api.task("w1")), {
    resume_source_kind: "timer",
    resume_source_id: `${run}:1`,
    timer_id: `${run}:1`,
    workflow_sequence: 1,
    workflow_event_type: "TimerFired",
  });
});

it("a task after a signal names the signal and its wait", async (t) => {
  const { api, run } = await after(t, [WAIT]);
  await api.post("/workflows/o-1/signal/go", { request_id: "s-1" });
  assert.deepEqual(context(await api.task("w1")), {
    workflow_wait_kind: "condition",
    open_wait_id: `${run}:wait-1`,
    condition_wait_id: `${run}:wait-1`,
    resume_source_kind: "workflow_signal",
    resume_source_id: "s-1",
    workflow_signal_id: "s-1",
    signal_name: "go",
    workflow_sequence: 1,
    workflow_event_type: "SignalReceived",
  });
});

it("a task for an update names the update", async (t) => {
  const { api, run } = await after(t, [{ type: "open_signal_wait", signal_name: "go" }]);
  const updating = api.post("/workflows/o-1/update/rename", { request_id: "u-1", wait_for: "completed" });
  const task = await api.task("w1");
  assert.deepEqual(context(task), {
    workflow_wait_kind: "update",
    open_wait_id: `${run}:wait-1`,
    signal_wait_id: `${run}:wait-1`,
    resume_source_kind: "workflow_update",
    resume_source_id: "u-1",
    workflow_update_id: "u-1",
    workflow_command_id: "u-1",
  });
  await api.complete(task, [{ type: "complete_update", update_id: "u-1", result: envelope(1) }]);
  assert.equal((await updating).status, 200);
});

it("a task after a child names the child's run", async (t) => {
  const child = { type: "start_child_workflow", workflow_type: "order", arguments: envelope([]) };
  const { api, run } = await after(t, [child]);
  await api.complete(await api.task("w1"), [{ type: "complete_workflow", result: envelope(1) }]);
  assert.deepEqual(context(await api.task("w1")), {
    workflow_wait_kind: "child",
    resume_source_kind: "child_workflow_run",
    resume_source_id: `${run}-1`,
    child_call_id: `${run}:1`,
    child_workflow_run_id: `${run}-1`,
    workflow_sequence: 1,
    workflow_event_type: "ChildRunCompleted",
  });
});
