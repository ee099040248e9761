// Claims workflow tasks for remote workers. A claimed task first moves the inbox of its run into the history,
// so that the worker sees everything that has arrived. A task without work for the worker ends here.
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { ClaimedTask, ReplayMode, StoredRun } from "../../ports/store/workflows.ts";
import { type RunPinning, typeClaim } from "../../workflows/definition/pins.ts";
import { isCommandEvent } from "../../workflows/engine/events.ts";
import type { AcceptedUpdate, RunState } from "../../workflows/history/run-state.ts";
import type { PollAttempt } from "../../workflows/inbox/waiting.ts";
import { blockedPauseMs } from "../../workflows/worker/blocked-task.ts";
import type { CommandDispatcher } from "../../workflows/worker/command-dispatcher.ts";
import { CompletionBuilder, closeWith } from "../../workflows/worker/completion.ts";
import { checkAttempts, Suspects } from "../../workflows/worker/lost-attempts.ts";
import { CLEANUP_CAPABILITY } from "../commands/cleanup.ts";
import { contractOf, keepsRuns, type RemoteWorker, remoteCode } from "../worker.ts";
import { takeInbox } from "./inbox.ts";
import { affinityLeft, type TaskWriter, type TaskWriterDeps } from "./task-writer.ts";

export interface TaskClaimerDeps extends TaskWriterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly namespace: string;
  readonly leaseMs: number;
  readonly isSticky: boolean;
  readonly staleMs: number;
  readonly pinning: RunPinning;
  readonly maxLostAttempts: number;
  /** The store's clock. */
  now(): number;
  /** `worker`: the worker whose commands are dispatched. */
  dispatcherOf(queue: string, worker?: string): CommandDispatcher;
  claimed(mode: ReplayMode): void;
}

/** A task for its worker. */
export interface WorkflowTask {
  readonly id: string;
  readonly run: RunState;
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

/** Inbox messages in one task. */
export const TAKE = 500;

export class TaskClaimer {
  readonly #deps: TaskClaimerDeps;
  readonly #writer: TaskWriter;
  readonly #suspects: Suspects;

  constructor(deps: TaskClaimerDeps, writer: TaskWriter) {
    this.#deps = deps;
    this.#writer = writer;
    this.#suspects = new Suspects(deps.maxLostAttempts, deps);
  }

  /** The worker has answered the task, so the code of the run has not ended its process. */
  passed(worker: string, ref: number): void {
    this.#suspects.passed(worker, ref);
  }

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
      run.pinned = task.pinned;
      if (!(await this.#takeInbox(task, stored, run, worker))) return undefined;
      // A request to end the run was applied, which needs no code.
      checkAttempts(task, this.#deps.maxLostAttempts);
      const mode = modeFor(worker, task.mode, run);
      this.#deps.claimed(mode);
      return this.#handOut({ ...task, mode }, stored, run, worker);
    } catch (error) {
      runs.forget(task.ref);
      log.warn("workflow.blocked", { workflow: task.workflowId, type: task.type, err: error });
      const problem = error instanceof Error ? error.message : String(error);
      await store.giveBack([
        { ref: task.ref, token: task.token, pauseMs: blockedPauseMs(error, task.attempt), problem },
      ]);
      return undefined;
    }
  }

  #handOut(task: ClaimedTask, stored: StoredRun, run: RunState, worker: RemoteWorker): WorkflowTask {
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
  async #takeInbox(
    { ref, token, taken, delivered }: ClaimedTask,
    stored: StoredRun,
    run: RunState,
    worker: RemoteWorker,
  ): Promise<boolean> {
    const { store, leaseMs } = this.#deps;
    const inbox = delivered > taken ? await store.inbox(ref, taken, TAKE) : [];
    const { last } = run;
    const updates = contractOf(worker, run.started.type)?.updates;
    const took = takeInbox(run, inbox, this.#deps.now(), {
      hasUpdate: (name) => updates?.includes(name) ?? true,
      cleansUp: worker.capabilities.includes(CLEANUP_CAPABILITY),
    });
    const needsWorker = run.needsWorker;
    if (needsWorker && took.events.length === 0 && took.taken === 0) return true;
    const step = new CompletionBuilder(run, this.#deps.dispatcherOf(stored.queue));
    for (const event of took.events) step.receive(event);
    const head = { ref, token, last, taken: Math.max(taken, took.taken) };
    if (took.end !== undefined) {
      const { status, error } = took.end;
      const end = took.events.findLast(isCommandEvent) ?? ({ kind: "WorkflowFailed", n: 0, error } as const);
      step.end(end as never, took.at);
      const closing = { ...head, outcome: closeWith(status, error), affinity: undefined };
      await this.#writer.write(run, step.build(closing, took.at));
      return false;
    }
    const outcome = needsWorker ? ({ kind: "keep", leaseMs } as const) : ({ kind: "rest" } as const);
    const affinity = affinityLeft(stored, this.#deps.now());
    const isDone = await this.#writer.write(run, step.build({ ...head, outcome, affinity }, took.at));
    return isDone && needsWorker;
  }
}

/**
 * A worker process that started after the run's last commands has nothing of it in memory, even under the
 * same id.
 */
const modeFor = ({ since }: RemoteWorker, mode: ReplayMode, { decidedAt }: RunState): ReplayMode =>
  mode === "sticky_hit_expected" && decidedAt < since ? "forced_cold_replay" : mode;
