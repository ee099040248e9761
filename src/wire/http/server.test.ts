import assert from "node:assert/strict";
import { test } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import { encodeValue } from "../../kernel/values.ts";
import { EXACT_TYPE } from "../exact.ts";
import { CLUSTER, countingMeter, FakeHost, openTestServer } from "./server-kit.test.ts";

type Json = Record<string, unknown>;

test("a call reaches the host with its names and arguments, and its result is returned as JSON", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  for (const method of ["POST", "PUT", "DELETE"]) {
    const response = await fetch(`${url}/v1.0/actors/Cart/alice/method/echo?x=1`, { method, body: '["tea",2]' });
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type")!, /^application\/json/);
    assert.deepEqual(await response.json(), ["tea", 2]);
  }
  const { options, ...call } = host.calls[0]!;
  assert.deepEqual(call, { type: "Cart", id: "alice", method: "echo", args: ["tea", 2] });
  assert.equal(options.timeoutMs, undefined);
});

test("an empty body is no arguments, an array is the arguments, any other value is one argument", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const path = `${url}/v1.0/actors/Cart/alice/method/none`;
  assert.equal((await fetch(path)).status, 200);
  for (const body of ["", "[]", '["a",1]', '{"a":1}', '"a"', "null", "[[1]]"]) {
    assert.equal((await fetch(path, { method: "POST", body })).status, 200);
  }
  assert.deepEqual(
    host.calls.map((call) => call.args),
    [[], [], [], ["a", 1], [{ a: 1 }], ["a"], [null], [[1]]],
  );
});

test("a method without a result answers null, which every client can parse, and an empty body in the exact encoding", async (t) => {
  const { url } = await openTestServer(t);
  const call = (body: string) => fetch(`${url}/v1.0/actors/Cart/alice/method/first`, { method: "POST", body });
  const nothing = await call("[]");
  assert.deepEqual([nothing.status, await nothing.text()], [200, "null"]);
  assert.match(nothing.headers.get("content-type")!, /^application\/json/);
  const headers = { accept: EXACT_TYPE };
  const exact = await fetch(`${url}/v1.0/actors/Cart/alice/method/first`, { method: "POST", body: "[]", headers });
  assert.deepEqual([exact.status, await exact.text()], [204, ""]);
  for (const value of [null, 0, "", false]) {
    const response = await call(JSON.stringify([value]));
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), value);
  }
});

test("values beyond JSON survive both ways with the exact media type", async (t) => {
  const { url } = await openTestServer(t);
  const values = [new Date(5), new Map([[{ a: 1 }, new Set([1n])]]), new Uint8Array([1, 2]), undefined, Number.NaN];
  const response = await fetch(`${url}/v1.0/actors/Cart/alice/method/echo`, {
    method: "POST",
    headers: { "content-type": `${EXACT_TYPE}; charset=utf-8`, accept: EXACT_TYPE },
    body: encodeValue(values),
  });
  assert.equal(response.headers.get("content-type"), EXACT_TYPE);
  assert.equal(await response.text(), encodeValue(values));
});

test("the exact body decides about the exact result only when accept leaves it open", async (t) => {
  const { url } = await openTestServer(t);
  const type = async (headers: Record<string, string>) => {
    const init = { method: "POST", headers, body: "[1]" };
    const response = await fetch(`${url}/v1.0/actors/Cart/alice/method/first`, init);
    return response.headers.get("content-type")!.split(";")[0];
  };
  assert.equal(await type({ "content-type": EXACT_TYPE }), EXACT_TYPE);
  assert.equal(await type({ "content-type": EXACT_TYPE, accept: "application/json" }), "application/json");
  assert.equal(await type({ accept: `application/json, ${EXACT_TYPE}` }), EXACT_TYPE);
  assert.equal(await type({ "content-type": "text/plain" }), "application/json");
});

test("the timeout of a call is read from its header", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const path = `${url}/v1.0/actors/Cart/alice/method/echo`;
  await fetch(path, { headers: { "limpet-timeout": "1m30s" } });
  assert.equal(host.calls[0]!.options.timeoutMs, 90_000);
  for (const bad of ["soon", "5", "0s", "-1s"]) {
    const response = await fetch(path, { headers: { "limpet-timeout": bad } });
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as Json).errorCode, "OPTION_INVALID");
  }
  assert.equal(host.calls.length, 1);
});

test("a client that disconnects cancels its call", async (t) => {
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const { promise: cancelled, resolve: cancel } = Promise.withResolvers<unknown>();
  const host = new FakeHost({
    slow: ({ options }) => {
      options.signal!.addEventListener("abort", () => cancel(options.signal!.reason));
      start();
      return cancelled;
    },
  });
  const { url } = await openTestServer(t, host);
  const leaving = new AbortController();
  const response = fetch(`${url}/v1.0/actors/Cart/alice/method/slow`, { signal: leaving.signal });
  await started;
  leaving.abort();
  await assert.rejects(response, { name: "AbortError" });
  assert.equal(((await cancelled) as LimpetError).code, "CALL_CANCELLED");
});

