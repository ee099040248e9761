// Workflow requests of operators and scripts over HTTP, with a fake `WorkflowAdmin`.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { LimpetError } from "../../../kernel/errors.ts";
import type { WorkflowSummary } from "../../../ports/workflow-admin.ts";
import { EXACT_TYPE } from "../../exact.ts";
import { errorCode, FakeHost, openTestServer } from "../server-kit.test.ts";

const CONTROL = "/v1.0/control/workflows";
const LIST = "/v1.0/inspect/workflows";

async function open(t: TestContext) {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const sent = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
    const response = await fetch(url + path, { method, headers, ...(sent !== undefined && { body: sent }) });
    const text = await response.text();
    return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
  };
  const code = async (...asked: Parameters<typeof send>) => {
    const { status, json } = await send(...asked);
    return [status, errorCode(json)];
  };
  return { workflows: host.workflows, send, code };
}

const summary = (workflowId: string): WorkflowSummary => ({
  workflowId,
  runId: "r",
  type: "order",
  queue: "default",
  build: undefined,
  status: "running",
  startedAt: 1,
  closedAt: undefined,
  events: 1,
  bytes: 2,
  attributes: {},
  blocked: undefined,
  task: undefined,
  stickyWorker: undefined,
  stickyUntil: undefined,
});

const NO_FILTER = {
  workflowId: undefined,
  type: undefined,
  queue: undefined,
  prefix: undefined,
  status: undefined,
  attributes: undefined,
  isBlocked: undefined,
  startedFrom: undefined,
  startedBefore: undefined,
  before: undefined,
};

test("workflows are listed page by page, and every filter is passed on", async (t) => {
  const { workflows, send } = await open(t);
  workflows.workflows = [summary("a"), summary("b"), summary("c")];
  const first = await send("GET", `${LIST}?limit=2`);
  assert.deepEqual([first.status, first.json.now, first.json.workflows.length], [200, 1_000, 2]);
  const second = await send("GET", `${LIST}?limit=2&after=${first.json.next}`);
  assert.deepEqual(
    [second.json.workflows.map(({ workflowId }: WorkflowSummary) => workflowId), second.json.next],
    [["c"], undefined],
  );
  workflows.asked.length = 0;
  const attributes = { customer: "alice", total: 12, paid: true };
  const query = new URLSearchParams({
    id: "o/1".replace("/", "-"),
    prefix: "o",
    type: "order",
    status: "timed out",
    queue: "shop",
    blocked: "true",
    attributes: JSON.stringify(attributes),
    startedFrom: "5",
    startedBefore: "2030-01-01T00:00:00Z",
  });
  assert.equal((await send("GET", `${LIST}?${query}`)).status, 200);
  const asked = { workflowId: "o-1", prefix: "o", type: "order", status: "timed out", queue: "shop", isBlocked: true };
  const times = { startedFrom: 5, startedBefore: Date.UTC(2030, 0, 1) };
  assert.deepEqual(workflows.asked, [["list", { ...NO_FILTER, ...asked, ...times, attributes, limit: 100 }]]);
});

test("an invalid query of workflows is rejected", async (t) => {
  const { workflows, code } = await open(t);
  for (const query of [
    "status=happy",
    "blocked=maybe",
    "attributes=nonsense",
    "attributes=[1]",
    `attributes=${encodeURIComponent('{"a":{}}')}`,
    "startedFrom=yesterday",
    "limit=0",
    "limit=1001",
    "after=x",
    "after=WyJ4Il0",
    "colour=red",
    "type=a&type=b",
  ]) {
    assert.deepEqual(await code("GET", `${LIST}?${query}`), [400, "ARGUMENT_INVALID"], query);
  }
  assert.deepEqual(await code("GET", `${LIST}?id=..`), [400, "NAME_INVALID"]);
  assert.deepEqual(await code("GET", `${LIST}?prefix=%00`), [400, "NAME_INVALID"]);
  assert.deepEqual(await code("GET", "/v1.0/inspect/workflow/a%2Fb"), [400, "NAME_INVALID"]);
  assert.deepEqual(await code("GET", "/v1.0/inspect/workflow/a?steps=many"), [400, "ARGUMENT_INVALID"]);
  assert.deepEqual(workflows.asked, []);
});

test("one workflow is described by its id, with a run and a number of steps", async (t) => {
  const { workflows, send, code } = await open(t);
  assert.deepEqual(await code("GET", "/v1.0/inspect/workflow/%C3%BC%20%25"), [404, "WORKFLOW_UNKNOWN"]);
  assert.deepEqual(await code("GET", "/v1.0/inspect/workflow/a?run=r-1&steps=7"), [404, "WORKFLOW_UNKNOWN"]);
  assert.deepEqual(workflows.asked, [
    ["look", { workflowId: "ü %", runId: undefined }, 100],
    ["look", { workflowId: "a", runId: "r-1" }, 7],
  ]);
  workflows.history = [1, 2, 3].map((number) => ({ number, at: number, event: { kind: "SignalReceived" } }));
  const first = await send("GET", "/v1.0/inspect/workflow/a/events?limit=2");
  const second = await send("GET", `/v1.0/inspect/workflow/a/events?limit=2&after=${first.json.next}`);
  assert.deepEqual([...first.json.events, ...second.json.events], workflows.history);
  assert.equal(second.json.next, undefined);
  assert.equal((await send("GET", `${LIST}/counts`)).json.running, 0);
  assert.equal((await send("GET", `${LIST}/workers`)).json.sticky.isEnabled, true);
});

