// Hostile requests about workflows: moments beyond all dates, updates without a handler, reasons named like
// inherited properties.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { workflow } from "../../index.ts";
import { type Api, envelope, eventTypes, type Json, openApi } from "./api-kit.test.ts";

/** The longest duration that can be written. */
const FOREVER = "9007199254740991ms";

async function steer(api: Api, act: string, body: Json, headers: Record<string, string> = {}) {
  const response = await fetch(`${api.app.url}/v1.0/control/workflows/${act}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Json) };
}

describe("moments beyond all dates", () => {
  for (const field of ["timeout", "runTimeout", "delay"]) {
    it(`a ${field} beyond all dates is the end of time, and the workflow can be read`, async (t: TestContext) => {
      const api = await openApi(t);
      const request = { type: "order", id: "o", queue: "orders", [field]: FOREVER };
      assert.equal((await steer(api, "start", request)).status, 200);
      const { status, body } = await api.get("/workflows/o");
      assert.equal(status, 200);
      if (field !== "delay") {
        const deadline = field === "timeout" ? body.execution_deadline_at : body.run_deadline_at;
        assert.equal(deadline, "9999-12-31T23:59:59.999Z");
      }
      assert.equal((await api.get(`/workflows/o/runs/${body.run_id}/history`)).status, 200);
      const look = await fetch(`${api.app.url}/v1.0/inspect/workflow/o`);
      assert.equal(look.status, 200);
      await look.arrayBuffer();
    });
  }

  it("a timer beyond all dates does not prevent the run from being read", async (t: TestContext) => {
    const sleepy = workflow("sleepy", async (ctx): Promise<void> => {
      await ctx.sleep(FOREVER);
    });
    const api = await openApi(t, { workflows: [sleepy] });
    const handle = await api.app.workflows.start(sleepy, { id: "o", input: undefined });
    let types: unknown;
    for (let i = 0; i < 1_000 && !String(types).includes("TimerScheduled"); i++) {
      const { status, body } = await api.get(`/workflows/o/runs/${handle.runId}/history`);
      assert.equal(status, 200);
      types = eventTypes({ history_events: body.events });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.match(String(types), /TimerScheduled/);
    assert.match((await api.app.workflows.get("o").describe()).status, /running/);
  });
});

describe("update without a handler", () => {
  it("an update that no worker handles is answered in time as one that may still be done", async (t: TestContext) => {
    const api = await openApi(t, {}, { store: "memory:", callTimeout: "1s", storeTimeout: "1s" });
    await api.start("o");
    const asked = { id: "o", name: "rename", input: "x" };
    for (const headers of [{}, { "limpet-timeout": "100ms" }]) {
      const { status, body } = await steer(api, "update", asked, headers as Record<string, string>);
      assert.deepEqual([status, body.errorCode, body.retry], [504, "CALL_TIMEOUT", "unknown"]);
    }
    assert.equal((await steer(api, "update", asked, { "limpet-timeout": "0s" })).status, 400);
  });
});

describe("names of inherited properties", () => {
  it("a query that fails with an inherited property name as reason is rejected, and no metric label contains code", async (t: TestContext) => {
    const api = await openApi(t);
    await api.worker("w1");
    await api.start("o");
    for (const reason of ["constructor", "__proto__", "toString"]) {
      const asking = api.post("/workflows/o/query/state");
      const task = await api.task("w1", "query");
      const holder = { lease_owner: "w1", query_task_attempt: task.query_task_attempt };
      const failure = { message: "no", reason };
      await api.post(`/worker/query-tasks/${task.query_task_id}/fail`, { ...holder, failure });
      const { status, body } = await asking;
      assert.deepEqual([status, body.reason, body.message], [409, "query_rejected", "no"]);
    }
    const metrics = await (await fetch(`${api.app.url}/metrics`)).text();
    assert.doesNotMatch(metrics, /native code/);
  });

  it("a workflow type may be named like an inherited property, and has the handlers that its worker registered", async (t: TestContext) => {
    const api = await openApi(t);
    const contract = { constructor: { queries: ["state"], signals: ["go"] } };
    await api.worker("w1", { supported_workflow_types: ["constructor"], workflow_command_contracts: contract });
    await api.start("o", [], { workflow_type: "constructor" });
    assert.equal((await api.post("/workflows/o/signal/stop")).body.reason, "unknown_signal");
    assert.equal((await api.post("/workflows/o/signal/go")).status, 200);
    assert.equal((await api.post("/workflows/o/query/other")).body.reason, "rejected_unknown_query");
  });
});

describe("numbers with thousands of digits", () => {
  it("a number with thousands of digits is rejected before it is parsed", async (t: TestContext) => {
    const api = await openApi(t);
    const digits = "0".repeat(2_000);
    assert.equal((await api.get(`/workflows?page_size=${digits}7`)).status, 422);
    await api.worker("w1");
    await api.start("o");
    const retry_policy = { backoff_seconds: Array(2_000).fill(1) };
    const command = { type: "schedule_activity", activity_type: "charge", arguments: envelope([]), retry_policy };
    const { status, body } = await api.complete(await api.task("w1"), [command]);
    assert.deepEqual([status, body.reason], [409, "invalid_commands"]);
  });
});
