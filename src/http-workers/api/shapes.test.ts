// Every answer has the fields that the protocol names, so that a worker or client never finds one missing.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Api, type ApiResponse, envelope, type Json, openApi } from "./api-kit.test.ts";

const WAIT = { type: "open_condition_wait", condition_key: "k", condition_definition_fingerprint: "f" };
const ACTIVITY = { type: "schedule_activity", activity_type: "charge", arguments: envelope([1]) };
const CONTRACT = {
  workflow_command_contracts: { order: { queries: ["state"], updates: ["rename"], update_validators: ["rename"] } },
};

function has(what: unknown, fields: string): void {
  const missing = fields.split(/\s+/).filter((field) => (what as Json)[field] === undefined);
  assert.deepEqual(missing, []);
}

/** All answers to workers list the capabilities of the server. */
function checked({ status, body }: ApiResponse, expected: number, fields: string): Json {
  assert.equal(status, expected, JSON.stringify(body));
  has(body, `${fields} protocol_version server_capabilities`);
  return body;
}

async function opened(t: TestContext): Promise<Api> {
  const api = await openApi(t);
  const body = checked(
    await api.worker("w1", CONTRACT),
    201,
    "worker_id registered namespace task_queue runtime build_id capabilities capability_manifest status heartbeat_interval_seconds",
  );
  assert.deepEqual([body.registered, body.status], [true, "active"]);
  await api.start("o-1");
  return api;
}

const holderOf = (task: Json): Json => ({
  lease_owner: task.lease_owner,
  workflow_task_attempt: task.workflow_task_attempt,
});

describe("fields of answers to workers", () => {
  it("answers about workers have the fields of the protocol", async (t) => {
    const api = await opened(t);
    const beat = await api.post("/worker/heartbeat", { worker_id: "w1" });
    checked(beat, 200, "worker_id acknowledged heartbeat_interval_seconds stale_after_seconds retention");
    const left = await api.send("DELETE", "/worker/registrations/w1");
    assert.equal(checked(left, 200, "worker_id outcome recovered_workflow_task_count").outcome, "deregistered");
  });

  it("answers about workflow tasks have the fields of the protocol", async (t) => {
    const api = await opened(t);
    const { task } = checked(await api.poll("w1"), 200, "task poll_status") as { task: Json };
    has(
      task,
      "task_kind task_id workflow_id run_id workflow_task_attempt workflow_type payload_codec arguments run_status last_history_sequence total_history_events history_size_bytes history_fan_out continue_as_new_recommended history_budget_pressure history_budget_pressure_dimensions history_events next_history_page_token task_queue connection compatibility lease_owner lease_expires_at sticky_worker_id sticky_until sticky_replay_mode sticky_execution workflow_update_id workflow_command_id cancel_requested",
    );
    has(task.sticky_execution, "sticky_worker_id sticky_until replay_mode cache_directive");
    const [event] = task.history_events as Json[];
    has(event, "id sequence event_type payload workflow_task_id workflow_command_id recorded_at");
    has(event!.payload, "workflow_type workflow_instance_id workflow_run_id workflow_definition_fingerprint timestamp");
    const path = `/worker/workflow-tasks/${task.task_id}`;
    checked(
      await api.post(`${path}/history`, { ...holderOf(task), next_history_page_token: "MA==" }),
      200,
      "task_id workflow_task_attempt history_events total_history_events history_size_bytes history_fan_out continue_as_new_recommended history_budget_pressure history_budget_pressure_dimensions next_history_page_token",
    );
    checked(
      await api.post(`${path}/heartbeat`, holderOf(task)),
      200,
      "task_id workflow_task_attempt lease_owner renewed lease_expires_at run_status task_status reason",
    );
    checked(
      await api.complete(task, [WAIT]),
      200,
      "task_id workflow_task_attempt outcome recorded run_id run_status created_task_ids reason",
    );
    await api.post("/workflows/o-1/signal/go");
    const next = await api.task("w1");
    const failed = await api.post(`/worker/workflow-tasks/${next.task_id}/fail`, { ...holderOf(next), failure: {} });
    checked(failed, 200, "task_id workflow_task_attempt outcome recorded reason next_task_id");
    has((await api.poll("w1", "workflow", { timeout_seconds: 0 })).body, "task poll_status");
  });

  it("answers about activities have the fields of the protocol", async (t) => {
    const api = await opened(t);
    await api.complete(await api.task("w1"), [ACTIVITY, ACTIVITY]);
    const task = await api.task("w1", "activity");
    has(
      task,
      "task_id workflow_id run_id activity_execution_id activity_attempt_id attempt_number activity_type payload_codec arguments retry_policy task_queue connection lease_owner lease_expires_at deadlines",
    );
    checked(
      await api.activity(task, "heartbeat", { details: { at: 1 } }),
      200,
      "cancel_requested can_continue reason run_closed_reason run_closed_at heartbeat_recorded lease_owner lease_expires_at last_heartbeat_at",
    );
    const fields = "task_id activity_attempt_id outcome recorded reason next_task_id cancel_requested can_continue";
    checked(await api.activity(task, "complete", { result: envelope(1) }), 200, fields);
    const other = await api.task("w1", "activity");
    checked(await api.activity(other, "fail", { failure: { message: "no" } }), 200, fields);
    // The run no longer waits for it.
    await api.post("/workflows/o-1/terminate");
    assert.equal((await api.activity(other, "heartbeat", {})).body.cancel_requested, true);
  });

  it("answers about queries have the fields of the protocol", async (t) => {
    const api = await opened(t);
    for (const [verb, more] of [
      ["complete", { result_envelope: envelope(1) }],
      ["fail", { failure: { message: "no", reason: "query_rejected" } }],
    ] as const) {
      const asking = api.post("/workflows/o-1/query/state");
      const task = await api.task("w1", "query");
      has(
        task,
        "query_task_id query_task_attempt lease_owner workflow_id run_id task_queue workflow_type workflow_class query_name query_arguments workflow_arguments payload_codec history_events history_export",
      );
      const holder = { lease_owner: "w1", query_task_attempt: task.query_task_attempt };
      const response = await api.post(`/worker/query-tasks/${task.query_task_id}/${verb}`, { ...holder, ...more });
      checked(response, 200, "query_task_id query_task_attempt outcome");
      if (verb === "complete") has((await asking).body, "result result_envelope query_name control_plane");
      else assert.deepEqual([(await asking).status, (await asking).body.reason], [409, "query_rejected"]);
    }
  });

  it("answers about update validations have the fields of the protocol", async (t) => {
    const api = await opened(t);
    await api.complete(await api.task("w1"), [WAIT]);
    const asking = api.post("/workflows/o-1/update/rename", { input: [1] });
    const task = await api.task("w1", "update-validation");
    has(
      task,
      "task_kind update_validation_task_id update_validation_attempt workflow_id run_id workflow_type update_name update_arguments workflow_arguments payload_codec history_events",
    );
    const holder = { lease_owner: "w1", update_validation_attempt: task.update_validation_attempt };
    const path = `/worker/update-validation-tasks/${task.update_validation_task_id}/reject`;
    checked(await api.post(path, { ...holder, failure: { message: "no" } }), 200, "outcome");
    assert.equal((await asking).body.reason, "update_validator_rejected");
  });
});

