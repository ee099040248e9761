// Leases tasks to remote workers and applies their completions. The store holds all state: the worker of a
// task, its attempt and the end of its lease. The task id contains the run and the token of the lease, so any
// process can serve the next request about it. A worker that lost the lease cannot change the run.
import { isLimpetError } from "../kernel/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type {
  Affinity,
  AppendOutcome,
  ClaimedTask,
  ReplayMode,
  RunStart,
  StoredRun,
  TaskCompletion,
  Workflows,
} from "../ports/store/workflows.ts";
import { closeBy } from "../workflows/client/close-by.ts";
import { type Pinning, typeClaim } from "../workflows/definition/bindings.ts";
import { readMessage, writeError } from "../workflows/definition/messages.ts";
import type { HistoryEvent } from "../workflows/engine/events.ts";
import { isCommandEvent, writeEventBatch } from "../workflows/engine/events.ts";
import { type HistoryLimit, isBeyond } from "../workflows/engine/history-budget.ts";
import type { AcceptedUpdate, Delivery, RemoteRun } from "../workflows/history/run-state.ts";
import type { RemoteRuns } from "../workflows/history/run-states.ts";
import { arrivalOf } from "../workflows/inbox/inbox-messages.ts";
import type { PollAttempt } from "../workflows/inbox/waiting.ts";
import { pauseAfter } from "../workflows/worker/blocked-task.ts";
import { checkAttempts, Suspects } from "../workflows/worker/lost-attempts.ts";
import type { Dispatcher } from "../workflows/worker/outgoing.ts";
import { takeArrivals } from "./arrivals.ts";
import { CLEANUP_CAPABILITY, isDelivered, stopsOf } from "./cleanup.ts";
import type { Command } from "./command.ts";
import { decide } from "./commands.ts";
import { checkLease, notFound, notLeased } from "./leases.ts";
import { Refused } from "./refusal.ts";
import { contractOf, keepsRuns, type RemoteWorker, remoteCode } from "./worker.ts";

export interface RemoteTasksDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Workflows;
  readonly namespace: string;
  readonly leaseMs: number;
  readonly isSticky: boolean;
  readonly stickyMs: number;
  readonly staleMs: number;
  readonly pinning: Pinning;
  readonly historyLimit: HistoryLimit;
  readonly maxLostAttempts: number;
  readonly runs: RemoteRuns;
  /** The store's clock. */
  now(): number;
  /** `worker`: the worker whose commands are dispatched. */
  dispatcherOf(queue: string, worker?: string): Dispatcher;
  /** Called after the write is durable. */
  written(append: TaskCompletion, outcome: Extract<AppendOutcome, { kind: "done" }>, runId: string): void;
  claimed(mode: ReplayMode): void;
}

/** A task for its worker. */
export interface WorkflowTask {
  readonly id: string;
  readonly run: RemoteRun;
  /** The last event when the task was handed out. */
  readonly last: number;
  /** A worker with the run in memory knows it up to this event. */
  readonly seen: number;
  readonly attempt: number;
  readonly mode: ReplayMode;
  readonly worker: string;
  readonly leaseUntil: number;
  readonly stored: StoredRun;
  /** The task is only about this update. */
  readonly update: AcceptedUpdate | undefined;
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
  readonly run: RemoteRun;
}

/** Inbox messages in one task. */
const TAKE = 500;

export class RemoteTasks {
  readonly #deps: RemoteTasksDeps;
  readonly #suspects: Suspects;

  constructor(deps: RemoteTasksDeps) {
    this.#deps = deps;
    this.#suspects = new Suspects(deps.maxLostAttempts, deps);
  }

  // ——— Claims.

