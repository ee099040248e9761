import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerOverview, WorkerSummary } from "../../ports/workflow-admin.ts";
import { workflowChecks } from "./workflow-check.ts";

const NOW = Date.UTC(2030, 0, 1, 12);

const worker = (more: Partial<WorkerSummary> = {}): WorkerSummary => ({
  worker: "w1",
  queue: "default",
  build: "",
  runtime: "typescript",
  types: ["order"],
  activities: undefined,
  isSticky: true,
  isDraining: false,
  isLive: true,
  seenAt: NOW,
  capacity: 100,
  size: 1,
  hits: 0,
  misses: 0,
  forced: 0,
  evictions: 0,
  ...more,
});

const overview = (more: Partial<WorkerOverview> = {}): WorkerOverview => ({
  now: NOW,
  running: 3,
  blocked: 0,
  workers: [worker()],
  unserved: [],
  sticky: { runs: 1, ready: 0, leased: 0, owned: 0, isEnabled: true, ttlMs: 300_000 },
  lastMinute: { sticky_hit_expected: 0, cold_replay: 0, forced_cold_replay: 0, miss: 0 },
  ...more,
});

const claims = (hits: number, miss: number, forced: number): Partial<WorkerOverview> => ({
  lastMinute: { sticky_hit_expected: hits, miss, forced_cold_replay: forced, cold_replay: 500 },
});

const find = (name: string, more: Partial<WorkerOverview>) =>
  workflowChecks(overview(more)).filter((check) => check.name === name);

test("a process without workflows gives no result", () => {
  assert.deepEqual(workflowChecks(overview({ workers: [], running: 0 })), []);
});

test("workflows in progress are counted", () => {
  assert.deepEqual(workflowChecks(overview()), [{ name: "Workflows", status: "ok", message: "3 running on 1 worker" }]);
});

test("blocked workflows are a warning with the command to inspect them", () => {
  const [check] = find("Workflows", { blocked: 1 });
  assert.deepEqual([check!.status, check!.message], ["warn", "1 workflow is blocked: the code cannot continue"]);
  assert.match(check!.hint!, /limpet workflows --blocked/);
});

test("unserved work is a warning for each type, with the reason", () => {
  const one = {
    kind: "workflow",
    type: "ordr",
    queue: "default",
    build: undefined,
    count: 2,
    since: NOW - 60_000,
  } as const;
  const hint = (more: object, workers = [worker()]) =>
    find("Workflows", { unserved: [{ ...one, ...more }], workers })[0]!;
  assert.equal(hint({}).message, "2 runs of ordr in queue default wait for a worker, the oldest for 1m");
  assert.equal(hint({}).hint, "No live worker has a workflow ordr; did you mean order?");
  assert.match(
    hint({ type: "order", queue: "far" }).hint!,
    /^Workers of queue default have that type; none of queue far has\.$/,
  );
  assert.match(
    hint({ type: "order", build: "7" }).hint!,
    /^They are pinned to build 7; no live worker has that build\.$/,
  );
  assert.equal(
    hint({ type: "order", definition: "abc" }).hint,
    "They are pinned to definition abc; no live worker has that code of order. Start one with that code, or end the runs.",
  );
  assert.match(hint({ type: "order", build: "7", definition: "abc" }).hint!, /^They are pinned to build 7;/);
  assert.match(
    hint({ type: "order", build: "7", definition: "abc" }, [worker({ compatible: ["7"] })]).hint!,
    /^They are pinned to definition abc;/,
  );
  assert.match(hint({ type: "order" }, [worker({ isLive: false })]).hint!, /^No live worker has a workflow order\.$/);
  const activity = { kind: "activity", type: "charge", count: 1 } as const;
  assert.match(hint(activity).message, /^1 activity of charge in queue default waits for a worker/);
  assert.match(hint(activity).hint!, /the workers of the queue have no such activity, or are behind/);
  assert.match(
    hint(activity, []).hint!,
    /no live worker is in queue default\. Start a worker with the activity charge/,
  );
});

test("a high hit rate is fine, and too few tasks give no result", () => {
  assert.deepEqual(find("Warm runs", claims(95, 1, 4)), [
    { name: "Warm runs", status: "ok", message: "95% of 99 tasks of the last minute found their run in memory" },
  ]);
  assert.deepEqual(find("Warm runs", claims(10, 9, 9)), []);
});

test("a low hit rate with healthy workers suggests a longer TTL, steadier workers or more memory", () => {
  const [check] = find("Warm runs", claims(70, 0, 30));
  assert.equal(check!.status, "warn");
  assert.match(check!.message, /^70% of 100 tasks .*; 0 missed it, 30 were replayed on another worker$/);
  assert.match(
    check!.hint!,
    /^Usually the affinity of runs ends too early \(worker\.stickyTtl is 5m\); else workers are replaced often, or the caches/,
  );
  // The worker has evicted the run: memory comes first.
  assert.match(find("Warm runs", claims(100, 40, 0))[0]!.hint!, /^Usually the caches of the workers are too small/);
  const evicting = { ...claims(70, 0, 30), workers: [worker({ evictions: 5 })] };
  assert.match(find("Warm runs", evicting)[0]!.hint!, /^Usually the caches of the workers are too small/);
});

test("a high rate of misses or forced cold replays is a warning that nothing is lost", () => {
  for (const numbers of [claims(20, 0, 80), claims(100, 80, 0)]) {
    const [check] = find("Warm runs", numbers);
    assert.match(check!.message, /^20% of 100 tasks/);
    assert.match(check!.hint!, /^No work is lost, but warm runs do not save replays\. Usually/);
  }
});

test("disabled sticky execution is not a problem", () => {
  const sticky = { ...overview().sticky, isEnabled: false };
  assert.equal(find("Warm runs", { sticky, ...claims(0, 0, 100) })[0]!.status, "ok");
});

test("a worker near its capacity is a warning that it may evict warm runs", () => {
  const [check] = find("Worker memory", {
    workers: [worker({ size: 90 }), worker({ size: 101 }), worker({ size: 89 })],
  });
  assert.equal(check!.message, "worker w1 has 90 runs in memory and room for 100, and 1 more is as full");
  assert.match(check!.hint!, /Raise worker\.cacheRuns, or start more workers/);
  assert.deepEqual(find("Worker memory", { workers: [worker({ size: 89 }), worker({ size: 99, isLive: false })] }), []);
  assert.deepEqual(find("Worker memory", { workers: [worker({ capacity: 0, size: 0, isSticky: false })] }), []);
});

test("stale workers are a warning", () => {
  const [check] = find("Workers", { workers: [worker(), worker({ isLive: false })] });
  assert.equal(check!.message, "1 worker has sent no heartbeat lately");
});
