// Workflows steered over HTTP: start, list, describe, signal, query, update and end, with code in this
// process or on HTTP workers.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { workflow } from "../../workflows/definition/definition.ts";
import { type ApiResponse, envelope, eventually, type Json, openApi, unwrap } from "./api-kit.test.ts";

const reasonOf = ({ status, body }: ApiResponse): [number, unknown] => [status, body.reason];
const WAIT = { type: "open_condition_wait", condition_key: "k" };
const DONE = { type: "complete_workflow", result: envelope("done") };

describe("start of a workflow", () => {
  it("a start answers with the run, and a second start of the id is rejected by default", async (t) => {
    const api = await openApi(t);
    const first = await api.start("o-1", [1], {
      memo: { who: "eve" },
      search_attributes: { city: "Rome" },
      business_key: "b",
    });
    assert.equal(first.status, 201);
    assert.deepEqual(
      [first.body.outcome, first.body.workflow_type, first.body.business_key],
      ["started_new", "order", "b"],
    );
    assert.deepEqual((first.body.control_plane as Json).operation, "start");
    assert.deepEqual(reasonOf(await api.start("o-1")), [409, "duplicate_not_allowed"]);
    const same = await api.start("o-1", [], { duplicate_policy: "use-existing" });
    assert.deepEqual([same.body.outcome, same.body.run_id], ["returned_existing_active", first.body.run_id]);
    const { body } = await api.get("/workflows/o-1");
    assert.deepEqual(
      [body.memo, body.search_attributes, body.input],
      [{ who: "eve" }, { city: "Rome", business_key: "b" }, [1]],
    );
    assert.deepEqual(unwrap(body.input_envelope), [1]);
  });

  it("an invalid start is rejected", async (t) => {
    const api = await openApi(t);
    const wrong: readonly [string, Json][] = [
      ["workflow_id", { workflow_id: "a b" }],
      ["workflow_type", { workflow_type: null }],
      ["duplicate_policy", { duplicate_policy: "guess" }],
      ["run_timeout_seconds", { run_timeout_seconds: 0 }],
      ["memo", { memo: "x" }],
      ["search_attributes", { search_attributes: { city: { of: "Rome" } } }],
      ["search_attributes", { search_attributes: { "a\u0000b": 1 } }],
      ["search_attributes", { search_attributes: { city: "x".repeat(3_000) } }],
    ];
    for (const [field, more] of wrong) {
      const response = await api.start("o-1", [], more);
      assert.deepEqual(reasonOf(response), [422, "validation_failed"], field);
      assert.deepEqual(Object.keys(response.body.errors as Json), [field]);
    }
    assert.deepEqual(reasonOf(await api.start("o-1", [], { input: { codec: "json", blob: "" } })), [
      422,
      "unsupported_payload_codec",
    ]);
    assert.deepEqual(reasonOf(await api.start("o-1", ["x".repeat(2_200_000)])), [422, "structural_limit_exceeded"]);
    const memo = { memo: { long: "x".repeat(2_200_000) } };
    assert.deepEqual(reasonOf(await api.start("o-1", [], memo)), [422, "structural_limit_exceeded"]);
    assert.deepEqual(reasonOf(await api.start("o-1", ["x".repeat(LIMITS.httpBodyBytes + 1)])), [
      413,
      "payload_too_large",
    ]);
  });
});

