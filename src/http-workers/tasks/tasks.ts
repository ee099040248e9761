// Applies the requests of remote workers about their tasks. The store holds all state: the worker of a task,
// its attempt and the end of its lease. The task id contains the run and the token of the lease, so any
// process can serve the next request about it. A worker that lost the lease cannot change the run.
import { isLimpetError } from "../../kernel/errors.ts";
import type { Affinity, StoredRun, TaskCompletion } from "../../ports/store/workflows.ts";
import { readMessage } from "../../workflows/definition/messages.ts";
import { type HistoryEvent, isCommandEvent } from "../../workflows/engine/events.ts";
import { type HistoryLimit, isBeyond } from "../../workflows/engine/history-budget.ts";
import type { Delivery, RunState } from "../../workflows/history/run-state.ts";
import { inboxMessage } from "../../workflows/inbox/inbox-messages.ts";
import { blockedPauseMs } from "../../workflows/worker/blocked-task.ts";
import { CompletionBuilder, closeBy } from "../../workflows/worker/completion.ts";
import { isDelivered, stopsOf } from "../commands/cleanup.ts";
import type { WorkerCommand } from "../commands/command.ts";
import { decide } from "../commands/commands.ts";
import { Refused } from "../refusal.ts";
import { TAKE, TaskClaimer, type TaskClaimerDeps, type WorkflowTask } from "./task-claimer.ts";
import { affinityLeft, TaskWriter } from "./task-writer.ts";

export interface RemoteTasksDeps extends TaskClaimerDeps {
  readonly historyLimit: HistoryLimit;
}

/** The worker of a task, as its request names it. */
export interface TaskHolder {
  readonly taskId: string;
  readonly worker: string;
  readonly attempt: number;
}

interface Held {
  readonly ref: number;
  readonly token: string;
  readonly stored: StoredRun;
  readonly task: NonNullable<StoredRun["task"]>;
  readonly run: RunState;
}

export class RemoteTasks {
  readonly claimer: TaskClaimer;
  readonly #deps: RemoteTasksDeps;
  readonly #writer: TaskWriter;

