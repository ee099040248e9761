import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredRun, StoredTask } from "../../ports/store/workflows.ts";
import type { WorkerSummary } from "../../ports/workflow-admin.ts";
import { writePin } from "../definition/pins.ts";
import { awaitedBy, type RunFacts, summaryOf } from "./explain-run.ts";
import type { PendingStep } from "./timeline.ts";

const NOW = Date.UTC(2030, 0, 1, 12);

const task = (more: Partial<StoredTask> = {}): StoredTask => ({
  state: "idle",
  attempt: 0,
  lost: 0,
  problem: undefined,
  at: undefined,
  worker: undefined,
  mode: undefined,
  claimedAt: undefined,
  arrived: 0,
  taken: 0,
  ...more,
});

const run = (more: Partial<StoredRun> = {}): StoredRun => ({
  namespace: "default",
  workflowId: "o-1",
  ref: 1,
  runId: "r",
  type: "order",
  queue: "shop",
  pinned: undefined,
  status: "running",
  attributes: "{}",
  memo: "{}",
  startedAt: NOW - 60_000,
  closedAt: undefined,
  result: undefined,
  events: 5,
  bytes: 1,
  task: task(),
  stickyWorker: undefined,
  stickyUntil: undefined,
  ...more,
});

const step = (more: Partial<PendingStep> = {}): PendingStep => ({
  event: 2,
  at: NOW - 30_000,
  kind: "activity",
  what: "charge",
  state: "pending",
  endedAt: undefined,
  input: undefined,
  result: undefined,
  error: undefined,
  failures: 0,
  due: undefined,
  n: 1,
  queue: undefined,
  isQueued: true,
  ...more,
});

const worker = (more: Partial<WorkerSummary> = {}): WorkerSummary => ({
  worker: "w1",
  queue: "shop",
  build: "",
  runtime: "typescript",
  types: ["order"],
  activities: undefined,
  isSticky: true,
  isDraining: false,
  isLive: true,
  seenAt: NOW,
  capacity: 10,
  size: 1,
  hits: 0,
  misses: 0,
  forced: 0,
  evictions: 0,
  ...more,
});

const explain = (more: Partial<RunFacts>) => {
  const facts = { run: run(), now: NOW, pending: [], queued: new Map(), code: [], workers: [worker()], ...more };
  const waitsFor = awaitedBy(facts);
  return { waitsFor, summary: summaryOf(facts, waitsFor) };
};

test("a resting run lists its waits", () => {
  const { waitsFor, summary } = explain({
    pending: [step(), step({ kind: "timer", what: "", due: NOW + 1_000, n: 2 })],
    queued: new Map([[1, { at: NOW + 5_000, attempts: 2, leasedUntil: undefined }]]),
    code: ["ActivityScheduled 1", "TimerScheduled 2", "signal approved", "condition"],
  });
  assert.equal(
    summary,
    "order o-1 waits for activity charge, a timer at 2030-01-01T12:00:01.000Z, signal approved and 1 more",
  );
  assert.deepEqual(
    waitsFor.map(({ kind, what, due, failures, isStuck }) => [kind, what, due, failures, isStuck]),
    [
      ["activity", "charge", NOW + 5_000, 2, false],
      ["timer", "", NOW + 1_000, 0, false],
      ["signal", "approved", undefined, 0, false],
      ["condition", "", undefined, 0, false],
    ],
  );
});

test("a queued activity shows its worker, or that no worker claims it", () => {
  const why = (place: Parameters<typeof Map.prototype.set>[1] | undefined, workers = [worker()]) => {
    const queued = new Map(place === undefined ? [] : [[1, place]]);
    const [{ why: reason, isStuck }] = explain({ pending: [step()], queued, workers }).waitsFor as [never];
    return [reason, isStuck];
  };
  const due = { at: NOW - 5_000, attempts: 0, leasedUntil: undefined };
  assert.deepEqual(why(undefined), ["it is done, and the run gets its result next", false]);
  assert.deepEqual(why({ ...due, leasedUntil: NOW + 1 }), ["a worker has it", false]);
  assert.deepEqual(why(due), ["it waits in queue shop for a worker", false]);
  const late = { ...due, at: NOW - 60_000 };
  assert.deepEqual(why(late), [
    "no worker claims it from queue shop: the workers there have no such activity, or are behind",
    true,
  ]);
  assert.deepEqual(why(late, [worker({ queue: "far" })]), [
    "no worker claims it from queue shop: no live worker is there",
    true,
  ]);
});

test("an eager activity shows the worker of its run, or that this worker is gone", () => {
  const eager = [step({ isQueued: false })];
  const leased = task({ state: "leased", worker: "w1", at: NOW + 9_000 });
  const held = explain({ run: run({ task: leased }), pending: eager });
  assert.equal(held.summary, "order o-1 is worked on by w1, and waits for activity charge");
  assert.equal(held.waitsFor[0]!.why, "worker w1 has it");
  const lost = explain({ run: run({ task: { ...leased, at: NOW - 1 } }), pending: eager });
  assert.match(lost.summary, /^order o-1 waits for a worker: 1 of its workers are there, and busy$/);
  assert.match(lost.waitsFor[1]!.why!, /^its worker is gone; the next worker of the run repeats it$/);
});

