// All changes of runs: starts, deliveries, steps by the holder of a task, and ends from outside. Each item of
// a batch is checked before anything of it is written, so none needs a savepoint. Every method runs inside a
// write transaction of the caller, and may run again after a rollback.

import type { ReminderWrite } from "../../../ports/store/reminders.ts";
import type {
  Closing,
  CompletionOutcome,
  DeliveryOutcome,
  InboxMessage,
  RunStart,
  StartOutcome,
  TaskCompletion,
} from "../../../ports/store/workflows.ts";
import { LEASED, READY } from "../../task-states.ts";
import type { ReminderStatements } from "../reminders/statements.ts";
import { COMPLETED, RUNNING, statusCode, statusOf } from "./codes.ts";
import type { EventBatches } from "./event-batches.ts";
import type { WorkflowInbox } from "./inbox.ts";
import type { WorkflowKinds } from "./kinds.ts";
import type { RunClosing, RunHead, WorkflowRuns } from "./runs.ts";
import type { TaskRow, WorkflowTasks } from "./tasks.ts";

export interface WorkflowTables {
  readonly kinds: WorkflowKinds;
  readonly runs: WorkflowRuns;
  readonly tasks: WorkflowTasks;
  readonly batches: EventBatches;
  readonly inbox: WorkflowInbox;
  readonly reminders: ReminderStatements;
}

export class SqliteWorkflowSteps {
  readonly #tables: WorkflowTables;

  constructor(tables: WorkflowTables) {
    this.#tables = tables;
  }

  start(batch: readonly RunStart[], now: number): StartOutcome[] {
    const writes: ReminderWrite[] = [];
    const outcomes = batch.map((start) => this.#start(start, writes, now));
    this.#remind(writes, now);
    return outcomes;
  }

  deliver(batch: readonly InboxMessage[], now: number): DeliveryOutcome[] {
    return batch.map((message) => this.#deliver(message, now));
  }

  complete(batch: readonly TaskCompletion[], now: number): CompletionOutcome[] {
    const writes: ReminderWrite[] = [];
    const outcomes = batch.map((step) => this.#complete(step, writes, now));
    this.#remind(writes, now);
    return outcomes;
  }

  close({ status, batch, result, reminders, messages, ...key }: Closing, now: number): boolean {
    const { runs, batches, tasks } = this.#tables;
    const run = runs.find(key);
    const task = run?.status === RUNNING ? tasks.read(run.ref) : undefined;
    if (run === undefined || task === undefined) return false;
    const bytes = task.bytes + batches.put(run.ref, task.last + 1, batch);
    const end: RunClosing = { status: statusCode(status), result, token: null, now };
    runs.end(run.ref, { ...task, last: task.last + batch.count, bytes }, end);
    this.#remind(reminders, now);
    this.deliver(messages, now);
    return true;
  }

  #remind(writes: readonly ReminderWrite[], now: number): void {
    if (writes.length > 0) this.#tables.reminders.write(writes, now);
  }

  /** `writes` collects the reminders that the batch has to write. */
  #start(start: RunStart, writes: ReminderWrite[], now: number): StartOutcome {
    const { runs, kinds, batches, tasks } = this.#tables;
    const latest = runs.latest(start);
    if (latest !== undefined) {
      const same = this.#startedAs(start, latest);
      if (same !== undefined) return outcomeOf(same, true);
      if (!mayStart(start, latest.status)) return outcomeOf(latest, false);
    }
    const kind = kinds.make(start.namespace, start.queue, start.type);
    const ref = runs.put(start, kind, now);
    tasks.put(ref, kind, batches.put(ref, 1, start.first), start, now);
    for (const write of start.reminders) writes.push(write);
    return { ref, runId: start.runId, status: "running", isNew: true };
  }

  /** The run of an earlier attempt at this start. */
  #startedAs(start: RunStart, latest: RunHead): RunHead | undefined {
    return latest.runId === start.runId ? latest : this.#tables.runs.byRunId(start, start.runId);
  }

