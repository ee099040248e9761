import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import { findRoute } from "./routes.ts";
import { answers, dial, FakeHost, openDoor } from "./server-kit.test.ts";

const refusal = (verb: string, target: string) => {
  const routed = findRoute(verb, target);
  return "refused" in routed ? routed.refused.code : routed.route;
};

test("every path leads to its route, whatever its query", () => {
  assert.deepEqual(refusal("GET", "/metrics?x=/v1.0"), { kind: "metrics" });
  assert.deepEqual(refusal("GET", "/v1.0/healthz"), { kind: "health" });
  assert.deepEqual(refusal("GET", "/readyz?verbose"), { kind: "health" });
  assert.deepEqual(refusal("GET", "/livez"), { kind: "live" });
  assert.equal(refusal("GET", "/livez/"), "ROUTE_UNKNOWN");
  assert.deepEqual(refusal("POST", "/v1.0/actors/Ca%20rt/method/add?x"), {
    kind: "message",
    type: "Ca rt",
    method: "add",
  });
  assert.equal(refusal("GET", "/v1.0/actors/Cart/method/add"), "VERB_NOT_ALLOWED");
  assert.equal(refusal("POST", "/v1.0/actors/Cart/method/%2e%2e"), "NAME_INVALID");
  assert.deepEqual(refusal("GET", "/v1.0/healthz/outbound"), { kind: "health" });
  assert.deepEqual(refusal("GET", "/v1.0/metadata"), { kind: "metadata" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/actors?type=Cart"), { kind: "list", query: "type=Cart" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/actors/Cart/a"), { kind: "explain", type: "Cart", id: "a" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/cluster?x"), { kind: "cluster" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/where/Cart/a%20b"), { kind: "where", type: "Cart", id: "a b" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/sticky"), { kind: "sticky", query: "" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/sticky?type=Cart&limit=1"), {
    kind: "sticky",
    query: "type=Cart&limit=1",
  });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/sticky/Cart/a%20b?x"), { kind: "holder", type: "Cart", id: "a b" });
  assert.deepEqual(refusal("POST", "/v1.0/control/drain"), { kind: "drain" });
  assert.deepEqual(refusal("POST", "/v1.0/control/release?x"), { kind: "release" });
  for (const verb of ["GET", "POST", "PUT", "DELETE"]) {
    const reminder = { kind: "reminder", verb, type: "Cart", id: "a b", name: "pay|up" };
    assert.deepEqual(refusal(verb, "/v1.0/actors/Cart/a%20b/reminders/pay%7Cup?x=/y"), reminder);
  }
  assert.deepEqual(refusal("GET", "/v1.0/inspect/reminders?id=a"), { kind: "reminders", query: "id=a" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/reminders/dead?limit=1"), { kind: "deadReminders", query: "limit=1" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/reminders/counts?x"), { kind: "reminderCounts" });
  assert.deepEqual(refusal("POST", "/v1.0/control/reminders/retry"), { kind: "retryReminder" });
  assert.deepEqual(refusal("POST", "/v1.0/control/reminders/drop?x"), { kind: "dropReminder" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/workflows?type=order"), { kind: "workflows", query: "type=order" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/workflows/counts"), { kind: "workflowCounts" });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/workflows/workers"), { kind: "workers" });
  const named = { workflowId: "a b", query: "run=r" };
  assert.deepEqual(refusal("GET", "/v1.0/inspect/workflow/a%20b?run=r"), { kind: "workflow", ...named });
  assert.deepEqual(refusal("GET", "/v1.0/inspect/workflow/a%20b/events?run=r"), { kind: "workflowEvents", ...named });
  assert.deepEqual(refusal("POST", "/v1.0/control/workflows/start"), { kind: "steerWorkflow", act: "start" });
  assert.deepEqual(refusal("POST", "/v1.0/control/workflows/wake?x"), { kind: "steerWorkflow", act: "wake" });
  const call = { kind: "call", type: "Cart", id: "a?b", method: "add" };
  // The id would hold a question mark, which is invalid; a query behind the path is not part of it.
  assert.deepEqual(refusal("POST", "/v1.0/actors/Cart/a/method/add?b/c"), { ...call, id: "a" });
});