test("a run without a worker shows the reason", () => {
  const why = (workers: WorkerSummary[], more: Partial<StoredRun> = {}, readyFor = 60_000) => {
    const ready = task({ state: "ready", at: NOW - readyFor });
    const { summary, waitsFor } = explain({ run: run({ task: ready, ...more }), workers });
    assert.equal(waitsFor[0]!.kind, "worker");
    return [summary.replace("order o-1 waits for a worker: ", ""), waitsFor[0]!.isStuck];
  };
  assert.deepEqual(why([]), ["no live worker has a workflow order", true]);
  assert.deepEqual(why([], {}, 5_000), ["no live worker has a workflow order", false]);
  assert.deepEqual(why([worker({ types: ["orders"] })]), [
    "no live worker has a workflow order; did you mean orders?",
    true,
  ]);
  assert.deepEqual(why([worker({ isLive: false })]), ["no live worker has a workflow order", true]);
  assert.deepEqual(why([worker({ isDraining: true })]), ["no live worker has a workflow order", true]);
  assert.deepEqual(why([worker({ queue: "far" })]), [
    "no live worker of queue shop has order; those of queue far do",
    true,
  ]);
  assert.deepEqual(why([worker({ build: "2" })], { pinned: "1" }), [
    "it is pinned to build 1, and its workers are of build 2",
    true,
  ]);
  assert.deepEqual(why([worker({ build: "2", compatible: ["1"] })], { pinned: "1" }), [
    "1 of its workers are there, and busy",
    false,
  ]);
  assert.deepEqual(why([worker()]), ["1 of its workers are there, and busy", false]);
  const sticky = { stickyWorker: "w1", stickyUntil: NOW + 60_000 };
  assert.deepEqual(why([worker()], sticky), [
    "it is kept for worker w1, which has it in memory, for another 1m",
    false,
  ]);
  assert.deepEqual(why([worker()], { ...sticky, stickyUntil: NOW - 1 }), [
    "1 of its workers are there, and busy",
    false,
  ]);
});

test("a run pinned to a definition that no live worker has is stuck, with advice", () => {
  const pinOf = (build: string | undefined, definition: string) => writePin({ build, definition });
  const why = (pinned: string | undefined, workers: WorkerSummary[], more: Partial<StoredRun> = {}) => {
    const waiting = run({ task: task({ state: "ready", at: NOW - 60_000 }), pinned, ...more });
    const { summary, waitsFor } = explain({ run: waiting, workers });
    return [summary.replace("order o-1 waits for a worker: ", ""), waitsFor[0]!.isStuck];
  };
  const a = worker({ definitions: { order: "a".repeat(32) } });
  const b = worker({ definitions: { order: "b".repeat(32) } });
  const stuck =
    "it is pinned to definition aaaaaaaaaaaa…, and its workers have others; start one with the code that it was begun with, or end it";
  assert.deepEqual(why(pinOf(undefined, "a".repeat(32)), [b]), [stuck, true]);
  assert.deepEqual(why(pinOf(undefined, "a".repeat(32)), [worker()]), [stuck, true]);
  assert.deepEqual(why(pinOf(undefined, "a".repeat(32)), [a, b]), ["1 of its workers are there, and busy", false]);
  const kept = { stickyWorker: "w1", stickyUntil: NOW + 60_000 };
  assert.deepEqual(why(pinOf(undefined, "a".repeat(32)), [b], kept), [stuck, true]);
  assert.deepEqual(why(pinOf("1", "a".repeat(32)), [a]), [
    "it is pinned to build 1, and its workers are of build none",
    true,
  ]);
  assert.deepEqual(why(pinOf("1", "a".repeat(32)), [{ ...b, build: "1" }, a]), [stuck, true]);
});

test("a run that is blocked, delayed, or waits for something unknown here is described as such", () => {
  const blocked = task({ state: "ready", at: NOW + 4_000, attempt: 3, problem: "it diverged" });
  assert.equal(
    explain({ run: run({ task: blocked }) }).summary,
    "order o-1 is blocked: its code could not go on, tried 3 times, and it is tried again in 4s",
  );
  const later = task({ state: "ready", at: NOW + 60_000 });
  assert.equal(explain({ run: run({ task: later, events: 1 }) }).summary, "order o-1 begins in 1m");
  assert.equal(explain({ run: run({ task: later }) }).summary, "order o-1 goes on in 1m");
  assert.match(
    explain({ code: undefined }).summary,
    /waits for a signal, an update or a condition, which its code knows/,
  );
});

test("a closed run shows its end, and waits for nothing", () => {
  const ended = (status: StoredRun["status"], result = "{}") =>
    explain({ run: run({ status, result, closedAt: NOW, task: undefined }), pending: [step()] });
  assert.deepEqual(ended("completed").waitsFor, []);
  assert.equal(ended("completed").summary, "order o-1 completed after 1m");
  const error = { errorCode: "ACTOR_FAILED", message: "no tea\nat all", error: { name: "RangeError" } };
  assert.equal(ended("failed", JSON.stringify({ error })).summary, "order o-1 failed after 1m: RangeError: no tea");
  assert.equal(ended("terminated").summary, "order o-1 was terminated after 1m");
  assert.equal(ended("timed out").summary, "order o-1 timed out after 1m");
  assert.equal(ended("continued").summary, "order o-1 continued as a new run after 1m");
});

test("a timer that is long overdue is stuck", () => {
  const [timer] = explain({ pending: [step({ kind: "timer", what: "", due: NOW - 60_000 })] }).waitsFor;
  assert.deepEqual([timer!.isStuck, timer!.why], [true, "it is overdue: no process delivers timers"]);
});

test("a fired timer that a blocked run has not handled is not the cause", () => {
  const blocked = run({ task: task({ state: "ready", problem: "Date.now()", at: NOW + 5_000, arrived: 1 }) });
  const [timer] = explain({ run: blocked, pending: [step({ kind: "timer", what: "", due: NOW - 60_000 })] }).waitsFor;
  assert.deepEqual([timer!.isStuck, timer!.why], [false, "it has fired, and the run has not handled it yet"]);
});
