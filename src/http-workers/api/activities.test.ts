// Activities of HTTP workers: assigned once, extended by heartbeats, retried, and never ended by a worker
// that has lost them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type TestApp, testLimpet } from "../../testing.ts";
import { workflow } from "../../workflows/definition/definition.ts";
import { Api, type ApiResponse, envelope, eventTypes, type Json, openApi, unwrap } from "./api-kit.test.ts";

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];
const NOW = { timeout_seconds: 0 };

/** An app with an activity that waits for a worker; time stands still. */
async function scheduled(more: Json = {}): Promise<{ app: TestApp; api: Api }> {
  const app = await testLimpet({ http: { port: 0 } });
  const api = new Api(app as never);
  await api.worker("w1");
  await api.worker("w2");
  await api.start("o-1");
  const command = { type: "schedule_activity", activity_type: "charge", arguments: envelope(["tea", 2.5]), ...more };
  assert.equal((await api.complete(await api.task("w1", "workflow", NOW), [command])).status, 200);
  return { app, api };
}

const last = async (api: Api): Promise<{ event_type: string; payload: Json }> =>
  ((await api.task("w1", "workflow", NOW)).history_events as { event_type: string; payload: Json }[]).at(-1)!;

describe("activities of HTTP workers", () => {
  it("an activity is assigned to one worker, with its arguments, and its result reaches its run", async () => {
    const { app, api } = await scheduled();
    await using _ = app;
    const task = await api.task("w1", "activity", NOW);
    assert.deepEqual(unwrap(task.arguments), ["tea", 2.5]);
    assert.deepEqual([task.activity_type, task.attempt_number, task.workflow_id], ["charge", 1, "o-1"]);
    assert.equal((await api.poll("w2", "activity", NOW)).body.task, null);
    const done = await api.activity(task, "complete", { result: envelope({ ok: true }) });
    assert.deepEqual([done.status, done.body.outcome, done.body.recorded], [200, "completed", true]);
    const { event_type, payload } = await last(api);
    assert.deepEqual([event_type, payload.sequence, payload.activity_type], ["ActivityCompleted", 1, "charge"]);
    assert.deepEqual(unwrap(payload.result), { ok: true });
    assert.deepEqual(reasonOf(await api.activity(task, "complete", { result: envelope(1) })), [404, "task_not_found"]);
  });

  it("an activity is ended only by the worker that holds it", async () => {
    const { app, api } = await scheduled();
    await using _ = app;
    const task = await api.task("w1", "activity", NOW);
    const result = { result: envelope(1) };
    assert.deepEqual(reasonOf(await api.activity({ ...task, lease_owner: "w2" }, "complete", result)), [
      409,
      "lease_owner_mismatch",
    ]);
    assert.deepEqual(reasonOf(await api.activity({ ...task, activity_attempt_id: "x" }, "complete", result)), [
      409,
      "attempt_not_found",
    ]);
    for (const task_id of ["nonsense", Buffer.from('["a"]').toString("base64url")]) {
      assert.deepEqual(reasonOf(await api.activity({ ...task, task_id }, "complete", result)), [404, "task_not_found"]);
    }
    assert.deepEqual(reasonOf(await api.activity(task, "fail", {})), [422, "validation_failed"]);
    assert.equal((await api.activity(task, "complete", result)).status, 200);
  });

  it("an activity stays with its worker while heartbeats arrive, and the next attempt gets their details", async () => {
    const { app, api } = await scheduled({
      heartbeat_timeout: 10,
      retry_policy: { max_attempts: 2, backoff_seconds: [0] },
    });
    await using _ = app;
    const task = await api.task("w1", "activity", NOW);
    for (let i = 0; i < 3; i++) {
      await app.advance("8s");
      const beat = await api.activity(task, "heartbeat", { details: { page: i } });
      assert.deepEqual([beat.status, beat.body.cancel_requested, beat.body.heartbeat_recorded], [200, false, true]);
    }
    assert.equal((await api.poll("w2", "activity", NOW)).body.task, null);
    await app.advance("11s");
    assert.deepEqual(reasonOf(await api.activity(task, "heartbeat", {})), [409, "lease_expired"]);
    const again = await api.task("w2", "activity", NOW);
    assert.deepEqual([again.attempt_number, again.last_heartbeat_details], [2, { details: { page: 2 } }]);
    assert.deepEqual(reasonOf(await api.activity(task, "complete", { result: envelope(1) })), [409, "task_not_leased"]);
    await app.advance("11s");
    assert.equal((await api.poll("w2", "activity", NOW)).body.task, null);
    assert.equal((await last(api)).event_type, "ActivityTimedOut");
  });

  it("an activity is retried after the pauses of its policy, unless its failure is final", async () => {
    const policy = { max_attempts: 4, backoff_seconds: [5, 60], non_retryable_error_types: ["Stolen"] };
    const { app, api } = await scheduled({ retry_policy: policy });
    await using _ = app;
    const fail = async (failure: Json): Promise<Json> => {
      const task = await api.task("w1", "activity", NOW);
      return (await api.activity(task, "fail", { failure: { message: "no", ...failure } })).body;
    };
    assert.equal((await fail({ type: "Busy" })).retry_scheduled, true);
    assert.equal((await api.poll("w1", "activity", NOW)).body.task, null);
    await app.advance("5s");
    assert.equal((await fail({ type: "Busy" })).retry_scheduled, true);
    await app.advance("60s");
    assert.equal((await fail({ type: "Stolen" })).retry_scheduled, false);
    const { event_type, payload } = await last(api);
    assert.deepEqual([event_type, payload.exception_type, payload.attempt_number], ["ActivityFailed", "Stolen", 3]);
  });

  it("an activity that did not start in time is not started at all", async () => {
    const { app, api } = await scheduled({ schedule_to_start_timeout: 5 });
    await using _ = app;
    await app.advance("6s");
    assert.equal((await api.poll("w1", "activity", NOW)).body.task, null);
    assert.equal((await last(api)).event_type, "ActivityTimedOut");
  });

  it("a heartbeat reports that the run no longer waits for the activity", async () => {
    const { app, api } = await scheduled();
    await using _ = app;
    const task = await api.task("w1", "activity", NOW);
    await api.post("/workflows/o-1/cancel", { reason: "enough" });
    // The next worker that polls closes the run.
    await api.poll("w2", "workflow", NOW);
    assert.equal((await api.get("/workflows/o-1")).body.status, "cancelled");
    const beat = await api.activity(task, "heartbeat", {});
    assert.deepEqual([beat.status, beat.body.cancel_requested, beat.body.can_continue], [200, true, false]);
  });
});

