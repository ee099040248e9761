import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ReminderWriter } from "../../ports/reminder-writer.ts";
import { workflow } from "../definition/definition.ts";
import { DrivenRun } from "../execution-kit.test.ts";
import { RunState } from "../history/run-state.ts";
import { CommandDispatcher } from "./command-dispatcher.ts";
import { CompletionBuilder, closeBy } from "./completion.ts";
import { LoadedRun } from "./loaded-run.ts";

const writer = {
  set: (key: object, { due, data }: { due: unknown; data: unknown }) => ({ kind: "set", key, content: { due, data } }),
} as unknown as ReminderWriter;
const dispatcher = new CommandDispatcher({ namespace: "default", queue: "default", writer });
const TASK = { ref: 1, token: "t", last: 1, taken: 0, affinity: undefined } as const;

const Order = workflow("Order", async (ctx) => {
  ctx.setMemo({ stage: 1 });
  const work = ctx.activity("charge", { cents: 5 }, { scheduleToClose: "1m" });
  const child = ctx.child("Parcel", { id: "parcel-1" });
  ctx.workflow("other").signal("hello", 7);
  await ctx.sleep("1h");
  await Promise.all([work, child]);
});

/** The first step of the same run, in the memory of a worker and derived from its history. */
async function bothRuns() {
  const driven = await DrivenRun.begin(Order);
  const [{ at, events }] = driven.steps as [(typeof driven.steps)[0]];
  const loaded = new LoadedRun(1, driven.execution, 1, 0);
  const derived = new RunState(1);
  for (const event of events) loaded.note(event, at);
  derived.append({ at, events }, 0);
  return { at, loaded, derived, commands: events.filter((event) => "n" in event) };
}

describe("the completion of a task", () => {
  it("the same commands have the same writes in a loaded run and in a run derived from its history", async () => {
    const { at, loaded, derived, commands } = await bothRuns();
    const [one, other] = [loaded, derived].map((run) => {
      const step = new CompletionBuilder(run, dispatcher);
      step.events.push(...commands);
      step.dispatch(commands, at);
      return step.build({ ...TASK, outcome: { kind: "rest" } }, at);
    });
    assert.deepEqual(one, other);
    const types = one!.reminders.map(({ key }) => key.type);
    assert.equal(types.length, 3, "the activity, the check of its limit, and the timer");
    assert.deepEqual(
      one!.starts.map(({ workflowId, type }) => [workflowId, type]),
      [["parcel-1", "Parcel"]],
    );
    assert.deepEqual(
      one!.messages.map(({ workflowId }) => workflowId),
      ["other"],
    );
    assert.deepEqual([one!.memo, one!.attributes, one!.batch?.count], ['{"stage":1}', undefined, commands.length]);
  });

  it("the same end has the same writes in a loaded run and in a run derived from its history", async () => {
    const { at, loaded, derived } = await bothRuns();
    const end = { kind: "WorkflowCompleted", n: 9, result: null } as const;
    const [one, other] = [loaded, derived].map((run) => {
      const step = new CompletionBuilder(run, dispatcher);
      step.events.push(end);
      step.end(end, at);
      return step.build({ ...TASK, outcome: closeBy(end) }, at);
    });
    assert.deepEqual(one, other);
    assert.deepEqual(
      one!.reminders.map(({ kind }) => kind),
      ["cancel", "cancel", "cancel"],
    );
    assert.deepEqual(one!.outcome, { kind: "close", status: "completed", result: '{"result":null}' });
  });

  it("an empty step has no batch of events", async () => {
    const { at, loaded } = await bothRuns();
    const completion = new CompletionBuilder(loaded, dispatcher).build({ ...TASK, outcome: { kind: "rest" } }, at);
    assert.deepEqual([completion.batch, completion.memo, completion.reminders], [undefined, undefined, []]);
  });
});
