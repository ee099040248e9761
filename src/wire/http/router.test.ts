import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import { hostRoutes } from "./host-api/routes.ts";
import type { HttpRoute, RouteGroup } from "./route.ts";
import { HttpRouter } from "./router.ts";
import { answers, dial, FakeHost, openTestServer } from "./server-kit.test.ts";

const router = new HttpRouter([hostRoutes(new FakeHost(), () => "")]);

/** The code of the problem, or the found route: its label, its path, its names and the query. */
const found = (verb: string, target: string) => {
  const { route, names, query, problem } = router.find(verb, target);
  return problem?.code ?? { label: route?.label, path: route?.path, names, query };
};

const at = (label: string, path: string, names: Record<string, string> = {}, query = "") => ({
  label,
  path,
  names,
  query,
});

test("every path leads to its route, whatever its query", () => {
  assert.deepEqual(found("GET", "/metrics?x=/v1.0"), at("metrics", "/metrics", {}, "x=/v1.0"));
  assert.deepEqual(found("GET", "/v1.0/healthz"), at("health", "/v1.0/healthz"));
  assert.deepEqual(found("GET", "/readyz?verbose"), at("health", "/readyz", {}, "verbose"));
  assert.deepEqual(found("GET", "/livez"), at("live", "/livez"));
  assert.equal(found("GET", "/livez/"), "ROUTE_UNKNOWN");
  const message = "/v1.0/actors/{type}/method/{method}";
  const add = { type: "Ca rt", method: "add" };
  assert.deepEqual(found("POST", "/v1.0/actors/Ca%20rt/method/add?x"), at("message", message, add, "x"));
  assert.equal(found("GET", "/v1.0/actors/Cart/method/add"), "VERB_NOT_ALLOWED");
  assert.equal(found("POST", "/v1.0/actors/Cart/method/%2e%2e"), "NAME_INVALID");
  assert.deepEqual(found("GET", "/v1.0/healthz/outbound"), at("health", "/v1.0/healthz/outbound"));
  assert.deepEqual(found("GET", "/v1.0/metadata"), at("metadata", "/v1.0/metadata"));
  const [a, ab] = [
    { type: "Cart", id: "a" },
    { type: "Cart", id: "a b" },
  ];
  for (const [label, path, names, target = path] of [
    ["list", "actors", {}, "actors"],
    ["explain", "actors/{type}/{id}", a, "actors/Cart/a"],
    ["cluster", "cluster", {}],
    ["where", "where/{type}/{id}", ab, "where/Cart/a%20b"],
    ["sticky", "sticky", {}],
    ["holder", "sticky/{type}/{id}", ab, "sticky/Cart/a%20b"],
    ["shardedTypes", "shards", {}],
    ["shards", "shards/{type}", { type: "Cart" }, "shards/Cart"],
    ["reminders", "reminders", {}],
    ["deadReminders", "reminders/dead", {}],
    ["reminderCounts", "reminders/counts", {}],
    ["workflows", "workflows", {}],
    ["workflowCounts", "workflows/counts", {}],
    ["workers", "workflows/workers", {}],
    ["workflow", "workflow/{workflowId}", { workflowId: "a b" }, "workflow/a%20b"],
    ["workflowEvents", "workflow/{workflowId}/events", { workflowId: "a b" }, "workflow/a%20b/events"],
  ] as [string, string, Record<string, string>, string?][]) {
    const expected = at(label, `/v1.0/inspect/${path}`, names, "type=Cart&limit=1");
    assert.deepEqual(found("GET", `/v1.0/inspect/${target}?type=Cart&limit=1`), expected);
  }
  for (const [label, path] of [
    ["drain", "drain"],
    ["release", "release"],
    ["retryReminder", "reminders/retry"],
    ["dropReminder", "reminders/drop"],
    ...["start", "signal", "query", "update", "cancel", "terminate", "wake"].map((act) => [
      "steerWorkflow",
      `workflows/${act}`,
    ]),
    ...["move", "pause", "resume", "allocate"].map((act) => ["steerShards", `shards/${act}`]),
  ]) {
    assert.deepEqual(found("POST", `/v1.0/control/${path}?x`), at(label!, `/v1.0/control/${path}`, {}, "x"));
  }
  for (const verb of ["GET", "POST", "PUT", "DELETE"]) {
    const names = { type: "Cart", id: "a b", name: "pay|up" };
    const reminder = at("reminder", "/v1.0/actors/{type}/{id}/reminders/{name}", names, "x=/y");
    assert.deepEqual(found(verb, "/v1.0/actors/Cart/a%20b/reminders/pay%7Cup?x=/y"), reminder);
  }
  // The id would hold a question mark, which is invalid; a query behind the path is not part of it.
  assert.deepEqual(found("POST", "/v1.0/actors/Cart/a/method/add?b/c"), call("a", "b/c"));
});