test("a workflow is started with the given options and no others", async (t) => {
  const { workflows, send } = await open(t);
  assert.deepEqual((await send("POST", `${CONTROL}/start`, { type: "order" })).json, {
    workflowId: "made-up",
    runId: "run-1",
  });
  const all = {
    type: "order",
    id: "o",
    input: ["tea"],
    queue: "q",
    build: "b",
    ifRunning: "existing",
    ifEnded: "fail",
    memo: { a: [1] },
    attributes: { x: 1, y: null },
    timeout: "1d",
    runTimeout: "1h",
    delay: "5s",
  };
  assert.equal((await send("POST", `${CONTROL}/start`, all)).status, 200);
  assert.deepEqual(workflows.asked[1], ["start", all]);
});

test("signals, queries and updates are passed on, with exact values on request", async (t) => {
  const { workflows, send } = await open(t);
  assert.equal((await send("POST", `${CONTROL}/signal`, { id: "o", name: "go", input: 1 })).status, 204);
  const exact = { "content-type": EXACT_TYPE };
  const body = '{"id":"o","run":"r","name":"ask","input":{"$":"date","v":0}}';
  workflows.answer = new Date(5);
  assert.deepEqual((await send("POST", `${CONTROL}/query`, body, exact)).json, { $: "date", v: 5 });
  assert.deepEqual((await send("POST", `${CONTROL}/update`, { id: "o", name: "do" })).json, "1970-01-01T00:00:00.005Z");
  workflows.answer = undefined;
  assert.equal((await send("POST", `${CONTROL}/query`, { id: "o", name: "ask" })).status, 200);
  await send("POST", `${CONTROL}/cancel`, { id: "o", reason: "enough" });
  await send("POST", `${CONTROL}/terminate`, { id: "o", run: "r" });
  await send("POST", `${CONTROL}/wake`, { id: "o" });
  const latest = { workflowId: "o", runId: undefined };
  assert.deepEqual(workflows.asked, [
    ["signal", latest, "go", 1],
    ["query", { workflowId: "o", runId: "r" }, "ask", new Date(0)],
    ["update", latest, "do", undefined],
    ["query", latest, "ask", undefined],
    ["cancel", latest, "enough"],
    ["terminate", { workflowId: "o", runId: "r" }, ""],
    ["wake", { workflowId: "o" }],
  ]);
});

test("an invalid body is rejected, and no workflow is changed", async (t) => {
  const { workflows, code } = await open(t);
  const wrong: [string, unknown, string][] = [
    ["start", undefined, "BODY_INVALID"],
    ["start", "[1]", "BODY_INVALID"],
    ["start", "{", "BODY_INVALID"],
    ["start", {}, "BODY_INVALID"],
    ["start", { type: "" }, "NAME_INVALID"],
    ["start", { type: "order", id: ".." }, "NAME_INVALID"],
    ["start", { type: "order", colour: "red" }, "BODY_INVALID"],
    ["start", { type: "order", ifRunning: "wait" }, "BODY_INVALID"],
    ["start", { type: "order", memo: [1] }, "BODY_INVALID"],
    ["start", { type: "order", attributes: { a: {} } }, "BODY_INVALID"],
    ["signal", { id: "o" }, "BODY_INVALID"],
    ["signal", { id: "o", name: 5 }, "BODY_INVALID"],
    ["query", { name: "x" }, "BODY_INVALID"],
    ["update", { id: "o", name: "", run: "r" }, "NAME_INVALID"],
    ["cancel", { id: "o", reason: "x".repeat(2_000) }, "BODY_INVALID"],
    ["terminate", { id: "o", name: "x" }, "BODY_INVALID"],
    ["wake", { id: "o", run: "r" }, "BODY_INVALID"],
  ];
  for (const [act, body, expected] of wrong) {
    const [status, answered] = await code("POST", `${CONTROL}/${act}`, body);
    assert.deepEqual([status, answered], [400, expected], `${act} ${JSON.stringify(body)}`);
  }
  assert.deepEqual(await code("GET", `${CONTROL}/start`), [405, "VERB_NOT_ALLOWED"]);
  assert.deepEqual(workflows.asked, []);
});

test("workflow errors have their codes, including errors thrown by workflow code", async (t) => {
  const { workflows, code, send } = await open(t);
  const asked = { id: "o", name: "x" };
  workflows.problem = new LimpetError("WORKFLOW_CLOSED", "it is over");
  assert.deepEqual(await code("POST", `${CONTROL}/signal`, asked), [409, "WORKFLOW_CLOSED"]);
  workflows.problem = new LimpetError("WORKFLOW_EXISTS", "there is one");
  assert.deepEqual(await code("POST", `${CONTROL}/start`, { type: "order" }), [409, "WORKFLOW_EXISTS"]);
  workflows.problem = new LimpetError("QUERY_UNKNOWN", "it does not answer that");
  assert.deepEqual(await code("POST", `${CONTROL}/query`, asked), [404, "QUERY_UNKNOWN"]);
  workflows.problem = new LimpetError("UPDATE_REJECTED", "no");
  assert.deepEqual(await code("POST", `${CONTROL}/update`, asked), [422, "UPDATE_REJECTED"]);
  workflows.problem = Object.assign(new RangeError("too much"), { code: "E_MUCH" });
  const { status, json } = await send("POST", `${CONTROL}/update`, asked);
  assert.deepEqual([status, json.errorCode, json.error], [500, "ACTOR_FAILED", { name: "RangeError", code: "E_MUCH" }]);
});
