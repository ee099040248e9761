import assert from "node:assert/strict";
import { test } from "node:test";
import { LimpetError } from "../../kernel/errors.ts";
import { serializeError } from "../../kernel/serialized-error.ts";
import type { HistoryEvent } from "./events.ts";
import { RunTimeline, shown, storedErrorText } from "./timeline.ts";

const T = 1_000_000;
const started: HistoryEvent = {
  kind: "WorkflowStarted",
  type: "order",
  workflowId: "o",
  runId: "r",
  input: ["tea"],
  flags: 1,
};
const error = serializeError(new RangeError("no tea"));

/** One event a second. */
function fold(...events: HistoryEvent[]): RunTimeline {
  const timeline = new RunTimeline();
  for (const [i, event] of [started, ...events].entries()) timeline.add(i + 1, T + i * 1_000, event);
  return timeline;
}

/** The fields of each step after the first that are not empty. */
const brief = (timeline: RunTimeline) =>
  timeline.steps.slice(1).map((step) => Object.fromEntries(Object.entries(step).filter(([, value]) => value)));

test("a command stands together with its outcome", () => {
  const timeline = fold(
    { kind: "ActivityScheduled", n: 1, name: "charge", input: 12, eager: true },
    { kind: "TimerScheduled", n: 2, at: T + 60_000 },
    { kind: "ActivityCompleted", of: 1, result: { receipt: 7 } },
    { kind: "TimerFired", of: 2 },
  );
  assert.deepEqual(brief(timeline), [
    {
      event: 2,
      at: T + 1_000,
      kind: "activity",
      what: "charge",
      state: "done",
      endedAt: T + 3_000,
      input: "12",
      result: '{"receipt":7}',
    },
    { event: 3, at: T + 2_000, kind: "timer", state: "done", endedAt: T + 4_000, due: T + 60_000 },
  ]);
  assert.deepEqual(timeline.pending, []);
  const [first] = timeline.steps;
  assert.deepEqual([first!.kind, first!.what, first!.input, first!.state], ["start", "order", '["tea"]', "told"]);
});

test("pending steps are listed with their failures and their next attempt", () => {
  const timeline = fold(
    { kind: "ActivityScheduled", n: 1, name: "charge", input: null, eager: true },
    { kind: "ActivityScheduled", n: 2, name: "ship", input: null, options: { queue: "far" } },
    { kind: "ActivityRetryScheduled", of: 1, attempts: 3, pause: 5_000, error },
  );
  const pending = timeline.pending.map(({ what, failures, error: why, due, queue, isQueued, n }) => ({
    what,
    failures,
    why,
    due,
    queue,
    isQueued,
    n,
  }));
  assert.deepEqual(pending, [
    {
      what: "charge",
      failures: 3,
      why: "RangeError: no tea",
      due: T + 8_000,
      queue: undefined,
      isQueued: true,
      n: 1,
    },
    { what: "ship", failures: 0, why: undefined, due: undefined, queue: "far", isQueued: true, n: 2 },
  ]);
});

test("failures, timeouts and cancellations end a step in their own way", () => {
  const failed = new LimpetError("ACTIVITY_FAILED", "no tea", { cause: new RangeError("no tea") });
  const timeline = fold(
    { kind: "ActivityScheduled", n: 1, name: "a", input: null },
    { kind: "ActivityScheduled", n: 2, name: "b", input: null },
    { kind: "TimerScheduled", n: 3, at: T + 9_000 },
    { kind: "ChildWorkflowScheduled", n: 4, type: "part", workflowId: "p", input: 1, onParentClose: "abandon" },
    { kind: "ActivityFailed", of: 1, error: serializeError(failed), attempts: 4 },
    { kind: "ActivityCancelRequested", n: 5, of: 2 },
    { kind: "TimerCancelled", n: 6, of: 3 },
    { kind: "ChildRunFailed", of: 4, error },
    // Too late, or for an unknown command.
    { kind: "ActivityCompleted", of: 2, result: 1 },
    { kind: "ActivityRetryScheduled", of: 99, attempts: 1, pause: 1, error },
  );
  assert.deepEqual(
    timeline.steps.slice(1).map(({ what, state, error: why, failures }) => [what, state, why, failures]),
    [
      ["a", "failed", "RangeError: no tea", 4],
      ["b", "cancelled", undefined, 0],
      ["", "cancelled", undefined, 0],
      ["part p", "failed", "RangeError: no tea", 0],
    ],
  );
});