describe("timeouts of activities", () => {
  it("an activity without a worker times out", async () => {
    for (const limit of ["schedule_to_start_timeout", "schedule_to_close_timeout"]) {
      const { app, api } = await scheduled({ [limit]: 20 });
      await using _ = app;
      await app.advance("19s");
      assert.equal((await api.poll("w1", "workflow", NOW)).body.task, null);
      await app.advance("2s");
      assert.equal((await last(api)).event_type, "ActivityTimedOut", limit);
    }
  });

  it("an activity that takes too long is assigned to another worker despite its heartbeats", async () => {
    const policy = { max_attempts: 2, backoff_seconds: [0] };
    const { app, api } = await scheduled({ start_to_close_timeout: 20, heartbeat_timeout: 15, retry_policy: policy });
    await using _ = app;
    const task = await api.task("w1", "activity", NOW);
    await app.advance("12s");
    const beat = await api.activity(task, "heartbeat", {});
    assert.equal(beat.body.lease_expires_at, (task.deadlines as Json).start_to_close);
    await app.advance("9s");
    assert.deepEqual(reasonOf(await api.activity(task, "heartbeat", {})), [409, "lease_expired"]);
    assert.equal((await api.task("w2", "activity", NOW)).attempt_number, 2);
    assert.deepEqual(reasonOf(await api.activity(task, "complete", { result: envelope(1) })), [409, "task_not_leased"]);
  });

  it("an activity whose worker is gone ends with its last attempt, without a poll", async () => {
    const { app, api } = await scheduled({ heartbeat_timeout: 20 });
    await using _ = app;
    await api.task("w1", "activity", NOW);
    await app.advance("1m");
    const { event_type, payload } = await last(api);
    assert.equal(event_type, "ActivityTimedOut");
    assert.match(String(payload.message), /reported no result/);
  });

  it("a late result is accepted once while the worker still holds the activity", async () => {
    const { app, api } = await scheduled({ schedule_to_close_timeout: 20 });
    await using _ = app;
    const task = await api.task("w1", "activity", NOW);
    await app.advance("21s");
    assert.equal((await last(api)).event_type, "ActivityTimedOut");
    const late = await api.activity(task, "complete", { result: envelope(1) });
    assert.deepEqual([...reasonOf(late), late.body.cancel_requested], [404, "task_not_found", true]);
    const beat = await api.activity(task, "heartbeat", {});
    assert.deepEqual([beat.status, beat.body.cancel_requested], [200, true]);
  });
});

