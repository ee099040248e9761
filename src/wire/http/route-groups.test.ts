// Checks a group of routes that another module injects into the server: its limits, errors and metric labels.
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonAnswer } from "./answers.ts";
import type { HttpRoute, RouteGroup } from "./route.ts";
import { countingMeter, FakeHost, openTestServer } from "./server-kit.test.ts";

const ECHO: HttpRoute = {
  path: "/side/{name}/echo",
  verbs: ["POST"],
  limits: { bodyBytes: 8, time: "memory" },
  scope: "call",
  label: "echo",
  summary: "returns the body",
};

const SIDE: RouteGroup = {
  prefix: "/side/",
  label: "side",
  routes: [ECHO],
  readName: (encoded) => encoded.toUpperCase(),
  handle: async (_route, names, query, exchange) =>
    jsonAnswer(200, { names, query, body: String(await exchange.body()) }),
  refuse: (problem, verb, allow) => jsonAnswer(problem.status, { wrong: problem.code, verb, allow }),
};

test("an injected group has its own names, limits, error bodies and labels", async (t) => {
  const { meter, counts } = countingMeter();
  const { url } = await openTestServer(t, new FakeHost(), { deps: { meter, routes: [SIDE] } });
  const send = async (verb: string, path: string, body?: string) => {
    const response = await fetch(url + path, { method: verb, ...(body === undefined ? {} : { body }) });
    return [response.status, await response.json()];
  };
  const echoed = { names: { name: "A" }, query: "x=1", body: '"12345"' };
  assert.deepEqual(await send("POST", "/side/a/echo?x=1", '"12345"'), [200, echoed]);
  const [status, error] = await send("POST", "/side/a/echo", '"12345678"');
  assert.deepEqual([status, (error as { errorCode: string }).errorCode], [413, "BODY_TOO_LARGE"]);
  assert.deepEqual(await send("GET", "/side/a/echo"), [405, { wrong: "VERB_NOT_ALLOWED", verb: "GET", allow: "POST" }]);
  assert.deepEqual(await send("GET", "/side/a"), [404, { wrong: "ROUTE_UNKNOWN", verb: "GET" }]);
  const [other, unknown] = await send("GET", "/aside/a");
  assert.deepEqual([other, (unknown as { errorCode: string }).errorCode], [404, "ROUTE_UNKNOWN"]);
  for (const labels of ["echo 200", "echo 413", "echo 405", "side 404", "none 404"]) {
    assert.equal(counts.get(`limpet_http_requests_total ${labels}`), 1, labels);
  }
});