const call = (id: string, query = "") =>
  at("call", "/v1.0/actors/{type}/{id}/method/{method}", { type: "Cart", id, method: "add" }, query);

test("an actor with the id of a literal segment is called like any other", () => {
  assert.deepEqual(found("POST", "/v1.0/actors/Cart/method/method/add"), call("method"));
  assert.deepEqual(found("POST", "/v1.0/actors/Cart/reminders/method/add"), call("reminders"));
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
    assert.equal(found("GET", path), "ROUTE_UNKNOWN", path);
  }
});

test("names are decoded once, after the path was split", () => {
  const get = (id: string) => found("GET", `/v1.0/actors/Cart/${id}/method/add`);
  assert.deepEqual(get("a%20%C3%BC%7C%7C%25"), call("a ü||%"));
  assert.deepEqual(get("%252e%252e"), call("%2e%2e"));
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
    assert.equal(get(bad), "NAME_INVALID", bad);
  }
  for (const bad of ["%", "%2", "%zz", "%ff", "%c0%ae", "%ed%a0%80", "a%"]) assert.equal(get(bad), "NAME_INVALID", bad);
});

test("types and methods follow the rules for names too", () => {
  assert.equal(found("GET", "/v1.0/actors/..%2f/a/method/add"), "NAME_INVALID");
  assert.equal(found("GET", "/v1.0/actors/Cart/a/method/%2e%2e"), "NAME_INVALID");
  assert.equal(found("GET", `/v1.0/actors/${"t".repeat(129)}/a/method/add`), "NAME_INVALID");
  for (const verb of ["GET", "POST", "PUT", "DELETE"]) {
    assert.equal(found(verb, "/v1.0/actors/$$timer/run/reminders/1"), "NAME_INVALID", verb);
    assert.equal(found(verb, "/v1.0/actors/%24%24timer/run/reminders/1"), "NAME_INVALID", verb);
  }
  assert.equal(found("POST", "/v1.0/actors/$$timer/run/method/fire"), "NAME_INVALID");
  assert.equal(found("GET", "/v1.0/inspect/actors/Cart/%2F"), "NAME_INVALID");
  assert.equal(found("GET", "/v1.0/inspect/where/%2F/a"), "NAME_INVALID");
  assert.equal(found("GET", "/v1.0/inspect/where/Cart/.."), "NAME_INVALID");
  assert.equal(found("GET", "/v1.0/inspect/sticky/%2F/a"), "NAME_INVALID");
  assert.equal(found("GET", "/v1.0/inspect/sticky/Cart/.."), "NAME_INVALID");
  assert.equal(found("GET", "/v1.0/inspect/sticky/Cart/"), "NAME_INVALID");
  for (const path of ["%2F/a/reminders/pay", "Cart/../reminders/pay", "Cart/a/reminders/", "Cart/a/reminders/%2e"]) {
    assert.equal(found("PUT", `/v1.0/actors/${path}`), "NAME_INVALID", path);
  }
  // Names of reminders are chosen by users, like ids.
  assert.equal(found("GET", `/v1.0/actors/Cart/a/reminders/${"n".repeat(513)}`), "NAME_INVALID");
  assert.notEqual(found("GET", `/v1.0/actors/Cart/a/reminders/${"n".repeat(512)}`), "NAME_INVALID");
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
  for (const path of looks) assert.equal(found("POST", path), "VERB_NOT_ALLOWED", path);
  for (const verb of ["GET", "PUT", "DELETE", "HEAD"]) {
    for (const act of ["drain", "release", "reminders/retry", "reminders/drop"]) {
      assert.equal(found(verb, `/v1.0/control/${act}`), "VERB_NOT_ALLOWED", `${verb} ${act}`);
    }
  }
  for (const verb of ["HEAD", "PATCH", "OPTIONS"]) {
    assert.equal(found(verb, "/v1.0/actors/Cart/a/reminders/pay"), "VERB_NOT_ALLOWED", verb);
  }
});