  #deliver(message: InboxMessage, now: number): DeliveryOutcome {
    const { runs, tasks, inbox } = this.#tables;
    const head = runs.find(message);
    const task = head?.status === RUNNING ? tasks.read(head.ref) : undefined;
    if (head === undefined || task === undefined) {
      return { kind: "closed", status: head === undefined ? undefined : statusOf(head.status) };
    }
    const { ref, runId } = head;
    const number = task.delivered + 1;
    if (message.wakes === true && task.state === READY && task.at > now) tasks.wake(ref, now);
    if (!inbox.put(ref, number, message)) {
      return { kind: "delivered", ref, runId, number: inbox.numberOf(ref, message.key) };
    }
    tasks.setDelivered(ref, task, number, now);
    return { kind: "delivered", ref, runId, number };
  }

  #complete(step: TaskCompletion, writes: ReminderWrite[], now: number): CompletionOutcome {
    const { runs, tasks, inbox } = this.#tables;
    const { ref, outcome } = step;
    const task = tasks.read(ref);
    if (task === undefined) return this.#completeEnded(step);
    const { isWatched } = task;
    if (task.state !== LEASED || task.token !== step.token || task.last !== step.last) {
      const isAsLeft = outcome.kind !== "close" && (task.state === LEASED) === (outcome.kind === "keep");
      if (!isAsLeft || !this.#isLast(step, task)) return { kind: "lost" };
      return { kind: "done", delivered: task.delivered, starts: this.#startedBefore(step), isWatched };
    }
    const left = outcome.kind === "close" && outcome.status === "continued" ? inbox.left(ref, step.taken) : [];
    this.#write(step, task, now);
    if (step.attributes !== undefined || step.memo !== undefined) runs.describe(ref, step.attributes, step.memo);
    for (const write of step.reminders) writes.push(write);
    // The step may start its own workflow anew, so this comes after the run has its outcome.
    const starts = step.starts.map((start) => this.#start(start, writes, now));
    for (const [i, { refusal }] of step.starts.entries()) {
      if (refusal !== undefined && !starts[i]!.isNew) this.#deliver(refusal, now);
    }
    for (const message of step.messages) this.#deliver(message, now);
    // The run that continues this one is the open one by now.
    for (const one of left) this.#deliver({ ...runs.keyOf(ref), runId: undefined, ...one }, now);
    return { kind: "done", delivered: task.delivered, starts, isWatched };
  }

  #write(step: TaskCompletion, task: TaskRow, now: number): void {
    const { runs, tasks, batches, inbox } = this.#tables;
    const { ref, batch, outcome, affinity } = step;
    const last = task.last + (batch?.count ?? 0);
    const bytes = task.bytes + (batch === undefined ? 0 : batches.put(ref, task.last + 1, batch));
    const taken = Math.max(task.taken, step.taken);
    if (outcome.kind === "close") {
      const end: RunClosing = { status: statusCode(outcome.status), result: outcome.result, token: step.token, now };
      runs.end(ref, { ...task, last, bytes }, end);
      return;
    }
    if (taken > task.taken) inbox.drop(ref, taken);
    const row = { last, bytes, taken, affinity };
    if (outcome.kind === "keep") tasks.keep(ref, task, row, outcome.leaseMs, now);
    else tasks.rest(ref, task.delivered, row, now);
  }

  /** The run is closed: perhaps this very step has closed it. */
  #completeEnded(step: TaskCompletion): CompletionOutcome {
    const run = this.#tables.runs.ended(step.ref);
    const isAsLeft = step.outcome.kind === "close" && run?.status === statusCode(step.outcome.status);
    if (run === undefined || !isAsLeft || !this.#isLast(step, run)) return { kind: "lost" };
    const { delivered, isWatched } = run;
    return { kind: "done", delivered, starts: this.#startedBefore(step), isWatched };
  }

  /**
   * This very step was applied, and nothing has changed the run since: the last step had this token, and the
   * history ends with the event batch of this step.
   */
  #isLast(
    { ref, token, last, batch }: TaskCompletion,
    did: { readonly token: string | null; readonly last: number },
  ): boolean {
    if (did.token !== token || did.last !== last + (batch?.count ?? 0)) return false;
    return batch === undefined || this.#tables.batches.isAt(ref, last + 1, batch);
  }

  /**
   * Outcomes of the starts of a step that was applied before: a start without a run of its own met a run that
   * stayed.
   */
  #startedBefore({ starts }: TaskCompletion): StartOutcome[] {
    const { runs } = this.#tables;
    return starts.map((start) => {
      const own = runs.byRunId(start, start.runId);
      const found = own ?? runs.latest(start);
      if (found !== undefined) return outcomeOf(found, own !== undefined);
      // The run was removed since.
      return { ref: 0, runId: start.runId, status: "completed", isNew: true };
    });
  }
}

function mayStart({ ifClosed }: RunStart, latest: number): boolean {
  if (latest === RUNNING) return false;
  return ifClosed === "start" || (ifClosed === "start unless completed" && latest !== COMPLETED);
}

const outcomeOf = ({ ref, runId, status }: RunHead, isNew: boolean): StartOutcome => {
  return { ref, runId, status: statusOf(status), isNew };
};
