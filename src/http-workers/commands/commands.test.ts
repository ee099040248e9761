// The reports of a remote worker become commands: numbered as the worker counts them, and never twice.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HistoryEvent } from "../../workflows/engine/events.ts";
import { RunState } from "../../workflows/history/run-state.ts";
import type { WorkerCommand } from "./command.ts";
import { decide } from "./commands.ts";

const STARTED = { kind: "WorkflowStarted", type: "order", workflowId: "o", runId: "r", input: null, flags: 1 } as const;

function runWith(...events: HistoryEvent[]): RunState {
  const run = new RunState(1);
  run.append({ at: 0, events: [STARTED] }, 0);
  for (const event of events) run.append({ at: 0, events: [event] }, 0);
  return run;
}

/** Decides, and appends the events to the history. */
function eventsOf(run: RunState, ...commands: WorkerCommand[]): HistoryEvent[] {
  const { events } = decide(run, commands, 1_000);
  if (events.length > 0) run.append({ at: 1_000, events }, 0);
  return events;
}

const activity = (input: unknown, more = {}): WorkerCommand => ({
  kind: "schedule_activity",
  name: "a",
  input,
  options: {},
  ...more,
});
const wait = (seconds?: number): WorkerCommand => ({
  kind: "open_condition_wait",
  key: "k",
  fingerprint: "f",
  seconds,
});
const group = (base: number, size: number, index: number) => ({
  group: { id: `g:${base}:${size}`, kind: "activity", base, size, index },
});
const completed = (of: number): HistoryEvent => ({ kind: "ActivityCompleted", of, result: null });

describe("commands of a remote worker", () => {
  it("commands that are repeated while their step is open add no events, and with another input they do", () => {
    const run = runWith();
    assert.equal(eventsOf(run, activity(1)).length, 1);
    assert.deepEqual(eventsOf(run, activity(1)), []);
    assert.deepEqual(
      eventsOf(run, activity(2)).map((event) => "n" in event && event.n),
      [2],
    );
  });

  it("commands after the end of a step are new, even if they equal the ones before", () => {
    const run = runWith();
    eventsOf(run, activity(1));
    run.append({ at: 0, events: [completed(1)] }, 0);
    assert.equal(eventsOf(run, activity(1)).length, 1);
  });

  it("commands of a group count from the base that the worker names, and are recognized as a whole", () => {
    const run = runWith();
    const members = [0, 1, 2].map((index) => activity(index, group(5, 3, index)));
    assert.deepEqual(
      eventsOf(run, ...members).map((event) => "n" in event && event.n),
      [5, 6, 7],
    );
    run.append({ at: 0, events: [completed(6)] }, 0);
    assert.equal(run.needsWorker, false);
    assert.deepEqual(eventsOf(run, ...[0, 1, 2].map((index) => activity(index, group(6, 3, index)))), []);
    run.append({ at: 0, events: [completed(5), completed(7)] }, 0);
    assert.equal(run.needsWorker, true);
  });

  it("commands that wait for a condition are recorded each time, and the first time limit continues", () => {
    const run = runWith();
    const first = decide(run, [wait(60)], 1_000);
    assert.deepEqual(first.timers, [{ kind: "TimerScheduled", n: 1, at: 61_000 }]);
    run.append({ at: 0, events: first.events }, 0);
    run.append({ at: 0, events: [{ kind: "SignalReceived", id: "s", name: "s", input: null, wait: 1 }] }, 0);
    const again = decide(run, [wait(60)], 9_000);
    assert.deepEqual(again.timers, []);
    assert.deepEqual(again.events, [
      { kind: "ConditionWaitOpened", n: 2, key: "k", fingerprint: "f", seconds: 60, timer: 1 },
    ]);
    run.append({ at: 0, events: again.events }, 0);
    const passed = decide(run, [activity(1)], 9_000);
    assert.deepEqual(passed.timers, [{ kind: "TimerCancelled", n: 0, of: 1 }]);
  });

  it("commands that apply an update leave the numbers of the code alone, and its wait open", () => {
    const run = runWith();
    eventsOf(run, wait());
    run.append({ at: 0, events: [{ kind: "UpdateAccepted", id: "u", name: "rename", input: 1 }] }, 0);
    assert.equal(run.nextUpdate?.id, "u");
    eventsOf(run, { kind: "complete_update", id: "u", result: 2 });
    assert.deepEqual([run.next, run.wait?.n, run.nextUpdate, run.needsWorker], [2, 1, undefined, true]);
    assert.throws(() => eventsOf(run, { kind: "complete_update", id: "u", result: 2 }), { code: "WORKFLOW_INVALID" });
  });

  it("commands that leave the run without a wait or end it twice are rejected", () => {
    const nothing: readonly (readonly WorkerCommand[])[] = [
      [],
      [{ kind: "record_side_effect", result: 1 }],
      [{ kind: "complete_workflow", result: 1 }, activity(1)],
      [
        { kind: "complete_workflow", result: 1 },
        { kind: "complete_workflow", result: 1 },
      ],
    ];
    for (const commands of nothing) assert.throws(() => eventsOf(runWith(), ...commands), { code: "WORKFLOW_INVALID" });
    const run = runWith();
    eventsOf(run, activity(1));
    assert.deepEqual(eventsOf(run), []);
  });
});

describe("state of a remote worker's run", () => {
  it("the state of a run is the same after its history was read again", () => {
    const run = runWith();
    eventsOf(run, activity(1), { kind: "start_timer", seconds: 5 });
    run.append({ at: 0, events: [{ kind: "SignalReceived", id: "s", name: "s", input: null }, completed(1)] }, 0);
    eventsOf(run, wait(5));
    const again = new RunState(1);
    for (const { at, events } of run.history) again.append({ at, events }, 0);
    const view = ({ last, next, open, wait: opened, latest, isDue, isOver }: RunState) => ({
      last,
      next,
      open: [...open],
      opened,
      latest,
      isDue,
      isOver,
    });
    assert.deepEqual(view(again), view(run));
  });

  it("a run rejects repeated results and signals", () => {
    const run = runWith();
    eventsOf(run, activity(1));
    assert.equal(run.wants({ kind: "ActivityCompleted", of: 1, result: null }), true);
    run.append({ at: 0, events: [completed(1), { kind: "SignalReceived", id: "s", name: "s", input: null }] }, 0);
    assert.equal(run.wants({ kind: "ActivityCompleted", of: 1, result: null }), false);
    assert.equal(run.wants({ kind: "SignalReceived", id: "s", name: "s", input: null }), false);
    assert.equal(run.wants({ kind: "SignalReceived", id: "t", name: "s", input: null }), true);
  });
});