test("errors of Limpet have their code, their status, their verdict and no stack", async (t) => {
  const host = new FakeHost({
    full: () => Promise.reject(new LimpetError("MAILBOX_FULL", "too many calls wait", { cause: "secret" })),
    fenced: () => Promise.reject(new LimpetError("FENCED", "another host took over")),
  });
  const { url } = await openTestServer(t, host);
  const full = await fetch(`${url}/v1.0/actors/Cart/alice/method/full`);
  assert.equal(full.status, 429);
  assert.equal(full.headers.get("retry-after"), "1");
  assert.deepEqual(await full.json(), { errorCode: "MAILBOX_FULL", message: "too many calls wait", retry: "later" });
  const fenced = await fetch(`${url}/v1.0/actors/Cart/alice/method/fenced`);
  assert.equal(fenced.status, 503);
  assert.equal(fenced.headers.get("retry-after"), null);
  assert.equal(((await fenced.json()) as Json).retry, "now");
});

test("a state above its limit is 413, like a body", async (t) => {
  const host = new FakeHost({ grow: () => Promise.reject(new LimpetError("STATE_TOO_LARGE", "state is too large")) });
  const { url } = await openTestServer(t, host);
  const { status, ...answer } = await fetch(`${url}/v1.0/actors/Cart/alice/method/grow`).then(async (response) => ({
    status: response.status,
    ...((await response.json()) as Json),
  }));
  assert.deepEqual(
    [status, answer],
    [413, { errorCode: "STATE_TOO_LARGE", message: "state is too large", retry: "never" }],
  );
});

test("an error thrown by an actor is 500 ACTOR_FAILED with its name, code and message", async (t) => {
  const thrown: unknown[] = [
    Object.assign(new RangeError("out of tea"), { code: "E_TEA" }),
    Object.assign(new Error("x"), { code: { odd: 1 }, name: 7 }),
    "just text",
    undefined,
    Object.defineProperty({}, "message", { get: () => assert.fail("unreadable") }),
  ];
  const host = new FakeHost({ fail: ({ args }) => Promise.reject(thrown[args[0] as number]) });
  const { url } = await openTestServer(t, host);
  const bodies: unknown[] = [];
  for (const i of thrown.keys()) {
    const response = await fetch(`${url}/v1.0/actors/Cart/a/method/fail`, { method: "POST", body: `[${i}]` });
    assert.equal(response.status, 500);
    bodies.push(await response.json());
  }
  const failed = { errorCode: "ACTOR_FAILED", retry: "never" };
  assert.deepEqual(bodies, [
    { ...failed, message: "out of tea", error: { name: "RangeError", code: "E_TEA" } },
    { ...failed, message: "x", error: { name: "Error" } },
    { ...failed, message: "just text", error: { name: "Error" } },
    { ...failed, message: "a value of type undefined was thrown", error: { name: "Error" } },
    { ...failed, message: "a value of type object was thrown", error: { name: "Error" } },
  ]);
});

test("a result that cannot be sent is RESULT_INVALID", async (t) => {
  const cycle: unknown[] = [];
  cycle.push(cycle, cycle);
  const { url } = await openTestServer(t, new FakeHost({ cycle: () => cycle }));
  for (const accept of ["application/json", EXACT_TYPE]) {
    const response = await fetch(`${url}/v1.0/actors/Cart/alice/method/cycle`, { headers: { accept } });
    assert.equal(response.status, 500);
    assert.equal(((await response.json()) as Json).errorCode, "RESULT_INVALID");
  }
});

test("health is 204 while the host is ready, and 503 with the reason while it is not", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  for (const path of ["/v1.0/healthz", "/v1.0/healthz?appid=x", "/v1.0/healthz/outbound", "/readyz"]) {
    assert.equal((await fetch(url + path)).status, 204);
  }
  host.state = { ready: false, problem: "the store does not answer" };
  const body = { errorCode: "NOT_READY", message: "the store does not answer", retry: "later" };
  for (const path of ["/v1.0/healthz", "/readyz"]) {
    const response = await fetch(url + path);
    assert.equal(response.status, 503);
    assert.deepEqual(await response.json(), body);
  }
});

test("liveness is 204 also while the host is not ready", async (t) => {
  const host = new FakeHost();
  host.state = { ready: false, problem: "the store does not answer" };
  const { url } = await openTestServer(t, host);
  assert.equal((await fetch(`${url}/livez`)).status, 204);
  assert.equal((await fetch(`${url}/livez`, { method: "POST" })).status, 405);
});

test("metadata has the shape that SDKs wait for, also while the host is not ready", async (t) => {
  const host = new FakeHost();
  host.state = { ready: false, problem: "stopping" };
  const { url } = await openTestServer(t, host);
  const response = await fetch(`${url}/v1.0/metadata`);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), {
    id: "inc-1",
    runtimeVersion: "0.1.0",
    enabledFeatures: [],
    actors: [{ type: "Cart", count: 2 }],
    components: [],
    subscriptions: [],
    actorRuntime: {
      runtimeStatus: "RUNNING",
      activeActors: [{ type: "Cart", count: 2 }],
      hostReady: false,
      placement: "placement: disconnected",
    },
    extended: { namespace: "default", store: "memory", startedAt: "1970-01-01T00:00:00.000Z", problem: "stopping" },
  });
});