test("an update stands together with its answer, and a rejected one alone", () => {
  const timeline = fold(
    { kind: "UpdateAccepted", id: "u1", name: "discount", input: 5 },
    { kind: "UpdateAccepted", id: "u2", name: "discount", input: 6 },
    { kind: "UpdateRejected", id: "u3", name: "price", error },
    { kind: "UpdateCompleted", n: 1, id: "u1", result: 10 },
    { kind: "UpdateFailed", n: 2, id: "u2", error },
  );
  assert.deepEqual(
    timeline.steps.slice(1).map(({ what, input, state, result, error: why }) => [what, input, state, result, why]),
    [
      ["discount", "5", "done", "10", undefined],
      ["discount", "6", "failed", undefined, "RangeError: no tea"],
      ["price", undefined, "failed", undefined, "RangeError: no tea"],
    ],
  );
});

test("no step is pending after the end of a run, for every kind of end", () => {
  const ends: [HistoryEvent, string, string][] = [
    [{ kind: "WorkflowCompleted", n: 2, result: 1 }, "completed", "done"],
    [{ kind: "WorkflowFailed", n: 2, error }, "failed", "failed"],
    [{ kind: "WorkflowCancelled", n: 2, error }, "cancelled", "cancelled"],
    [{ kind: "WorkflowContinuedAsNew", n: 2, type: "order", input: 1, runId: "r2" }, "continued as run r2", "done"],
    [{ kind: "WorkflowTerminated", reason: "enough" }, "terminated", "failed"],
    [{ kind: "WorkflowTimedOut", reason: "late" }, "timed out", "failed"],
  ];
  for (const [end, what, state] of ends) {
    const timeline = fold({ kind: "TimerScheduled", n: 1, at: T }, end);
    assert.deepEqual(timeline.pending, []);
    assert.deepEqual(
      timeline.steps.slice(1).map((step) => [step.what, step.state]),
      [
        ["", "left"],
        [what, state],
      ],
    );
  }
});

test("a wait that a remote worker reports again is one wait, until it ends", () => {
  const timeline = fold(
    { kind: "ConditionWaitOpened", n: 1, key: "paid" },
    { kind: "ConditionWaitOpened", n: 2, key: "paid" },
    { kind: "SignalWaitOpened", n: 3, name: "go" },
    { kind: "SignalReceived", id: "s", name: "go", input: 1, wait: 3 },
  );
  assert.deepEqual(
    timeline.pending.map(({ what, n }) => [what, n]),
    [["condition paid", 2]],
  );
});

test("an event of a newer process is shown by its name", () => {
  const timeline = fold({ kind: "MoonPhaseRecorded" } as unknown as HistoryEvent);
  assert.deepEqual(brief(timeline), [
    { event: 2, at: T + 1_000, kind: "note", what: "MoonPhaseRecorded", state: "told" },
  ]);
});

test("long values and errors are cut, and missing ones are left out", () => {
  assert.equal(shown("x".repeat(1_000))!.length, 301);
  assert.equal(shown(undefined), undefined);
  assert.equal(shown({ $: "undefined" }), undefined);
  assert.equal(shown(null), "null");
  assert.equal(storedErrorText(serializeError(new Error("y".repeat(1_000)))).length, 301);
  assert.equal(storedErrorText(serializeError(new LimpetError("WORKFLOW_CANCELLED", "enough"))), "enough");
  assert.equal(storedErrorText(undefined), "");
});