describe("fields of answers to clients", () => {
  it("every answer to a client has the fields that clients read", async (t) => {
    const api = await opened(t);
    const started = (await api.start("o-2")).body;
    const head = "workflow_id run_id workflow_type business_key status";
    has(started, `${head} namespace payload_codec outcome control_plane`);
    const { body } = await api.get("/workflows");
    has(body, "workflows workflow_count next_page_token");
    const row = `${head} status_bucket task_queue is_terminal started_at closed_at search_attributes`;
    for (const each of body.workflows as Json[]) has(each, row);
    has(
      (await api.get("/workflows/o-1")).body,
      `${row} closed_reason run_number run_count is_current_run compatibility input output input_envelope output_envelope last_progress_at wait_kind wait_reason memo actions`,
    );
    const { runs } = (await api.get("/workflows/o-1/runs")).body;
    for (const each of runs as Json[]) has(each, `${row} run_number is_current_run`);
    const history = (await api.get(`/workflows/o-2/runs/${started.run_id}/history`)).body;
    has(history, "workflow_id run_id events next_page_token");
    for (const each of history.events as Json[]) has(each, "sequence event_type timestamp payload");
  });

  it("the cluster info has every field before a worker registers", async (t) => {
    const api = await openApi(t);
    const { body } = await api.get("/cluster/info");
    has(
      body,
      "server_id version default_namespace capabilities control_plane worker_protocol auth_composition_contract limits",
    );
    const { server_capabilities } = body.worker_protocol as { server_capabilities: Json };
    has(
      server_capabilities,
      "long_poll_timeout query_tasks poll_status workflow_task_poll_request_idempotency history_page_size_default history_page_size_max supported_workflow_task_commands update_validation_tasks synchronous_update_validation sticky_execution worker_status workflow_history_budget leases",
    );
  });
});
