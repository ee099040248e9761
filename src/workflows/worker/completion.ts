// Builds the completion of a task: the events of one step, and all writes that follow from them in the same
// transaction. Workers of this process, HTTP workers and ends from outside build their steps here, so the
// same events always have the same effects.
import type { SerializedError } from "../../kernel/serialized-error.ts";
import type { ReminderWrite } from "../../ports/store/reminders.ts";
import type { InboxMessage, RunStart, TaskCompletion, TaskOutcome } from "../../ports/store/workflows.ts";
import { writeError, writeResult } from "../definition/messages.ts";
import type { CommandEvent, HistoryEvent, RunEndEvent } from "../engine/events.ts";
import { writeEventBatch } from "../engine/events.ts";
import type { CommandDispatcher, DispatchingRun, StepWrites } from "./command-dispatcher.ts";

type Close = Extract<TaskOutcome, { kind: "close" }>;

/** The task and its lease, and the values that a step does not derive from its events. */
export type CompletedTask = Pick<TaskCompletion, "ref" | "token" | "last" | "taken" | "outcome" | "affinity">;

export class CompletionBuilder implements StepWrites {
  readonly #run: DispatchingRun;
  readonly #dispatcher: CommandDispatcher;
  readonly events: HistoryEvent[] = [];
  readonly reminders: ReminderWrite[] = [];
  readonly starts: RunStart[] = [];
  readonly messages: InboxMessage[] = [];

  constructor(run: DispatchingRun, dispatcher: CommandDispatcher) {
    this.#run = run;
    this.#dispatcher = dispatcher;
  }

  /** Records an event from outside, before a loaded run notes it: that removes ended activities. */
  receive(event: HistoryEvent): void {
    this.events.push(event);
    this.#dispatcher.after(this, this.#run, event);
  }

  /** Adds the writes that follow from commands; the caller records their events. */
  dispatch(commands: readonly CommandEvent[], at: number): void {
    this.#dispatcher.dispatch(this, this.#run, commands, at);
  }

  /** Adds the writes that follow from the end of the run; the caller records its event. */
  end(end: RunEndEvent, at: number, nextQueue?: string): void {
    this.#dispatcher.atEnd(this, this.#run, end, at, nextQueue);
  }

  /** `at`: the time of all events of the step. */
  build(task: CompletedTask, at: number): TaskCompletion {
    const { events, reminders, starts, messages } = this;
    const { ref, token, last, taken, outcome, affinity } = task;
    return {
      ref,
      token,
      last,
      taken,
      outcome,
      affinity,
      batch: events.length === 0 ? undefined : writeEventBatch({ at, events }),
      attributes: events.some(changesAttributes) ? this.#run.attributesText() : undefined,
      memo: events.some(changesMemo) ? this.#run.memoText() : undefined,
      reminders,
      starts,
      messages: messages,
    };
  }
}

const changesAttributes = ({ kind }: HistoryEvent): boolean => kind === "SearchAttributesUpserted";
const changesMemo = ({ kind }: HistoryEvent): boolean => kind === "MemoUpserted";

/** The outcome of a task whose run ended with an error. */
export const closeWith = (status: Close["status"], error: SerializedError): Close => ({
  kind: "close",
  status,
  result: writeError(error),
});

/** The outcome of a task whose code ended the run. */
export function closeBy(end: RunEndEvent): Close {
  switch (end.kind) {
    case "WorkflowCompleted":
      return { kind: "close", status: "completed", result: writeResult(end.result) };
    case "WorkflowContinuedAsNew":
      return { kind: "close", status: "continued", result: writeResult(end.runId) };
    case "WorkflowCancelled":
      return closeWith("cancelled", end.error);
    case "WorkflowFailed":
      return closeWith("failed", end.error);
  }
}
