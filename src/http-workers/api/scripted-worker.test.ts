// A scripted HTTP worker runs workflows: activities, timers, signals, queries, updates, children and groups,
// cold and from memory.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Api, envelope, eventually, type Json, openApi, type Scripted, ScriptedWorker } from "./api-kit.test.ts";

const ORDER: Scripted = {
  *run([id]) {
    const paid = yield { type: "schedule_activity", activity_type: "charge", arguments: envelope([id, 7]) };
    yield { type: "start_timer", delay_seconds: 0 };
    const isApproved = yield {
      type: "open_condition_wait",
      condition_key: "approved",
      test: (s: Json) => s.approved === true,
    } as never;
    return { id, paid, isApproved };
  },
  signals: { approve: (state, [by]) => Object.assign(state, { approved: true, by }), noise: () => {} },
  updates: {
    rename: (state, [name]) => {
      if (name === "") throw new Error("a name is needed");
      return Object.assign(state, { name }).name;
    },
  },
  queries: { state: (state) => state },
};

const CONTRACT = {
  workflow_command_contracts: {
    order: { signals: ["approve", "noise"], queries: ["state"], updates: ["rename"], update_validators: [] },
  },
};

async function withWorker(
  t: TestContext,
  more: Json = {},
  scripts = { order: ORDER },
): Promise<{ api: Api; worker: ScriptedWorker }> {
  const api = await openApi(t);
  assert.equal((await api.worker("w1", { ...CONTRACT, ...more })).status, 201);
  const worker = new ScriptedWorker(api, "w1", scripts).begin({ charge: (id, amount) => `paid ${id} ${amount}` });
  t.after(() => worker.stop());
  return { api, worker };
}

const outcome = (api: Api, id: string): Promise<Json> =>
  eventually(async () => {
    const { body } = await api.get(`/workflows/${id}`);
    return body.is_terminal === true ? body : undefined;
  });

const waiting = (api: Api, id: string, event: string): Promise<Json[]> =>
  eventually(async () => {
    const { body } = await api.get(`/workflows/${id}`);
    const history = await api.get(`/workflows/${id}/runs/${body.run_id}/history?page_size=1000`);
    const events = history.body.events as Json[];
    return events.some(({ event_type }) => event_type === event) ? events : undefined;
  });

