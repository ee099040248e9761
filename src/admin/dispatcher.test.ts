import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminRequest } from "../ports/admin.ts";
import { type AdminDeps, adminDispatcher } from "./dispatcher.ts";

/** Records each call of an operation, and answers with its name. */
function recorder(called: unknown[][], part: string): never {
  const answer =
    (name: string) =>
    async (...args: unknown[]) => {
      called.push([part, name, ...args]);
      return name;
    };
  return new Proxy({}, { get: (_, name) => answer(String(name)) }) as never;
}

function open(more: Partial<AdminDeps> = {}) {
  const called: unknown[][] = [];
  const part = (name: string) => recorder(called, name);
  const deps = {
    actors: part("actors"),
    cluster: part("cluster"),
    reminders: part("reminders"),
    workflows: part("workflows"),
    ...more,
  };
  return { called, admin: adminDispatcher(deps) };
}

test("a request reaches the operation of its kind with its fields", async () => {
  const { admin, called } = open();
  const name = { type: "Cart", id: "a", name: "tick" };
  const run = { workflowId: "w" };
  const { signal: gone } = new AbortController();
  await admin({ kind: "list", query: { limit: 5 } });
  await admin({ kind: "where", type: "Cart", id: "a" });
  await admin({ kind: "steerShards", type: "Cart", steering: { kind: "pause", paused: true } });
  await admin({ kind: "retryReminder", name });
  await admin({ kind: "updateWorkflow", run, name: "price", input: 7, timeoutMs: 10 }, { gone });
  assert.deepEqual(called, [
    ["actors", "list", { limit: 5 }],
    ["cluster", "where", "Cart", "a"],
    ["cluster", "steerShards", "Cart", { kind: "pause", paused: true }],
    ["reminders", "retry", name],
    ["workflows", "update", run, "price", 7, { timeoutMs: 10, gone }],
  ]);
});

test("an unknown kind of request is refused, and the error lists the known kinds", async () => {
  const { admin, called } = open();
  for (const kind of ["nothing", "toString", undefined]) {
    const request = { kind } as unknown as AdminRequest;
    await assert.rejects(admin(request), { code: "REQUEST_INVALID", message: /^kind must be one of list, .*; got "/ });
  }
  assert.deepEqual(called, []);
});

test("a request with an invalid name is refused before any operation", async () => {
  const { admin, called } = open();
  await assert.rejects(admin({ kind: "explain", type: "no/name", id: "a" }), { code: "NAME_INVALID" });
  await assert.rejects(admin({ kind: "release", type: "Cart", id: "" }), { code: "NAME_INVALID" });
  assert.deepEqual(called, []);
});

test("a process without a cluster answers no request about one", async () => {
  const { admin } = open({ cluster: undefined });
  await assert.rejects(admin({ kind: "cluster" }), { code: "NOT_READY", message: /is not in a cluster/ });
  await assert.rejects(admin({ kind: "shards", type: "Cart" }), { code: "NOT_READY" });
});