test("metadata holds the address for other hosts, if there is one", async (t) => {
  const host = new FakeHost();
  host.state = { address: "10.0.0.5:7401" };
  const { url } = await openTestServer(t, host);
  const { extended } = (await (await fetch(`${url}/v1.0/metadata`)).json()) as { extended: Json };
  assert.equal(extended.address, "10.0.0.5:7401");
});

test("the cluster is shown as the host sees it, and the location of an actor by its names", async (t) => {
  const { url } = await openTestServer(t);
  assert.deepEqual(await (await fetch(`${url}/v1.0/inspect/cluster`)).json(), CLUSTER);
  const response = await fetch(`${url}/v1.0/inspect/where/Cart/${encodeURIComponent("ali ce%")}`);
  const { type, id, owner, version } = (await response.json()) as Json;
  assert.deepEqual([type, id, owner, version], ["Cart", "ali ce%", "127.0.0.1:7401", 4]);
});

test("a cluster without a leader is 503 with retry", async (t) => {
  const host = new FakeHost();
  host.cluster = () => Promise.reject(new LimpetError("NOT_READY", "no scheduler leads"));
  const { url } = await openTestServer(t, host);
  const response = await fetch(`${url}/v1.0/inspect/cluster`);
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), { errorCode: "NOT_READY", message: "no scheduler leads", retry: "later" });
});

test("a host is drained by address or name; an unknown one is 404, and any other body is rejected", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const drain = (body: string) => fetch(`${url}/v1.0/control/drain`, { method: "POST", body });
  assert.equal((await drain('{"host":"alpha"}')).status, 204);
  assert.equal((await drain('{"host":"127.0.0.1:7401"}')).status, 204);
  for (const body of [
    "",
    "{",
    "null",
    '"alpha"',
    '["alpha"]',
    "{}",
    '{"host":""}',
    '{"host":1}',
    '{"host":"a","b":1}',
  ]) {
    const response = await drain(body);
    assert.equal(response.status, 400, body);
    assert.equal(((await response.json()) as Json).errorCode, "BODY_INVALID", body);
  }
  assert.deepEqual(host.drained, ["alpha", "127.0.0.1:7401"]);
  host.drain = () => Promise.reject(new LimpetError("HOST_UNKNOWN", "no host is called beta"));
  assert.equal((await drain('{"host":"beta"}')).status, 404);
});

test("a page of a listing leads to the next by its cursor", async (t) => {
  const host = new FakeHost();
  const { url } = await openTestServer(t, host);
  const first = (await (await fetch(`${url}/v1.0/inspect/actors`)).json()) as { actors: unknown[]; next: string };
  assert.equal(first.actors.length, 1);
  const query = `type=Cart&prefix=a%2Bb+%C3%BC&active=true&limit=7&after=${first.next}`;
  assert.equal((await fetch(`${url}/v1.0/inspect/actors?${query}`)).status, 200);
  assert.deepEqual(host.queries, [
    { type: undefined, prefix: undefined, active: undefined, after: undefined, limit: 100 },
    { type: "Cart", prefix: "a+b ü", active: true, after: { type: "Cart", id: "nächste" }, limit: 7 },
  ]);
});

test("an actor is explained by its names", async (t) => {
  const { url } = await openTestServer(t);
  const response = await fetch(`${url}/v1.0/inspect/actors/Cart/${encodeURIComponent("ali ce%")}`);
  const body = (await response.json()) as Json;
  assert.deepEqual([body.type, body.id, body.summary], ["Cart", "ali ce%", "It rests."]);
});

test("metrics are rendered by the host, and the server counts its own requests", async (t) => {
  const { meter, counts } = countingMeter();
  const { url } = await openTestServer(t, undefined, { deps: { meter, renderMetrics: () => "x_total 1\n" } });
  await fetch(`${url}/v1.0/actors/Cart/alice/method/echo`);
  await fetch(`${url}/nowhere`);
  const response = await fetch(`${url}/metrics`);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  assert.equal(await response.text(), "x_total 1\n");
  assert.deepEqual(Object.fromEntries(counts), {
    "limpet_http_requests_total call 200": 1,
    "limpet_http_request_seconds call": 1,
    "limpet_http_requests_total none 404": 1,
    "limpet_http_request_seconds none": 1,
    "limpet_http_requests_total metrics 200": 1,
    "limpet_http_request_seconds metrics": 1,
  });
});

test("an internal error of the host is logged, and its details are not sent to clients", async (t) => {
  const logged: unknown[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (event: string) => void logged.push(event) };
  const broken = new TypeError("inner detail");
  const renderMetrics = () => {
    throw broken;
  };
  const { url } = await openTestServer(t, undefined, { deps: { renderMetrics, log } });
  const response = await fetch(`${url}/metrics`);
  assert.equal(response.status, 500);
  const text = await response.text();
  assert.match(text, /"INVARIANT"/);
  assert.doesNotMatch(text, /inner detail/);
  assert.deepEqual(logged, ["http.failed"]);
});
