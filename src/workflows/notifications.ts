// Notifies the components of this process about durable changes of runs: its workers, HTTP workers that poll
// here, callers that wait for an end or an update, and the metrics. A notification may be superfluous. A lost
// one only delays work until the next poll.
import { invariant } from "../kernel/errors.ts";
import type { ReminderWriter } from "../ports/reminder-writer.ts";
import type { ReminderWrite } from "../ports/store/reminders.ts";
import type { CompletionOutcome, InboxMessage, TaskCompletion } from "../ports/store/workflows.ts";
import type { ActivityWorker } from "./activities/worker.ts";
import type { ClosedRun, EndWatch } from "./client/end-watch.ts";
import type { HttpWorkers } from "./http-workers.ts";
import type { UpdateWatch } from "./inbox/update-watch.ts";
import type { WorkflowInstruments } from "./instruments.ts";
import type { Worker } from "./worker/worker.ts";

export interface NotificationsDeps {
  readonly instruments: WorkflowInstruments;
  readonly writer: ReminderWriter;
  readonly ends: EndWatch;
  readonly updates: UpdateWatch;
}

/**
 * The components that claim work. They are opened after this file's class, because they notify through it.
 */
export interface Claimants {
  readonly worker: Pick<Worker, "nudge" | "nudgeAll" | "nudgeReceivers" | "nudgeRun">;
  readonly activityWorker: Pick<ActivityWorker, "nudge" | "expect" | "written">;
  readonly httpWorkers: Pick<HttpWorkers, "nudge">;
}

export class Notifications {
  readonly #deps: NotificationsDeps;
  #claimants: Claimants | undefined;

  constructor(deps: NotificationsDeps) {
    this.#deps = deps;
  }

  open(claimants: Claimants): void {
    invariant(this.#claimants === undefined, "the notifications of workflows were opened before");
    this.#claimants = claimants;
  }

  get #to(): Claimants {
    invariant(this.#claimants !== undefined, "a run changed before the notifications of workflows were opened");
    return this.#claimants;
  }

  /** The queue may hold tasks. */
  taskReady(): void {
    this.#to.worker.nudge();
    this.#to.httpWorkers.nudge();
  }

  /** A message is in the inbox of the run. */
  delivered(ref: number): void {
    if (!this.#to.worker.nudgeRun(ref)) this.taskReady();
  }

  /** Another process changed runs. */
  changedElsewhere(): void {
    this.#to.worker.nudgeAll();
    this.#deps.ends.nudge();
    this.#to.httpWorkers.nudge();
  }

  /** Another process queued activities. */
  queuedElsewhere(): void {
    this.#to.activityWorker.nudge();
    this.#to.httpWorkers.nudge();
  }

  /** An HTTP worker completed a task and sent these messages. */
  completedByHttp(messages: readonly InboxMessage[]): void {
    this.#to.worker.nudgeReceivers(messages);
    this.#to.activityWorker.nudge();
  }

  /** An activity without a lease is due at that moment. */
  activityFreed(at: number): void {
    this.#to.activityWorker.expect(at);
    this.#to.httpWorkers.nudge();
  }

  /** This process wrote these reminders. */
  reminded(writes: readonly ReminderWrite[]): void {
    this.#deps.writer.written(writes);
    this.#to.activityWorker.written(writes);
  }

  /** The worker of this process completed a task. */
  completed(completion: TaskCompletion, outcome: Extract<CompletionOutcome, { kind: "done" }>, runId: string): void {
    this.reminded(completion.reminders);
    this.#deps.instruments.step();
    this.#deps.updates.written(completion);
    const { starts, messages, taken, outcome: taskOutcome } = completion;
    if (taskOutcome.kind === "close") this.ended(completion.ref, runId, taskOutcome);
    if (starts.length > 0 || messages.length > 0 || outcome.delivered > taken) this.#to.worker.nudgeReceivers(messages);
    this.#to.httpWorkers.nudge();
  }

  /** This process, or an HTTP worker through it, ended a run. */
  ended(ref: number, runId: string, end: ClosedRun): void {
    if (end.status !== "running") this.#deps.instruments.ended(end.status);
    this.#deps.ends.ended(ref, runId, end);
    this.#deps.updates.ended(ref);
  }

  /** This process ended a run without its code; `messages`: to its parent and its children. */
  endedFromOutside(ref: number, runId: string, end: ClosedRun, messages: readonly InboxMessage[]): void {
    this.ended(ref, runId, end);
    if (messages.length === 0) return;
    this.#to.worker.nudgeReceivers(messages);
    this.#to.httpWorkers.nudge();
  }
}