test("a path that is not exactly one of the API is unknown", () => {
  for (const path of [
    "/",
    "//",
    "/v1.0",
    "/V1.0/healthz",
    "/v1.0/healthz/",
    "/v1.0//healthz",
    "/v1.0/./healthz",
    "/v1.0/x/../healthz",
    "/v1%2e0/healthz",
    "/v1.0/actors/Cart/a/method",
    "/v1.0/actors/Cart/a/method/add/more",
    "/v1.0/actors/Cart/a/b/method/add",
    "/v1.0/actors/Cart/a/METHOD/add",
    "/v1.0/inspect/cluster/",
    "/v1.0/inspect/where/Cart",
    "/v1.0/inspect/where/Cart/a/b",
    "/v1.0/control",
    "/v1.0/control/drain/a",
    "/v1.0/inspect/sticky/",
    "/v1.0/inspect/sticky/Cart",
    "/v1.0/inspect/sticky/Cart/a/b",
    "/v1.0/inspect/workflows/",
    "/v1.0/inspect/workflows/order-1",
    "/v1.0/inspect/workflow",
    "/v1.0/inspect/workflow/a/history",
    "/v1.0/inspect/workflow/a/events/1",
    "/v1.0/control/workflows",
    "/v1.0/control/workflows/stop",
    "/v1.0/control/workflows/start/a",
    "/v1.0/control/release/",
    "/v1.0/control/release/Cart/a",
    "/v1.0/control/Release",
    "/v1.0/actors/Cart/a/reminders",
    "/v1.0/actors/Cart/a/reminder/pay",
    "/v1.0/actors/Cart/a/reminders/pay/up",
    "/v1.0/inspect/actors/",
    "/v1.0/inspect/actors/Cart",
    "/v1.0/inspect/where",
    "/v1.0/inspect/reminders/",
    "/v1.0/inspect/reminders/Dead",
    "/v1.0/inspect/reminders/Cart/a",
    "/v1.0/inspect/reminders/dead/a/b",
    "/v1.0/control/reminders",
    "/v1.0/control/reminders/",
    "/v1.0/control/reminders/forget",
    "/v1.0/control/reminders/retry/",
    "/v1.0/control/drop/reminders",
    "/metrics/",
    "/metrics;x",
    "/.well-known/x",
  ]) {
    assert.equal(refusal("GET", path), "ROUTE_UNKNOWN", path);
  }
});

test("names are decoded once, after the path was split", () => {
  const call = (id: string) => refusal("GET", `/v1.0/actors/Cart/${id}/method/add`);
  assert.deepEqual(call("a%20%C3%BC%7C%7C%25"), { kind: "call", type: "Cart", id: "a ü||%", method: "add" });
  assert.deepEqual(call("%252e%252e"), { kind: "call", type: "Cart", id: "%2e%2e", method: "add" });
  for (const bad of [
    "%2e%2e",
    "..",
    "%2E",
    ".",
    "a%2Fb",
    "a%2fb",
    "a%5Cb",
    "a\\b",
    "%00",
    "%0d%0a",
    "a%23",
    "a%3F",
    "",
  ]) {
    assert.equal(call(bad), "NAME_INVALID", bad);
  }
  for (const bad of ["%", "%2", "%zz", "%ff", "%c0%ae", "%ed%a0%80", "a%"])
    assert.equal(call(bad), "NAME_INVALID", bad);
});

test("types and methods follow the rules for names too", () => {
  assert.equal(refusal("GET", "/v1.0/actors/..%2f/a/method/add"), "NAME_INVALID");
  assert.equal(refusal("GET", "/v1.0/actors/Cart/a/method/%2e%2e"), "NAME_INVALID");
  assert.equal(refusal("GET", `/v1.0/actors/${"t".repeat(129)}/a/method/add`), "NAME_INVALID");
  for (const verb of ["GET", "POST", "PUT", "DELETE"]) {
    assert.equal(refusal(verb, "/v1.0/actors/$$timer/run/reminders/1"), "NAME_INVALID", verb);
    assert.equal(refusal(verb, "/v1.0/actors/%24%24timer/run/reminders/1"), "NAME_INVALID", verb);
  }
  assert.equal(refusal("POST", "/v1.0/actors/$$timer/run/method/fire"), "NAME_INVALID");
  assert.equal(refusal("GET", "/v1.0/inspect/actors/Cart/%2F"), "NAME_INVALID");
  assert.equal(refusal("GET", "/v1.0/inspect/where/%2F/a"), "NAME_INVALID");
  assert.equal(refusal("GET", "/v1.0/inspect/where/Cart/.."), "NAME_INVALID");
  assert.equal(refusal("GET", "/v1.0/inspect/sticky/%2F/a"), "NAME_INVALID");
  assert.equal(refusal("GET", "/v1.0/inspect/sticky/Cart/.."), "NAME_INVALID");
  assert.equal(refusal("GET", "/v1.0/inspect/sticky/Cart/"), "NAME_INVALID");
  for (const path of ["%2F/a/reminders/pay", "Cart/../reminders/pay", "Cart/a/reminders/", "Cart/a/reminders/%2e"]) {
    assert.equal(refusal("PUT", `/v1.0/actors/${path}`), "NAME_INVALID", path);
  }
  // Names of reminders are chosen by users, like ids.
  assert.equal(refusal("GET", `/v1.0/actors/Cart/a/reminders/${"n".repeat(513)}`), "NAME_INVALID");
  assert.notEqual(refusal("GET", `/v1.0/actors/Cart/a/reminders/${"n".repeat(512)}`), "NAME_INVALID");
});