describe("scripted HTTP worker", () => {
  it("an HTTP worker runs a workflow with an activity, a timer, signals, a query and updates to its end", async (t) => {
    const { api } = await withWorker(t);
    assert.equal((await api.start("o-1", ["o-1"])).status, 201);
    await waiting(api, "o-1", "ConditionWaitOpened");
    assert.equal((await api.post("/workflows/o-1/signal/noise", { input: [1] })).status, 200);
    const updated = await api.post("/workflows/o-1/update/rename", { input: ["tea"], wait_for: "completed" });
    assert.equal(updated.status, 200, JSON.stringify(updated.body));
    assert.deepEqual([updated.body.update_status, updated.body.result], ["completed", "tea"]);
    const failed = await api.post("/workflows/o-1/update/rename", { input: [""], wait_for: "completed" });
    assert.deepEqual(
      [failed.status, failed.body.reason, failed.body.message],
      [409, "update_failed", "a name is needed"],
    );
    const asked = await api.post("/workflows/o-1/query/state", { input: [] });
    assert.deepEqual(asked.body.result, { name: "tea" });
    await api.post("/workflows/o-1/signal/approve", { input: ["eve"] });
    const { status, output } = await outcome(api, "o-1");
    assert.deepEqual([status, output], ["completed", { id: "o-1", paid: "paid o-1 7", isApproved: true }]);
  });

  it("a local client reaches the run of an HTTP worker with start, query, update and result", async (t) => {
    const { api } = await withWorker(t);
    const handle = await api.app.workflows.start("order", { id: "o-2", input: "o-2", queue: "orders" });
    await waiting(api, "o-2", "ConditionWaitOpened");
    assert.equal(await handle.update("rename", "milk"), "milk");
    assert.deepEqual(await handle.query("state"), { name: "milk" });
    await handle.signal("approve", "bob");
    assert.deepEqual(await handle.result(), { id: "o-2", paid: "paid o-2 7", isApproved: true });
  });

  it("an HTTP worker gets a cold replay first and then warm tasks, as its cache reports", async (t) => {
    const { api, worker } = await withWorker(t, { sticky_cache_enabled: true, sticky_cache_capacity: 100 });
    await api.start("o-3", ["o-3"]);
    await waiting(api, "o-3", "ConditionWaitOpened");
    await api.post("/workflows/o-3/signal/approve", { input: ["eve"] });
    await outcome(api, "o-3");
    assert.equal(worker.modes[0], "cold_replay");
    assert.ok(
      worker.modes.slice(1).length > 0 && worker.modes.slice(1).every((mode) => mode === "sticky_hit_expected"),
      worker.modes.join(),
    );
    const { body } = await api.get("/system/operator-metrics");
    const sticky = body.sticky_execution as Json;
    assert.equal(sticky.hit_expected_last_minute, worker.modes.length - 1);
    assert.equal(sticky.cold_replay_last_minute, 1);
  });

  it("an HTTP worker that waits for a condition gets one signal after the other, each in its own wait", async (t) => {
    const counts: Scripted = {
      *run() {
        const isThere = yield {
          type: "open_condition_wait",
          condition_key: "three",
          test: (s: Json) => s.n === 3,
        } as never;
        return isThere;
      },
      signals: { add: (state) => Object.assign(state, { n: Number(state.n ?? 0) + 1 }) },
    };
    const { api } = await withWorker(t, { workflow_command_contracts: {} }, { order: counts });
    await api.start("o-4");
    await waiting(api, "o-4", "ConditionWaitOpened");
    await Promise.all([1, 2, 3].map(() => api.post("/workflows/o-4/signal/add")));
    assert.equal((await outcome(api, "o-4")).output, true);
    const events = await waiting(api, "o-4", "WorkflowCompleted");
    const types = events.map(({ event_type }) => event_type).join(" ");
    assert.equal(
      types,
      "WorkflowStarted ConditionWaitOpened SignalReceived ConditionWaitOpened SignalReceived ConditionWaitOpened SignalReceived WorkflowCompleted",
    );
    const waits = events
      .filter(({ event_type }) => event_type === "ConditionWaitOpened")
      .map(({ payload }) => (payload as Json).sequence);
    const signals = events
      .filter(({ event_type }) => event_type === "SignalReceived")
      .map(({ payload }) => (payload as Json).workflow_sequence);
    assert.deepEqual(signals, waits);
  });

  it("a wait for a condition ends at its timeout, whatever arrived meanwhile", async (t) => {
    const patient: Scripted = {
      *run() {
        return yield {
          type: "open_condition_wait",
          condition_key: "never",
          timeout_seconds: 1,
          test: () => false,
        } as never;
      },
    };
    const { api } = await withWorker(t, { workflow_command_contracts: {} }, { order: patient });
    await api.start("o-5");
    await waiting(api, "o-5", "ConditionWaitOpened");
    await api.post("/workflows/o-5/signal/poke");
    assert.equal((await outcome(api, "o-5")).output, false);
    const events = await waiting(api, "o-5", "TimerFired");
    const fired = events.find(({ event_type }) => event_type === "TimerFired")!.payload as Json;
    const opened = events.findLast(({ event_type }) => event_type === "ConditionWaitOpened")!.payload as Json;
    assert.deepEqual([fired.timer_kind, fired.condition_wait_id], ["condition_timeout", opened.condition_wait_id]);
  });

  it("an activity is retried by its policy, and the workflow gets the last failure", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    const fragile: Scripted = {
      *run() {
        const retry_policy = { max_attempts: 3, backoff_seconds: [0] };
        return yield { type: "schedule_activity", activity_type: "charge", arguments: envelope([]), retry_policy };
      },
    };
    let tries = 0;
    const worker = new ScriptedWorker(api, "w1", { order: fragile }).begin({
      charge: () => {
        throw new Error(`no ${++tries}`);
      },
    });
    t.after(() => worker.stop());
    await api.start("o-6");
    assert.equal((await outcome(api, "o-6")).output, "no 3");
    assert.equal(tries, 3);
  });

  it("an HTTP workflow starts children and gets their results", async (t) => {
    const parent: Scripted = {
      *run([depth]) {
        if (depth === 0) return "leaf";
        return yield { type: "start_child_workflow", workflow_type: "order", arguments: envelope([Number(depth) - 1]) };
      },
    };
    const { api } = await withWorker(t, { workflow_command_contracts: {} }, { order: parent });
    await api.start("o-7", [2]);
    assert.equal((await outcome(api, "o-7")).output, "leaf");
  });
});
