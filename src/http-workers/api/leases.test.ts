// Leases of HTTP workers: their length by the settings, and the announced values.
import assert from "node:assert/strict";
import { it } from "node:test";
import { resolveSettings } from "../../config/settings.ts";
import { type TestApp, testLimpet } from "../../testing.ts";
import { Api, type ApiResponse, envelope, type Json } from "./api-kit.test.ts";

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];
const ACTIVITY = { type: "schedule_activity", activity_type: "charge", arguments: envelope([1]) };
const DONE = { type: "complete_workflow", result: envelope("done") };

async function open(): Promise<{ readonly app: TestApp; readonly api: Api }> {
  const app = await testLimpet({ http: { port: 0 }, worker: { httpLease: "5s", httpActivityLease: "20s" } });
  const api = new Api(app);
  for (const id of ["w1", "w2"]) await api.worker(id);
  await api.start("o-1");
  return { app, api };
}

const now = (api: Api, worker: string, kind = "workflow"): Promise<Json> =>
  api.task(worker, kind, { timeout_seconds: 0 });
const nothing = async (api: Api, worker: string, kind = "workflow"): Promise<void> =>
  assert.equal((await api.poll(worker, kind, { timeout_seconds: 0 })).body.task, null);
const left = (task: Json, app: TestApp): number => Date.parse(String(task.lease_expires_at)) - app.clock.now();

it("a workflow task belongs to its worker for worker.httpLease, and each heartbeat restarts the lease", async () => {
  const { app, api } = await open();
  await using _ = app;
  const task = await now(api, "w1");
  assert.equal(left(task, app), 5_000);
  await app.advance("4s");
  const beat = { lease_owner: "w1", workflow_task_attempt: 1 };
  const { body } = await api.post(`/worker/workflow-tasks/${task.task_id}/heartbeat`, beat);
  assert.equal(left(body, app), 5_000);
  await app.advance("4s");
  await nothing(api, "w2");
  await app.advance("1s");
  assert.deepEqual(reasonOf(await api.complete(task, [DONE])), [409, "lease_expired"]);
  assert.equal((await now(api, "w2")).workflow_task_attempt, 2);
});

it("an activity without a heartbeat belongs to its worker for worker.httpActivityLease", async () => {
  const { app, api } = await open();
  await using _ = app;
  await api.complete(await now(api, "w1"), [{ ...ACTIVITY, retry_policy: { max_attempts: 2, backoff_seconds: [0] } }]);
  const task = await now(api, "w1", "activity");
  assert.equal(left(task, app), 20_000);
  await app.advance("19s");
  await nothing(api, "w2", "activity");
  const { body } = await api.activity(task, "heartbeat", {});
  assert.equal(left(body, app), 20_000);
  await app.advance("21s");
  assert.deepEqual(reasonOf(await api.activity(task, "complete", { result: envelope(1) })), [409, "lease_expired"]);
  assert.equal((await now(api, "w2", "activity")).attempt_number, 2);
});

it("workers learn both leases before they register, and with every answer", async () => {
  const { app, api } = await open();
  await using _ = app;
  const leases = { workflow_task_seconds: 5, activity_task_seconds: 20 };
  const { worker_protocol } = (await api.get("/cluster/info")).body as { worker_protocol: Record<string, Json> };
  assert.deepEqual(worker_protocol.server_capabilities!.leases, leases);
  const { server_capabilities } = (await api.poll("nobody")).body as { server_capabilities: Json };
  assert.deepEqual(server_capabilities.leases, leases);
});

it("a lease that is too short or endless is rejected with the settings", () => {
  for (const worker of [{ httpLease: "0s" }, { httpActivityLease: "999ms" }, { httpLease: "25h" }] as const) {
    assert.throws(() => resolveSettings({ code: { worker }, file: false, env: {} }), { code: "OPTION_INVALID" });
  }
});