describe("workflow views", () => {
  it("runs are listed page by page, by type and status", async (t) => {
    const api = await openApi(t);
    for (let i = 0; i < 5; i++) await api.start(`o-${i}`);
    await api.start("other", [], { workflow_type: "bill" });
    await api.post("/workflows/o-0/terminate");
    const seen: unknown[] = [];
    for (let token: unknown = ""; token !== null; ) {
      const { body } = await api.get(
        `/workflows?workflow_type=order&status=running&page_size=3&next_page_token=${token}`,
      );
      seen.push(...(body.workflows as Json[]).map(({ workflow_id }) => workflow_id));
      token = body.next_page_token;
    }
    assert.deepEqual(seen, ["o-4", "o-3", "o-2", "o-1"]);
    assert.deepEqual(reasonOf(await api.get("/workflows?status=odd")), [422, "validation_failed"]);
    assert.deepEqual(reasonOf(await api.get("/workflows?page_size=0")), [422, "validation_failed"]);
  });

  it("a name that no store can hold is rejected", async (t) => {
    const api = await openApi(t);
    for (const path of ["/workflows/%00", "/workflows/no/runs/a%00b", "/workflows?query=%00", "/workers/%00"]) {
      assert.deepEqual(reasonOf(await api.get(path)), [422, "validation_failed"], path);
    }
    const drained = await api.post("/task-queues/orders/build-ids/drain", { build_id: "a\u0000" });
    assert.deepEqual(reasonOf(drained), [422, "validation_failed"]);
  });

  it("a request for an unknown workflow names the missing part", async (t) => {
    const api = await openApi(t);
    for (const path of [
      "/workflows/no",
      "/workflows/no/runs",
      "/workflows/no/runs/r",
      "/workflows/no/runs/r/history",
    ]) {
      assert.deepEqual(reasonOf(await api.get(path)), [404, "instance_not_found"], path);
    }
    for (const command of ["signal/s", "query/q", "update/u", "cancel", "terminate"]) {
      assert.deepEqual(reasonOf(await api.post(`/workflows/no/${command}`)), [404, "instance_not_found"], command);
    }
    assert.deepEqual(reasonOf(await api.get("/workers/no")), [404, "worker_not_found"]);
  });

  it("a history is shown from any event to its end", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    const { body } = await api.start("o-1");
    await api.complete(await api.task("w1"), [{ type: "record_side_effect", result: envelope(1).blob }, DONE]);
    const path = `/workflows/o-1/runs/${body.run_id}/history`;
    const first = await api.get(`${path}?page_size=2`);
    assert.deepEqual([(first.body.events as Json[]).length, first.body.next_page_token], [2, "2"]);
    const rest = await api.get(`${path}?next_page_token=2`);
    const [end] = rest.body.events as { event_type: string; payload: Json }[];
    assert.deepEqual(
      [end!.event_type, unwrap(end!.payload.output), rest.body.next_page_token],
      ["WorkflowCompleted", "done", null],
    );
  });

  it("a request without paging gets a long history with its end in one answer", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    const { body } = await api.start("o-1");
    const effects = Array.from({ length: 500 }, (_, i) => ({ type: "record_side_effect", result: envelope(i).blob }));
    await api.complete(await api.task("w1"), [...effects, DONE]);
    const { events, next_page_token } = (await api.get(`/workflows/o-1/runs/${body.run_id}/history`)).body;
    assert.deepEqual([(events as Json[]).length, next_page_token], [502, null]);
    assert.equal((events as Json[]).at(-1)!.event_type, "WorkflowCompleted");
  });

  it("a client that waits for new events is answered when there are some, until the run is over", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    const { body } = await api.start("o-1");
    const path = `/workflows/o-1/runs/${body.run_id}/history?wait_new_event=true`;
    const seen: unknown[] = [];
    const watching = (async () => {
      for (let token: unknown = "0"; token !== null; ) {
        const response = (await api.get(`${path}&next_page_token=${token}`)).body;
        seen.push(...(response.events as Json[]).map(({ event_type }) => event_type));
        token = response.next_page_token;
      }
    })();
    await api.complete(await api.task("w1"), [{ type: "start_timer", delay_seconds: 0 }]);
    await api.complete(await api.task("w1"), [DONE]);
    await watching;
    assert.deepEqual(seen, ["WorkflowStarted", "TimerScheduled", "TimerFired", "WorkflowCompleted"]);
  });
});