describe("worker with an activity", () => {
  it("a heartbeat reports that its run was ended, and how", async () => {
    const { app, api } = await scheduled();
    await using _ = app;
    const task = await api.task("w1", "activity", NOW);
    await api.post("/workflows/o-1/terminate", { reason: "enough" });
    const { status, body } = await api.activity(task, "heartbeat", {});
    assert.deepEqual([status, body.cancel_requested, body.run_closed_reason], [200, true, "terminated"]);
  });

  it("a heartbeat reports that a workflow in this process has cancelled the activity", async (t) => {
    const order = workflow("mixed", async (ctx) => ctx.activity<string>("charge", undefined, { queue: "orders" }));
    const api = await openApi(t, { workflows: [order] });
    await api.worker("w1");
    const handle = await api.app.workflows.start(order, { id: "m-1", input: undefined });
    const task = await api.task("w1", "activity");
    assert.equal((await api.activity(task, "heartbeat", {})).body.cancel_requested, false);
    await handle.cancel("enough");
    await assert.rejects(handle.result());
    const { status, body } = await api.activity(task, "heartbeat", { details: { page: 1 } });
    assert.deepEqual([status, body.cancel_requested, body.heartbeat_recorded], [200, true, false]);
    // The heartbeat did not revive the activity.
    assert.equal((await api.poll("w1", "activity", NOW)).body.task, null);
  });

  it("a failure reaches a workflow in this process like the failure of a local activity", async (t) => {
    const order = workflow("mixed", async (ctx) => {
      try {
        return await ctx.activity<string>("charge", undefined, {
          queue: "orders",
          retry: { nonRetryable: ["Stolen"] },
        });
      } catch (thrown) {
        const { code, message, cause } = thrown as { code: string; message: string; cause: Error };
        return [code, message, cause.name].join(" ");
      }
    });
    const api = await openApi(t, { workflows: [order] });
    await api.worker("w1");
    const handle = await api.app.workflows.start(order, { id: "m-1", input: undefined });
    const failure = { message: "gone", type: "Stolen" };
    const response = await api.activity(await api.task("w1", "activity"), "fail", { failure });
    assert.equal(response.body.retry_scheduled, false);
    assert.equal(await handle.result(), "ACTIVITY_FAILED gone Stolen");
  });

  it("heartbeat details above the limit are rejected", async () => {
    const { app, api } = await scheduled();
    await using _ = app;
    const task = await api.task("w1", "activity", NOW);
    const beat = await api.activity(task, "heartbeat", { details: "x".repeat(2 * 1024 * 1024) });
    assert.equal(beat.status, 413);
    assert.equal((await api.activity(task, "complete", { result: envelope(1) })).status, 200);
  });
});

describe("activities across processes and HTTP workers", () => {
  it("an activity of a workflow in this process can run on an HTTP worker", async (t) => {
    const order = workflow("mixed", async (ctx, input: { id: string }) => {
      const paid = await ctx.activity<string>("charge", input, { queue: "orders" });
      return `${paid}!`;
    });
    const api = await openApi(t, { workflows: [order] });
    await api.worker("w1");
    const handle = await api.app.workflows.start(order, { id: "m-1", input: { id: "tea" } });
    const task = await api.task("w1", "activity");
    assert.deepEqual(unwrap(task.arguments), [{ id: "tea" }]);
    await api.activity(task, "complete", { result: envelope("paid") });
    assert.equal(await handle.result(), "paid!");
  });

  it("an activity of an HTTP workflow can run in this process", async (t) => {
    const activities = { double: async (n: number) => n * 2 };
    const api = await openApi(t, { activities: activities as never });
    await api.worker("w1");
    await api.start("o-1");
    const command = { type: "schedule_activity", activity_type: "double", queue: "default", arguments: envelope([21]) };
    await api.complete(await api.task("w1"), [command]);
    const task = await api.task("w1");
    assert.equal(eventTypes(task).at(-1), "ActivityCompleted");
    const { payload } = (task.history_events as { payload: Json }[]).at(-1)!;
    assert.equal(unwrap(payload.result), 42);
  });
});