test("routes that read accept only GET, and routes that act only POST", () => {
  const looks = [
    "/v1.0/inspect/cluster",
    "/v1.0/inspect/where/Cart/a",
    "/v1.0/inspect/sticky",
    "/v1.0/inspect/sticky/Cart/a",
    "/v1.0/inspect/reminders",
    "/v1.0/inspect/reminders/dead",
    "/v1.0/inspect/reminders/counts",
    "/v1.0/metadata",
  ];
  for (const path of looks) assert.equal(refusal("POST", path), "VERB_NOT_ALLOWED", path);
  for (const verb of ["GET", "PUT", "DELETE", "HEAD"]) {
    for (const act of ["drain", "release", "reminders/retry", "reminders/drop"]) {
      assert.equal(refusal(verb, `/v1.0/control/${act}`), "VERB_NOT_ALLOWED", `${verb} ${act}`);
    }
  }
  for (const verb of ["HEAD", "PATCH", "OPTIONS"]) {
    assert.equal(refusal(verb, "/v1.0/actors/Cart/a/reminders/pay"), "VERB_NOT_ALLOWED", verb);
  }
});

test("targets that are not paths are rejected", () => {
  for (const target of ["", "*", "metrics", "http://localhost/metrics", "/a b", "/ü", "/a\u0000"]) {
    assert.equal(refusal("GET", target), "REQUEST_INVALID", target);
  }
});

// Characters of ids in practice and in attacks, next to any character at all.
const anyChar = fc.oneof(
  fc.constantFrom(
    ..."ab./\\%#?&+=:;|'\"<>{} \u0000\n\u007f\u0085",
    "\ud800",
    "%2e",
    "__proto__",
    "💥",
    "é",
    "..",
    "%2F",
  ),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
);
const anyName = fc.string({ unit: anyChar, maxLength: 40 });

test("a valid id round-trips through the URL, and an invalid one is rejected", () => {
  fc.assert(
    fc.property(anyName, (id) => {
      if (!id.isWellFormed()) return;
      const answer = refusal("GET", `/v1.0/actors/Cart/${encodeURIComponent(id)}/method/add`);
      if (nameProblem(id, LIMITS.idBytes) !== undefined) assert.equal(answer, "NAME_INVALID");
      else assert.deepEqual(answer, { kind: "call", type: "Cart", id, method: "add" });
    }),
    { numRuns: 2_000 },
  );
});

test("a valid id round-trips through a real server and bytes on a real socket", async (t) => {
  const host = new FakeHost();
  const { port } = await openDoor(t, host);
  const percent = (bytes: Buffer) => Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        anyName.map((id) => Buffer.from(id)),
        fc.uint8Array({ maxLength: 8 }).map(Buffer.from),
      ),
      async (id) => {
        const wire = dial(t, port);
        const path = `/v1.0/actors/Cart/${percent(id)}/method/id`;
        wire.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
        const [answer] = answers(await wire.closed);
        const name = id.toString();
        const allowed = Buffer.from(name).equals(id) && nameProblem(name, LIMITS.idBytes) === undefined;
        assert.equal(answer?.status, allowed ? 200 : 400);
        if (allowed) assert.equal(answer.body, name);
      },
    ),
    { numRuns: 200 },
  );
});
