// Checks the route tables of the HTTP server: each entry is complete, no two overlap, and the docs name the
// same paths. `LIST_ROUTES=1` prints the tables.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CONTROL_ROUTES } from "../http-workers/api/control-routes.ts";
import { WORKER_ROUTES } from "../http-workers/api/worker-routes.ts";
import { HOST_ROUTES } from "../wire/http/host-api/routes.ts";
import { type HttpRoute, SCOPES, VERBS } from "../wire/http/route.ts";
import { parameterOf } from "../wire/http/router.ts";

const API_ROUTES: readonly HttpRoute[] = [...WORKER_ROUTES, ...CONTROL_ROUTES];
const ROUTES: readonly HttpRoute[] = [...HOST_ROUTES, ...API_ROUTES];
const nameOf = ({ verbs, path }: HttpRoute) => `${verbs.join(",")} ${path}`;

if (process.env.LIST_ROUTES !== undefined) {
  for (const { scope, label, limits, summary, ...route } of ROUTES) {
    console.log([nameOf({ scope, label, limits, summary, ...route }), scope, label, limits.time, summary].join(" · "));
  }
}

test("every route has all fields", () => {
  for (const route of ROUTES) {
    const { path, verbs, limits, scope, label, summary, handler } = route as HttpRoute & { handler?: unknown };
    const name = nameOf(route);
    assert.match(path, /^(?:\/(?:[a-z0-9.-]+|\{[a-zA-Z]+\}))+$/, name);
    assert.ok(verbs.length > 0 && verbs.every((verb) => VERBS.includes(verb)), name);
    assert.ok(limits.bodyBytes >= 0 && ["memory", "store", "call", "poll"].includes(limits.time), name);
    assert.ok(SCOPES.includes(scope), name);
    assert.match(label, /^[a-zA-Z]+$/, name);
    assert.match(summary, /^[a-z].*[^.]$/, name);
    assert.equal(typeof handler, "function", name);
    const parameters = path.split("/").flatMap((part) => parameterOf(part) ?? []);
    assert.equal(new Set(parameters).size, parameters.length, `${name} has a parameter twice`);
  }
});

test("only routes of the scope health need no token, and only small answers are served when the host is full", () => {
  const probes = ROUTES.filter(({ scope }) => scope === "health").map(({ path }) => path);
  assert.deepEqual(probes, [
    "/livez",
    "/readyz",
    "/v1.0/healthz",
    "/v1.0/healthz/outbound",
    "/api/health",
    "/api/ready",
  ]);
  const full = ROUTES.filter(({ isServedWhenFull }) => isServedWhenFull).map(({ path }) => path);
  assert.deepEqual(full, [...probes, "/metrics"]);
});

test("there are few metric labels", () => {
  assert.ok(new Set(ROUTES.map(({ label }) => label)).size <= 30);
});

test("no two routes of a verb match the same path", () => {
  const overlaps = (one: HttpRoute, other: HttpRoute) => {
    const [parts, others] = [one.path.split("/"), other.path.split("/")];
    const isSame = (part: string, i: number) =>
      part === others[i] || parameterOf(part) !== undefined || parameterOf(others[i]!) !== undefined;
    return (
      parts.length === others.length && parts.every(isSame) && one.verbs.some((verb) => other.verbs.includes(verb))
    );
  };
  for (const [i, one] of ROUTES.entries()) {
    for (const other of ROUTES.slice(i + 1)) {
      assert.ok(!overlaps(one, other), `${nameOf(one)} overlaps ${nameOf(other)}`);
    }
  }
});

// ——— Docs.

const doc = (name: string): string => readFileSync(join(import.meta.dirname, "../../docs", name), "utf8");

/** `GET /path` for every path in the tables of a page with the columns verb and path. */
function documented(page: string): string[] {
  return [...page.matchAll(/^\| ([A-Z, ]+) \| (`\/.*?) \|/gm)].flatMap(([, verbs, paths]) =>
    [...paths!.matchAll(/`(\/[^`]*)`/g)].flatMap(([, path]) =>
      verbs!.split(", ").map((verb) => `${verb} ${path!.replace(/\?.*$/, "")}`),
    ),
  );
}

const served = (routes: readonly HttpRoute[]): string[] =>
  routes.flatMap(({ verbs, path }) => verbs.map((verb) => `${verb} ${path}`));

const isApiHealth = (route: string): boolean => /\/api\/(?:health|ready)$/.test(route);

test("docs/http.md names each route of the host, and no other", () => {
  const host = served(HOST_ROUTES).filter((route) => !isApiHealth(route));
  assert.deepEqual(documented(doc("http.md")).toSorted(), host.toSorted());
});

test("docs/worker-protocol.md names each route of the workflow API, and no other", () => {
  const api = [...served(API_ROUTES), ...served(HOST_ROUTES).filter(isApiHealth)];
  assert.deepEqual(documented(doc("worker-protocol.md")).toSorted(), api.toSorted());
});

test("every whole path in the text of these pages exists", () => {
  const patterns = ROUTES.map(
    ({ path }) => new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
  );
  for (const page of ["http.md", "worker-protocol.md"]) {
    for (const [, path] of doc(page).matchAll(
      /(?:`|[A-Z] |:7300)(\/(?:v1\.0\/|api\/|livez|readyz|metrics)[^\s`'"?]*)/g,
    )) {
      // A path with an ellipsis stands for several.
      if (path!.includes("…")) continue;
      assert.ok(
        patterns.some((pattern) => pattern.test(path!)),
        `${page} names ${path}, which does not exist`,
      );
    }
  }
});