test("a wrong verb gets the verbs of its path, in a fixed order", () => {
  const allow = (verb: string, path: string) => router.find(verb, path).allow;
  assert.equal(allow("PATCH", "/v1.0/actors/Cart/a/reminders/pay"), "GET, POST, PUT, DELETE");
  assert.equal(allow("GET", "/v1.0/actors/Cart/method/add"), "POST, PUT");
  assert.equal(allow("HEAD", "/livez"), "GET");
  assert.equal(allow("GET", "/v1.0/control/drain"), "POST");
  assert.equal(allow("GET", "/v1.0/control"), undefined);
});

test("unknown paths belong to the group with the longest prefix", () => {
  const groups = ["/", "/side/", "/side/car/"].map((prefix) => group(prefix));
  const some = new HttpRouter(groups);
  for (const [path, prefix] of [
    ["/", "/"],
    ["/side", "/"],
    ["/side/x", "/side/"],
    ["/side/car", "/side/"],
    ["/side/car/x/y", "/side/car/"],
  ] as const) {
    assert.equal(some.find("GET", path).group.prefix, prefix, path);
  }
});

test("a router rejects two routes of the same path and verb, and a path with two spellings", () => {
  const two = (path: string, other: string, verb: "GET" | "POST") =>
    new HttpRouter([group("/", { path, verbs: ["GET"] }, { path: other, verbs: [verb] })]);
  assert.throws(() => two("/a/{b}", "/a/{b}", "GET"), /two routes have GET \/a\/\{b\}/);
  assert.throws(() => two("/a/{b}", "/a/{c}", "POST"), /are the same path/);
  assert.equal(two("/a/{b}", "/a/{b}", "POST").find("PUT", "/a/x").allow, "GET, POST");
  assert.throws(() => new HttpRouter([group("/x/")]), /no group of routes has the prefix \//);
});

test("a search goes on with a parameter where a literal leads nowhere", () => {
  const some = new HttpRouter([group("/", { path: "/a/{b}/c" }, { path: "/a/b/d" }, { path: "/a/{b}/{c}" })]);
  const pathOf = (path: string) => some.find("GET", path).route?.path;
  assert.equal(pathOf("/a/b/c"), "/a/{b}/c");
  assert.equal(pathOf("/a/b/d"), "/a/b/d");
  assert.equal(pathOf("/a/x/d"), "/a/{b}/{c}");
  assert.equal(pathOf("/a/b"), undefined);
});

function group(prefix: string, ...routes: (Partial<HttpRoute> & { path: string })[]): RouteGroup {
  const limits = { bodyBytes: 0, time: "memory" } as const;
  return {
    prefix,
    label: "test",
    routes: routes.map((route) => ({ verbs: ["GET"], limits, scope: "read", label: "test", summary: "", ...route })),
    readName: (name) => name,
    handle: () => ({ status: 204, headers: {} }),
    refuse: () => ({ status: 404, headers: {} }),
  };
}

test("targets that are not paths are rejected", () => {
  for (const target of ["", "*", "metrics", "http://localhost/metrics", "/a b", "/ü", "/a\u0000"]) {
    assert.equal(found("GET", target), "REQUEST_INVALID", target);
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
      const answer = found("GET", `/v1.0/actors/Cart/${encodeURIComponent(id)}/method/add`);
      if (nameProblem(id, LIMITS.idBytes) !== undefined) assert.equal(answer, "NAME_INVALID");
      else assert.deepEqual(answer, call(id));
    }),
    { numRuns: 2_000 },
  );
});

test("a valid id round-trips through a real server and bytes on a real socket", async (t) => {
  const host = new FakeHost();
  const { port } = await openTestServer(t, host);
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