  constructor(deps: RemoteTasksDeps) {
    this.#deps = deps;
    this.#writer = new TaskWriter(deps);
    this.claimer = new TaskClaimer(deps, this.#writer);
  }

  /** Completes the task. `created`: the numbers of the queued activities. */
  async complete(
    holder: TaskHolder,
    commands: readonly WorkerCommand[],
    affinity: Affinity | undefined,
  ): Promise<{
    readonly stored: StoredRun;
    readonly created: readonly number[];
    readonly status: StoredRun["status"];
    /** The number of the last event now. */
    readonly last: number;
  }> {
    const { ref, token, stored, task, run } = await this.#held(holder);
    const { last } = run;
    const at = Math.max(run.at, this.#deps.now());
    const { events, timers, end, queue } = this.#asked(() => decide(run, commands, at));
    if (end === undefined) this.#checkLength(run, events);
    const step = new CompletionBuilder(run, this.#deps.dispatcherOf(stored.queue, holder.worker));
    step.events.push(...events);
    step.dispatch([...events.filter(isCommandEvent), ...timers], at);
    if (events.length > 0) run.append({ at, events }, JSON.stringify(events).length);
    else run.isDue = false;
    if (end !== undefined) step.end(end, at, queue);
    else if (run.needsWorker) step.messages.push(this.#lookAgain(run));
    const outcome = end === undefined ? ({ kind: "rest" } as const) : closeBy(end);
    const kept = end === undefined ? affinity : undefined;
    const completion = step.build({ ref, token, last, taken: task.taken, outcome, affinity: kept }, at);
    const isDone = await this.#writer.write(run, completion);
    if (!isDone) throw notLeased(holder.taskId);
    this.claimer.passed(holder.worker, ref);
    const created = events.filter((event) => event.kind === "ActivityScheduled").map(({ n }) => n);
    return { stored, created, status: end === undefined ? "running" : closeBy(end).status, last: last + events.length };
  }

  #asked<T>(question: () => T): T {
    try {
      return question();
    } catch (error) {
      if (!isLimpetError(error, "WORKFLOW_INVALID")) throw error;
      throw new Refused(409, "invalid_commands", error.message);
    }
  }

  #checkLength(run: RunState, events: readonly HistoryEvent[]): void {
    const limit = this.#deps.historyLimit;
    const count = run.last + events.length;
    if (!isBeyond({ events: count, bytes: run.bytes }, limit)) return;
    const isCount = count > limit.events;
    throw new Refused(
      422,
      "structural_limit_exceeded",
      "the history has no room for more; the workflow should continue as new earlier",
      {
        limit_kind: isCount ? "history_events" : "history_bytes",
        current_value: isCount ? count : run.bytes,
        configured_limit: isCount ? limit.events : limit.bytes,
      },
    );
  }

  /** Written in the same step, so that pending work of the worker is not forgotten. */
  #lookAgain(run: RunState): TaskCompletion["messages"][number] {
    const { workflowId, runId, last } = run;
    const { namespace } = this.#deps;
    return inboxMessage({ namespace, workflowId, runId, key: `look ${last}` }, { kind: "LookAgain" });
  }

  /** Returns a failed task: claimable after a pause, or at once if the inbox holds a request to end. */
  async fail(holder: TaskHolder, problem: string): Promise<void> {
    const { ref, token, task } = await this.#held(holder);
    const { store } = this.#deps;
    const inbox = await store.inbox(ref, task.taken, TAKE);
    const isAskedToEnd = inbox.some(({ data }) => /Cancel|Terminate/.test(readMessage(data).message.kind));
    const pauseMs = isAskedToEnd ? 0 : blockedPauseMs(undefined, task.attempt);
    const [isDone] = await store.giveBack([{ ref, token, pauseMs, problem }]);
    this.claimer.passed(holder.worker, ref);
    if (isDone !== true) throw notLeased(holder.taskId);
  }

  /** Delivers the cancellation to the code at a call where it waits. The task stays with its worker. */
  async deliver(holder: TaskHolder, delivery: Delivery): Promise<void> {
    const { ref, token, stored, task, run } = await this.#held(holder);
    if (this.#asked(() => isDelivered(run, delivery))) return;
    const { last } = run;
    const at = Math.max(run.at, this.#deps.now());
    const step = new CompletionBuilder(run, this.#deps.dispatcherOf(stored.queue));
    step.dispatch(stopsOf(run, delivery), at);
    const event = { kind: "CancellationDelivered", n: 0, ...delivery } as const;
    step.events.push(event);
    run.append({ at, events: [event] }, JSON.stringify(event).length);
    const outcome = { kind: "keep", leaseMs: this.#deps.leaseMs } as const;
    const affinity = affinityLeft(stored, this.#deps.now());
    const completion = step.build({ ref, token, last, taken: task.taken, outcome, affinity }, at);
    if (!(await this.#writer.write(run, completion))) throw notLeased(holder.taskId);
  }

  /**
   * Completes the task without commands until an open step ends. False: no step is open, and the task is
   * unchanged.
   */
  async rest(holder: TaskHolder): Promise<boolean> {
    const { run, stored } = await this.#held(holder);
    if (run.open.size === 0 && run.wait === undefined) return false;
    await this.complete(holder, [], affinityLeft(stored, this.#deps.now()));
    return true;
  }

  /** Returns a task whose poll was aborted before the worker read the answer. */
  async giveBack({ id }: WorkflowTask): Promise<void> {
    const { ref, token } = this.#parse(id);
    await this.#deps.store.giveBack([{ ref, token, pauseMs: 0, problem: undefined }]);
  }

  /** Renews the lease and returns its end. */
  async heartbeat(
    holder: TaskHolder,
  ): Promise<{ readonly leaseUntil: number; readonly stored: StoredRun; readonly run: RunState }> {
    const { ref, token, stored, run } = await this.#held(holder);
    const { store, leaseMs } = this.#deps;
    if ((await store.renew([{ ref, token }], leaseMs)).length > 0) throw notLeased(holder.taskId);
    return { leaseUntil: this.#deps.now() + leaseMs, stored, run };
  }

  async runOf(holder: TaskHolder): Promise<RunState> {
    return (await this.#held(holder)).run;
  }

  #parse(taskId: string): { readonly ref: number; readonly token: string } {
    const [, ref, token] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(taskId) ?? [];
    if (ref === undefined || token === undefined) throw notFound(taskId);
    return { ref: Number(ref), token };
  }

  /** Throws unless that worker still holds the task, at that attempt. */
  async #held({ taskId, worker, attempt }: TaskHolder): Promise<Held> {
    const { ref, token } = this.#parse(taskId);
    const { store, runs, namespace } = this.#deps;
    const known = runs.peek(ref) ?? (await runs.get(ref, undefined));
    if (known === undefined) throw notFound(taskId);
    const { workflowId, runId } = known;
    const stored = await store.find({ namespace, workflowId, runId });
    if (stored === undefined || stored.ref !== ref) throw notFound(taskId);
    const task = checkLease(stored, taskId, worker, attempt, this.#deps.now());
    const run = await runs.of(stored);
    if (run === undefined) throw notFound(taskId);
    return { ref, token, stored, task, run };
  }
}

/** Throws unless that worker still holds the task, at that attempt. */
function checkLease(stored: StoredRun, taskId: string, worker: string, attempt: number, now: number) {
  const { status, task } = stored;
  if (status !== "running" || task === undefined) throw runClosed(stored);
  if (task.state !== "leased") throw notLeased(taskId);
  if (task.worker !== worker) {
    const what = `task ${taskId} is held by another worker`;
    throw new Refused(409, "lease_owner_mismatch", what, { task_id: taskId, lease_owner: task.worker });
  }
  if (task.attempt !== attempt) {
    const extras = { task_id: taskId, current_attempt: task.attempt };
    throw new Refused(409, "workflow_task_attempt_mismatch", `task ${taskId} is at attempt ${task.attempt}`, extras);
  }
  if (task.at !== undefined && task.at <= now) {
    throw new Refused(409, "lease_expired", `the lease of task ${taskId} is over`, { task_id: taskId });
  }
  return task;
}

function runClosed({ status, workflowId, runId }: StoredRun): Refused {
  const word = status === "timed out" ? "timed_out" : status;
  return new Refused(409, "run_closed", `run ${runId} of ${workflowId} is over (${status})`, {
    run_status: status === "timed out" ? "failed" : status === "continued" ? "completed" : status,
    stop_reason: `run_${word}`,
    cancel_requested: status === "cancelled",
    can_continue: false,
  });
}

const notFound = (taskId: string): Refused =>
  new Refused(404, "task_not_found", "there is no such task", { task_id: taskId });
const notLeased = (taskId: string): Refused =>
  new Refused(409, "task_not_leased", "no worker holds this task, or it is completed", { task_id: taskId });