  async claim(worker: RemoteWorker): Promise<PollAttempt<WorkflowTask>> {
    const { store, namespace, random, leaseMs, isSticky, staleMs, pinning } = this.#deps;
    const types = worker.workflowTypes.map((type) => typeClaim(type, remoteCode(worker), pinning));
    for (;;) {
      const { tasks, next, now } = await store.claim({
        namespace,
        queue: worker.queue,
        types,
        limit: 1,
        staleMs,
        lease: { token: random.id(), worker: worker.id, leaseMs },
        isSticky: isSticky && keepsRuns(worker),
      });
      const task = tasks[0];
      if (task === undefined) return { found: undefined, nextMs: next === undefined ? undefined : next - now };
      const isAdmitted = (await this.#suspects.admit(worker.id, [task])).length > 0;
      const found = isAdmitted ? await this.#open(task, worker) : undefined;
      if (found !== undefined) return { found };
    }
  }

  /** Undefined: the task has no work for its worker. */
  async #open(task: ClaimedTask, worker: RemoteWorker): Promise<WorkflowTask | undefined> {
    const { store, runs, log } = this.#deps;
    try {
      const { namespace, workflowId, runId } = task;
      const stored = await store.find({ namespace, workflowId, runId });
      const run = await runs.get(task.ref, task.last, task.runId);
      if (stored === undefined || run === undefined) return undefined;
      run.bound = task.bound;
      if (!(await this.#takeArrivals(task, stored, run, worker))) return undefined;
      // A request to end the run was applied, which needs no code.
      checkAttempts(task, this.#deps.maxLostAttempts);
      const mode = modeFor(worker, task.mode, run);
      this.#deps.claimed(mode);
      return this.#handOut({ ...task, mode }, stored, run, worker);
    } catch (error) {
      runs.forget(task.ref);
      log.warn("workflow.blocked", { workflow: task.workflowId, type: task.type, err: error });
      const problem = error instanceof Error ? error.message : String(error);
      await store.giveBack([{ ref: task.ref, token: task.token, pauseMs: pauseAfter(error, task.attempt), problem }]);
      return undefined;
    }
  }

  #handOut(task: ClaimedTask, stored: StoredRun, run: RemoteRun, worker: RemoteWorker): WorkflowTask {
    const { ref, token, attempt, mode } = task;
    const id = `${ref}.${token}`;
    const leaseUntil = this.#deps.now() + this.#deps.leaseMs;
    return {
      id,
      run,
      last: run.last,
      seen: run.seen,
      attempt,
      mode,
      worker: worker.id,
      leaseUntil,
      stored,
      update: run.nextUpdate,
    };
  }

  /** True: the worker has work, and the task stays with it. */
  async #takeArrivals(
    { ref, token, taken, arrived }: ClaimedTask,
    stored: StoredRun,
    run: RemoteRun,
    worker: RemoteWorker,
  ): Promise<boolean> {
    const { store, leaseMs } = this.#deps;
    const inbox = arrived > taken ? await store.inbox(ref, taken, TAKE) : [];
    const { last } = run;
    const updates = contractOf(worker, run.started.type)?.updates;
    const took = takeArrivals(run, inbox, this.#deps.now(), {
      hasUpdate: (name) => updates?.includes(name) ?? true,
      cleansUp: worker.capabilities.includes(CLEANUP_CAPABILITY),
    });
    const needsWorker = run.needsWorker;
    if (needsWorker && took.events.length === 0 && took.taken === 0) return true;
    const fate = needsWorker ? ({ kind: "keep", leaseMs } as const) : ({ kind: "rest" } as const);
    const dispatcher = this.#deps.dispatcherOf(stored.queue);
    const append = {
      ...this.#append({ ref, token, last }, took.events, took.at, { taken: Math.max(taken, took.taken), fate }),
      reminders: took.events.flatMap((event) => dispatcher.after(run, event)),
    };
    if (took.end !== undefined) {
      const { status, error } = took.end;
      const end = took.events.findLast(isCommandEvent) ?? ({ kind: "WorkflowFailed", n: 0, error } as const);
      const outgoing = dispatcher.atEnd(run, end as never, took.at);
      const reminders = [...append.reminders, ...outgoing.reminders];
      await this.#write(run, {
        ...append,
        ...outgoing,
        reminders,
        fate: { kind: "close", status, result: writeError(error) },
      });
      return false;
    }
    const isDone = await this.#write(run, { ...append, affinity: affinityLeft(stored, this.#deps.now()) });
    return isDone && needsWorker;
  }

  #append(
    { ref, token, last }: Pick<TaskCompletion, "ref" | "token" | "last">,
    events: readonly HistoryEvent[],
    at: number,
    { taken, fate }: Pick<TaskCompletion, "taken" | "fate">,
  ): TaskCompletion {
    return {
      ref,
      token,
      last,
      taken,
      fate,
      page: events.length === 0 ? undefined : writeEventBatch({ at, events }),
      affinity: undefined,
      attributes: undefined,
      memo: undefined,
      reminders: [],
      starts: [],
      arrivals: [],
    };
  }

  /** False: the lease is lost, and nothing was written. */
  async #write(run: RemoteRun, append: TaskCompletion): Promise<boolean> {
    const { store, runs } = this.#deps;
    try {
      const [outcome] = await store.append([append]);
      if (outcome!.kind === "done") {
        this.#deps.written(append, outcome!, run.started.runId);
        return true;
      }
    } catch (error) {
      runs.forget(run.ref);
      throw error;
    }
    runs.forget(run.ref);
    return false;
  }

  // ——— Requests of the worker.

  /** Completes the task. `created`: the numbers of the queued activities. */
  async complete(
    holder: TaskHolder,
    commands: readonly Command[],
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
    const outgoing = this.#deps
      .dispatcherOf(stored.queue, holder.worker)
      .of(run, [...events.filter(isCommandEvent), ...timers], at);
    if (events.length > 0) run.append({ at, events }, JSON.stringify(events).length);
    else run.isDue = false;
    const append = this.#append({ ref, token, last }, events, at, { taken: task.taken, fate: { kind: "rest" } });
    const hasAttributes = events.some(({ kind }) => kind === "SearchAttributesUpserted");
    const attributes = hasAttributes ? JSON.stringify(run.attributes) : undefined;
    const memo = events.some(({ kind }) => kind === "MemoUpserted") ? JSON.stringify(run.memo) : undefined;
    let isDone: boolean;
    if (end === undefined) {
      if (run.needsWorker) outgoing.arrivals.push(this.#lookAgain(run));
      isDone = await this.#write(run, { ...append, ...outgoing, attributes, memo, affinity });
    } else {
      const more = this.#deps.dispatcherOf(stored.queue).atEnd(run, end, at);
      isDone = await this.#write(run, {
        ...append,
        attributes,
        memo,
        fate: closeBy(end),
        reminders: [...outgoing.reminders, ...more.reminders],
        starts: [...outgoing.starts, ...more.starts.map((start) => inQueue(start, run, queue))],
        arrivals: [...outgoing.arrivals, ...more.arrivals],
      });
    }
    if (!isDone) throw notLeased(holder.taskId);
    this.#suspects.passed(holder.worker, ref);
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

  #checkLength(run: RemoteRun, events: readonly HistoryEvent[]): void {
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
  #lookAgain(run: RemoteRun): TaskCompletion["arrivals"][number] {
    const { workflowId, runId, last } = run;
    const { namespace } = this.#deps;
    return arrivalOf({ namespace, workflowId, runId, key: `look ${last}` }, { kind: "LookAgain" });
  }

  /** Returns a failed task: claimable after a pause, or at once if the inbox holds a request to end. */
  async fail(holder: TaskHolder, problem: string): Promise<void> {
    const { ref, token, task } = await this.#held(holder);
    const { store } = this.#deps;
    const inbox = await store.inbox(ref, task.taken, TAKE);
    const isAskedToEnd = inbox.some(({ data }) => /Cancel|Terminate/.test(readMessage(data).message.kind));
    const pauseMs = isAskedToEnd ? 0 : pauseAfter(undefined, task.attempt);
    const [isDone] = await store.giveBack([{ ref, token, pauseMs, problem }]);
    this.#suspects.passed(holder.worker, ref);
    if (isDone !== true) throw notLeased(holder.taskId);
  }

  /** Delivers the cancellation to the code at a call where it waits. The task stays with its worker. */
  async deliver(holder: TaskHolder, delivery: Delivery): Promise<void> {
    const { ref, token, stored, task, run } = await this.#held(holder);
    if (this.#asked(() => isDelivered(run, delivery))) return;
    const { last } = run;
    const at = Math.max(run.at, this.#deps.now());
    const outgoing = this.#deps.dispatcherOf(stored.queue).of(run, stopsOf(run, delivery), at);
    const event = { kind: "CancellationDelivered", n: 0, ...delivery } as const;
    run.append({ at, events: [event] }, JSON.stringify(event).length);
    const fate = { kind: "keep", leaseMs: this.#deps.leaseMs } as const;
    const append = this.#append({ ref, token, last }, [event], at, { taken: task.taken, fate });
    const affinity = affinityLeft(stored, this.#deps.now());
    if (!(await this.#write(run, { ...append, ...outgoing, affinity }))) throw notLeased(holder.taskId);
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
  ): Promise<{ readonly leaseUntil: number; readonly stored: StoredRun; readonly run: RemoteRun }> {
    const { ref, token, stored, run } = await this.#held(holder);
    const { store, leaseMs } = this.#deps;
    if ((await store.renew([{ ref, token }], leaseMs)).length > 0) throw notLeased(holder.taskId);
    return { leaseUntil: this.#deps.now() + leaseMs, stored, run };
  }

  async runOf(holder: TaskHolder): Promise<RemoteRun> {
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

/**
 * A worker process that started after the run's last commands has nothing of it in memory, even under the
 * same id.
 */
const modeFor = ({ since }: RemoteWorker, mode: ReplayMode, { decidedAt }: RemoteRun): ReplayMode =>
  mode === "sticky_hit_expected" && decidedAt < since ? "forced_cold_replay" : mode;

/** The next run may be in another queue. */
const inQueue = (start: RunStart, { workflowId }: RemoteRun, queue: string | undefined): RunStart =>
  queue === undefined || start.workflowId !== workflowId ? start : { ...start, queue };

function affinityLeft({ stickyWorker, stickyUntil }: StoredRun, now: number): Affinity | undefined {
  if (stickyWorker === undefined || stickyUntil === undefined || stickyUntil <= now) return undefined;
  return { worker: stickyWorker, ms: stickyUntil - now };
}