describe("run with code in this process", () => {
  const cart = workflow("cart", async (ctx, input: { id: string }) => {
    let items: string[] = [];
    ctx.onQuery("items", () => items);
    ctx.onUpdate("add", (item: string) => {
      items = [...items, item];
      return items.length;
    });
    const by = await ctx.signal<string>("checkout");
    return { id: input.id, items, by };
  });

  it("a local run is steered over HTTP, and one argument is its input", async (t) => {
    const api = await openApi(t, { workflows: [cart] });
    await api.post("/workflows", { workflow_id: "c-1", workflow_type: "cart", input: [{ id: "c-1" }] });
    const added = await api.post("/workflows/c-1/update/add", { input: ["tea"], wait_for: "completed" });
    assert.deepEqual([added.status, added.body.result], [200, 1]);
    assert.deepEqual((await api.post("/workflows/c-1/query/items")).body.result, ["tea"]);
    assert.deepEqual(reasonOf(await api.post("/workflows/c-1/query/nope")), [404, "rejected_unknown_query"]);
    assert.deepEqual(reasonOf(await api.post("/workflows/c-1/update/nope", { wait_for: "completed" })), [
      409,
      "update_rejected",
    ]);
    await api.post("/workflows/c-1/signal/checkout", { input: ["eve"] });
    const output = await eventually(
      async () => ((await api.get("/workflows/c-1")).body.output as Json | null) ?? undefined,
    );
    assert.deepEqual(output, { id: "c-1", items: ["tea"], by: "eve" });
    assert.deepEqual(reasonOf(await api.post("/workflows/c-1/signal/checkout")), [409, "run_not_active"]);
  });

  it("a local run receives signals and updates of any one id, and its cancellation", async (t) => {
    const api = await openApi(t, { workflows: [cart] });
    await api.post("/workflows", { workflow_id: "c-1", workflow_type: "cart", input: [{ id: "c-1" }] });
    const same = { request_id: "cancel" };
    await api.post("/workflows/c-1/signal/other", { ...same, input: [1] });
    const added = await api.post("/workflows/c-1/update/add", { ...same, input: ["tea"], wait_for: "completed" });
    assert.deepEqual([added.status, added.body.result], [200, 1]);
    await api.post("/workflows/c-1/cancel");
    await assert.rejects(api.app.workflows.get("c-1").result(), { code: "WORKFLOW_CANCELLED" });
    const wrong = await api.post("/workflows/c-1/update/add", { request_id: "a\u0000b", wait_for: "completed" });
    assert.equal(wrong.status, 422);
  });
});

