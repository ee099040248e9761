// Bad input and faults of HTTP workers: a full history, very many signals, a worker that takes tasks and
// disappears, one that fails every task. Other runs continue.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OPTIONS } from "../../config/options.ts";
import { type TestApp, testLimpet } from "../../testing.ts";
import { type HistoryEvent, writeEventBatch } from "../../workflows/engine/events.ts";
import { Api, type ApiResponse, envelope, type Json } from "./api-kit.test.ts";

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];
const HISTORY_MOST_EVENTS = Number(OPTIONS.workerHistoryEvents.default);
const ACTIVITY = { type: "schedule_activity", activity_type: "charge", arguments: envelope([1]) };
const DONE = { type: "complete_workflow", result: envelope("done") };

async function open(): Promise<{ readonly app: TestApp; readonly api: Api }> {
  const app = await testLimpet({ http: { port: 0 } });
  const api = new Api(app);
  await api.worker("w1");
  return { app, api };
}

const now = (api: Api, worker: string): Promise<Json> => api.task(worker, "workflow", { timeout_seconds: 0 });

/** Another run that must not be affected. */
async function isWell(api: Api, worker = "w1"): Promise<void> {
  await api.start("well");
  const task = await now(api, worker);
  assert.equal(task.workflow_id, "well");
  assert.equal((await api.complete(task, [DONE])).body.run_status, "completed");
}

describe("full history of an HTTP workflow", () => {
  async function full(app: TestApp): Promise<void> {
    const { start, started } = app.workflows.prepare("order", { id: "o-1", input: "tea", queue: "orders" });
    const signals = (n: number): HistoryEvent => ({ kind: "SignalReceived", id: `s${n}`, name: "go", input: n });
    const events = [started, ...Array.from({ length: HISTORY_MOST_EVENTS - 1 }, (_, n) => signals(n))];
    await app.store.workflows.start([{ ...start, first: writeEventBatch({ at: app.clock.now(), events }) }]);
  }

  it("a completion that does not fit is rejected with the limit; its worker keeps the task, and the run can be terminated", async () => {
    const { app, api } = await open();
    await using _ = app;
    await full(app);
    const task = await api.task("w1", "workflow", { timeout_seconds: 0, history_page_size: 10 });
    assert.equal(task.history_budget_pressure, "continue_as_new_recommended");
    const response = await api.complete(task, [ACTIVITY]);
    assert.deepEqual(reasonOf(response), [422, "structural_limit_exceeded"]);
    assert.deepEqual(
      [response.body.limit_kind, response.body.configured_limit],
      ["history_events", HISTORY_MOST_EVENTS],
    );
    const { workflow_task } = (await api.get("/workflows/o-1")).body as Record<string, Json>;
    assert.deepEqual([workflow_task!.status, workflow_task!.lease_owner], ["leased", "w1"]);
    assert.equal((await api.post("/workflows/o-1/terminate", { reason: "too long" })).status, 200);
    assert.deepEqual(reasonOf(await api.complete(task, [ACTIVITY])), [409, "run_closed"]);
    await isWell(api);
  });

  it("a run with a full history can end, or continue as new", async () => {
    for (const [last, status] of [
      [DONE, "completed"],
      [{ type: "continue_as_new", arguments: envelope(["milk"]) }, undefined],
    ] as const) {
      const { app, api } = await open();
      await using _ = app;
      await full(app);
      const task = await api.task("w1", "workflow", { timeout_seconds: 0, history_page_size: 10 });
      const response = await api.complete(task, [last]);
      assert.equal(response.status, 200);
      if (status !== undefined) assert.equal(response.body.run_status, status);
      else assert.equal((await now(api, "w1")).workflow_id, "o-1");
    }
  });
});

describe("ten thousand signals to an HTTP workflow", () => {
  it("ten thousand signals are kept while the run waits for a step, and arrive in order with its result", async () => {
    const { app, api } = await open();
    await using _ = app;
    await api.start("o-1");
    await api.complete(await now(api, "w1"), [ACTIVITY]);
    const handle = app.workflows.get("o-1");
    const most = 10_000;
    for (let n = 0; n < most; n += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => handle.signal("go", n + i)));
    }
    await isWell(api);
    const charge = await api.task("w1", "activity", { timeout_seconds: 0 });
    assert.equal((await api.activity(charge, "complete", { result: envelope("paid") })).status, 200);
    const task = await api.task("w1", "workflow", { timeout_seconds: 0, history_page_size: 1 });
    assert.ok(Number(task.last_history_sequence) > most);
    assert.equal((await api.complete(task, [DONE])).body.run_status, "completed");
    const history = await handle.history();
    const signals = history.flatMap(({ event }) => (event.kind === "SignalReceived" ? [event.input] : []));
    assert.equal(signals.length, most);
    assert.ok(signals.every((n, i) => n === i));
  });
});

describe("HTTP worker that takes tasks and dies", () => {
  it("a dead worker holds its tasks until its lease is over; then another worker gets them, and late reports are ignored", async () => {
    const { app, api } = await open();
    await using _ = app;
    await api.start("o-1");
    const lost = await now(api, "w1");
    await api.worker("w2");
    assert.equal((await api.poll("w2", "workflow", { timeout_seconds: 0 })).body.task, null);
    await app.advance("61s");
    await api.worker("w2");
    const task = await now(api, "w2");
    assert.deepEqual([task.workflow_id, task.workflow_task_attempt], ["o-1", 2]);
    assert.equal((await api.complete(lost, [DONE])).status, 409);
    assert.equal((await api.complete(task, [DONE])).body.run_status, "completed");
  });
});

describe("poisoned HTTP workflow", () => {
  it("a workflow that fails every task is retried with growing pauses, shows the reason, and other runs continue", async () => {
    const { app, api } = await open();
    await using _ = app;
    await api.start("o-1");
    let attempts = 0;
    for (let passed = 0; passed < 600; passed += 10) {
      await app.advance("10s");
      await api.post("/worker/heartbeat", { worker_id: "w1" });
      const { task } = (await api.poll("w1", "workflow", { timeout_seconds: 0 })).body as { task: Json | null };
      if (task === null) continue;
      attempts++;
      const holder = { lease_owner: task.lease_owner, workflow_task_attempt: task.workflow_task_attempt };
      const failure = { type: "NonDeterministicError", message: "not what I remember" };
      await api.post(`/worker/workflow-tasks/${task.task_id}/fail`, { ...holder, failure });
    }
    // The pauses double: of ten minutes the last one takes more than four.
    assert.ok(attempts >= 5 && attempts <= 10, String(attempts));
    const { wait_reason } = (await api.get("/workflows/o-1")).body;
    assert.equal(wait_reason, "NonDeterministicError: not what I remember");
    assert.equal((await api.post("/workflows/o-1/cancel", { reason: "enough" })).status, 200);
    await isWell(api);
  });
});
