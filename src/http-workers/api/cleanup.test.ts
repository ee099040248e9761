// Cancellation with a cleanup, as plain requests: the request, its delivery to the worker, and the end of the
// run.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Api, type ApiResponse, envelope, eventTypes, eventually, type Json, openApi } from "./api-kit.test.ts";

const ABLE = { capabilities: ["cooperative_cancellation"] };
const charge = { type: "schedule_activity", activity_type: "charge", arguments: envelope(["o"]) };

/** A run whose worker waits for an activity. */
async function begin(t: Parameters<typeof openApi>[0], more: Json = ABLE): Promise<Api> {
  const api = await openApi(t);
  await api.worker("w1", more);
  await api.start("o");
  await api.complete(await api.task("w1"), [charge]);
  return api;
}

const request = (api: Api, more: Json = {}): Promise<ApiResponse> =>
  api.post("/workflows/o/request-cancellation", more);

function deliver(api: Api, task: Json, more: Json = {}): Promise<ApiResponse> {
  const holder = { lease_owner: task.lease_owner, workflow_task_attempt: task.workflow_task_attempt };
  const request_id = (task.cancellation_request as Json).request_id;
  const call = { request_id, sequence: 1, call_kind: "activity", ...more };
  return api.post(`/worker/workflow-tasks/${task.task_id}/deliver-cancellation`, { ...holder, ...call });
}

describe("cancellation with cleanup", () => {
  it("a cancellation wakes a capable worker, ends the call where its code waits, and lets it run to its end", async (t) => {
    const api = await begin(t);
    const slow = await api.task("w1", "activity");
    assert.equal((await api.activity(slow, "status", {})).body.can_continue, true);
    const asked = await request(api, { reason: "closing", cleanup_timeout_seconds: 30 });
    assert.deepEqual([asked.status, asked.body.accepted, asked.body.duplicate], [200, true, false]);
    const { requested_at, cleanup_deadline_at } = asked.body.cancellation_request as Record<string, string>;
    assert.equal(Date.parse(cleanup_deadline_at!) - Date.parse(requested_at!), 30_000);
    const task = await api.task("w1");
    assert.deepEqual(task.cancellation_request, asked.body.cancellation_request);
    const delivered = await deliver(api, task);
    assert.deepEqual([delivered.status, delivered.body.delivered, delivered.body.sequence], [200, true, 1]);
    assert.equal((await deliver(api, task)).status, 200, "it may be sent again");
    assert.equal((await deliver(api, task, { sequence: 2 })).body.reason, "invalid_commands");
    assert.equal((await api.activity(slow, "status", {})).status, 404, "nobody waits for the activity any more");
    assert.equal((await api.complete(task, [charge])).status, 200);
    await api.activity(await api.task("w1", "activity"), "complete", { result: envelope("cleaned up") });
    const last = await api.task("w1");
    assert.deepEqual(eventTypes(last).slice(2), [
      ...["CooperativeCancellationRequested", "CooperativeCancellationDelivered"],
      ...["ActivityScheduled", "ActivityCompleted"],
    ]);
    const ending = { type: "fail_workflow", message: "cancelled", exception_type: "WorkflowCancelled" };
    assert.equal((await api.complete(last, [ending])).status, 200);
    assert.equal((await api.get("/workflows/o")).body.status, "cancelled");
  });

  it("a cancellation counts once, however often it is sent, before and after its worker has seen it", async (t) => {
    const api = await begin(t);
    const [first, second] = await Promise.all([request(api), request(api)]);
    assert.deepEqual(first!.body.cancellation_request, second!.body.cancellation_request);
    assert.deepEqual([first!.body.duplicate, second!.body.duplicate].sort(), [false, true]);
    await api.task("w1");
    const third = await request(api, { reason: "again" });
    assert.deepEqual(third.body.cancellation_request, first!.body.cancellation_request);
    assert.equal(third.body.duplicate, true);
  });

  it("a cancellation is rejected when no worker supports cleanup, and after the end of the run", async (t) => {
    const api = await begin(t, {});
    const refused = await request(api);
    assert.deepEqual([refused.status, refused.body.reason], [409, "cooperative_cancellation_unavailable"]);
    await api.worker("w2", ABLE);
    assert.equal((await request(api, { cleanup_timeout_seconds: 3_601 })).status, 422);
    await api.post("/workflows/o/terminate");
    assert.equal((await request(api)).body.reason, "run_not_active");
  });

  it("a cancellation ends the run at once when a worker without cleanup gets its task", async (t) => {
    const api = await begin(t);
    await request(api);
    await api.send("DELETE", "/worker/registrations/w1");
    await api.worker("w2");
    await api.poll("w2", "workflow", { timeout_seconds: 0 });
    await eventually(async () => (await api.get("/workflows/o")).body.status === "cancelled");
  });

  it("a cancellation cannot be delivered to a run without a request, nor at an invalid call", async (t) => {
    const api = await begin(t);
    await api.activity(await api.task("w1", "activity"), "complete", { result: envelope(1) });
    const task = { ...(await api.task("w1")), cancellation_request: { request_id: "x" } };
    assert.equal((await deliver(api, task)).body.reason, "invalid_commands");
    for (const call of [
      { call_kind: "service_operation" },
      { sequence: 0 },
      { sequence_span: 2 },
      { operation_sequence: 1 },
      { call_kind: "selection_handle" },
      { call_kind: "selection_handle", operation_sequence: 1, operation_sequence_span: 1 },
    ])
      assert.equal((await deliver(api, task, call)).status, 422, JSON.stringify(call));
  });

  it("a cancellation leaves an abandoned activity alone, and other policies are rejected by name", async (t) => {
    const api = await openApi(t);
    await api.worker("w1", ABLE);
    await api.start("o");
    const task = await api.task("w1");
    for (const command of [
      { ...charge, cancellation_policy: "wait_cancellation_completed" },
      { type: "start_child_workflow", workflow_type: "order", cancellation_policy: "try_cancel" },
      { type: "start_child_workflow", workflow_type: "order", parent_close_policy: "request_cancellation" },
    ])
      assert.equal((await api.complete(task, [command])).body.reason, "unsupported_command");
    await api.complete(task, [{ ...charge, cancellation_policy: "abandon" }]);
    await request(api);
    assert.equal((await deliver(api, await api.task("w1"))).status, 200);
    const left = await api.task("w1", "activity");
    assert.equal((await api.activity(left, "complete", { result: envelope(1) })).status, 200);
  });
});