describe("run with code on HTTP workers", () => {
  const contract = (more: Json): Json => ({ workflow_command_contracts: { order: more } });

  it("a query of a remote run is answered by its workers, and fails without one", async (t) => {
    const api = await openApi(t);
    await api.start("o-1", ["a"]);
    assert.deepEqual(reasonOf(await api.post("/workflows/o-1/query/state")), [409, "query_worker_unavailable"]);
    await api.worker("w1", contract({ queries: ["state"] }));
    assert.deepEqual(reasonOf(await api.post("/workflows/o-1/query/nope")), [404, "rejected_unknown_query"]);
    const asking = api.post("/workflows/o-1/query/state", { input: [1] });
    const task = await api.task("w1", "query");
    assert.deepEqual(
      [task.query_name, unwrap(task.query_arguments), unwrap(task.workflow_arguments)],
      ["state", [1], ["a"]],
    );
    const path = `/worker/query-tasks/${task.query_task_id}`;
    const holder = { lease_owner: "w1", query_task_attempt: 1, result_envelope: envelope({ n: 1 }) };
    assert.deepEqual(reasonOf(await api.post(`${path}/complete`, { ...holder, lease_owner: "w2" })), [
      409,
      "query_task_not_leased",
    ]);
    assert.equal((await api.post(`${path}/complete`, holder)).body.outcome, "completed");
    assert.deepEqual((await asking).body.result, { n: 1 });
    assert.deepEqual(reasonOf(await api.post(`${path}/complete`, holder)), [404, "query_task_not_found"]);
    const refused = api.post("/workflows/o-1/query/state");
    const second = await api.task("w1", "query");
    const failure = { message: "bad", reason: "invalid_query_arguments" };
    await api.post(`/worker/query-tasks/${second.query_task_id}/fail`, {
      lease_owner: "w1",
      query_task_attempt: 1,
      failure,
    });
    assert.deepEqual(reasonOf(await refused), [422, "invalid_query_arguments"]);
  });

  it("an update is validated first when its worker requests it", async (t) => {
    const api = await openApi(t);
    await api.worker("w1", contract({ updates: ["rename"], update_validators: ["rename"], signals: ["go"] }));
    await api.start("o-1");
    await api.complete(await api.task("w1"), [WAIT]);
    const kinds = { task_kinds: ["workflow", "update_validation"] };
    const bad = api.post("/workflows/o-1/update/rename", { input: [""], wait_for: "completed" });
    const look = await api.task("w1", "workflow", kinds);
    assert.deepEqual(
      [look.task_kind, look.update_name, unwrap(look.update_arguments)],
      ["update_validation", "rename", [""]],
    );
    const holder = { lease_owner: "w1", update_validation_attempt: 1 };
    const failure = { message: "a name is needed" };
    await api.post(`/worker/update-validation-tasks/${look.update_validation_task_id}/reject`, { ...holder, failure });
    assert.deepEqual(reasonOf(await bad), [422, "update_validator_rejected"]);
    const good = api.post("/workflows/o-1/update/rename", { input: ["tea"], wait_for: "accepted" });
    const next = await api.task("w1", "update-validation");
    await api.post(`/worker/update-validation-tasks/${next.update_validation_task_id}/approve`, holder);
    const approveAgain = await api.post(
      `/worker/update-validation-tasks/${next.update_validation_task_id}/approve`,
      holder,
    );
    assert.deepEqual(reasonOf(approveAgain), [409, "duplicate_update_validation_completion"]);
    const task = await api.task("w1", "workflow", kinds);
    assert.equal((await good).body.update_status, "accepted");
    const { workflow_update_id: update_id } = task;
    await api.complete(task, [{ type: "complete_update", update_id, result: envelope("tea") }]);
    // The wait of its code sees the change: an ordinary task follows.
    assert.equal((await api.task("w1")).workflow_update_id, null);
    assert.deepEqual(reasonOf(await api.post("/workflows/o-1/signal/nope")), [404, "unknown_signal"]);
    assert.deepEqual(reasonOf(await api.post("/workflows/o-1/update/nope")), [409, "update_rejected"]);
  });

  it("an update is executed once, however often it is sent under one id", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    await api.start("o-1");
    await api.complete(await api.task("w1"), [WAIT]);
    const send = () => api.post("/workflows/o-1/update/add", { request_id: "u-1", wait_for: "completed" });
    const sending = send();
    const { workflow_update_id: update_id, ...task } = await api.task("w1");
    assert.equal(update_id, "u-1");
    await api.complete(task, [{ type: "complete_update", update_id, result: envelope(1) }]);
    assert.equal((await sending).body.result, 1);
    assert.equal((await send()).body.result, 1);
  });

  it("a cancelled remote run is closed by the next worker that polls", async (t) => {
    const api = await openApi(t);
    await api.worker("w1");
    const { body } = await api.start("o-1");
    await api.complete(await api.task("w1"), [WAIT]);
    assert.equal((await api.post(`/workflows/o-1/runs/${body.run_id}/cancel`, { reason: "enough" })).status, 200);
    await api.poll("w1", "workflow", { timeout_seconds: 0 });
    assert.equal((await api.get("/workflows/o-1")).body.status, "cancelled");
    await assert.rejects(api.app.workflows.get("o-1").result(), { code: "WORKFLOW_CANCELLED" });
    assert.deepEqual(reasonOf(await api.post("/workflows/o-1/cancel")), [409, "run_not_active"]);
    assert.deepEqual(reasonOf(await api.post("/workflows/o-1/terminate")), [409, "run_not_active"]);
  });
});
