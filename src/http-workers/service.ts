// Combines the services for remote workers: registration, tasks, activities, queries and control. The HTTP
// handlers only translate; all effects are here and in the store.
import { LimpetError } from "../kernel/errors.ts";
import type { StoredRun, TaskCompletion } from "../ports/store/workflows.ts";
import type { Wire } from "../workflows/engine/events.ts";
import type { RunState } from "../workflows/history/run-state.ts";
import { RunStates } from "../workflows/history/run-states.ts";
import type { HttpWorkers, HttpWorkersDeps } from "../workflows/http-workers.ts";
import { type PollAttempt, Waiting } from "../workflows/inbox/waiting.ts";
import { CommandDispatcher } from "../workflows/worker/command-dispatcher.ts";
import { type StickyFigures, stickyFigures } from "../workflows/worker/sticky-figures.ts";
import { ClaimCounts } from "./claim-counts.ts";
import { CLEANUP_CAPABILITY } from "./commands/cleanup.ts";
import { RemoteControl } from "./control.ts";
import { Refused } from "./refusal.ts";
import { type ActivityTask, RemoteActivities } from "./tasks/activities.ts";
import { PollAnswers } from "./tasks/poll-answers.ts";
import { type QuestionKind, RemoteQuestions, type WorkerQuestion } from "./tasks/questions.ts";
import type { WorkflowTask } from "./tasks/task-claimer.ts";
import { RemoteTasks } from "./tasks/tasks.ts";
import { contractOf, type RemoteWorker } from "./worker.ts";
import { RemoteWorkers } from "./workers.ts";

export interface Poll {
  readonly workerId: string;
  readonly queue: string;
  readonly build: string | undefined;
  /** The same id for a repeated poll. */
  readonly requestId: string | undefined;
  readonly waitMs: number;
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal;
}

export interface Polled<Task> {
  readonly task: Task | undefined;
  readonly status: string;
}

/** A repeated poll gets the same answer for this long, unless its lease ends earlier. */
const ANSWER_MS = 60_000;
const QUESTION_MS = 10_000;
const LOOK_MS = 1_000;
const CACHE_BYTES = 64 * 1024 * 1024;
const MOST_POLLS = 10_000;

export class HttpWorkerService implements HttpWorkers {
  readonly workers: RemoteWorkers;
  readonly tasks: RemoteTasks;
  readonly activities: RemoteActivities;
  readonly questions: RemoteQuestions;
  readonly control: RemoteControl;
  readonly runs: RunStates;
  /** Claims of remote workers by replay mode. */
  readonly claims: ClaimCounts;
  readonly deps: HttpWorkersDeps;
  readonly #waiting: Waiting;
  readonly #taskAnswers: PollAnswers<WorkflowTask | WorkerQuestion>;
  readonly #activityAnswers: PollAnswers<ActivityTask>;

  constructor(deps: HttpWorkersDeps) {
    const { clock, random, log, store, namespace, isSticky, writer, taskLeaseMs, activityLeaseMs } = deps;
    const now = (): number => deps.now();
    const dispatcherOf = (queue: string, worker?: string): CommandDispatcher => {
      const hasType = (type: string): boolean => worker !== undefined && this.workers.isKnownToRun(worker, type);
      return new CommandDispatcher({ namespace, queue, writer, hasType });
    };
    this.deps = deps;
    this.workers = new RemoteWorkers({ clock, store, namespace, isSticky, now });
    this.runs = new RunStates(store, CACHE_BYTES);
    this.claims = new ClaimCounts({ clock, log, store, namespace, host: deps.host, now });
    this.questions = new RemoteQuestions(clock, random);
    this.questions.asked = () => this.#waiting.nudge();
    this.tasks = new RemoteTasks({
      clock,
      random,
      log,
      store,
      namespace,
      leaseMs: taskLeaseMs,
      isSticky,
      now,
      dispatcherOf,
      staleMs: this.workers.staleMs,
      pinning: deps.pinning,
      historyLimit: deps.historyLimit,
      maxLostAttempts: deps.maxLostAttempts,
      runs: this.runs,
      written: (completion, _, runId) => this.#written(completion, runId),
      claimed: (mode) => {
        this.claims.add(mode);
        deps.claimed(mode);
      },
    });
    this.activities = new RemoteActivities({
      random,
      store: deps.reminders,
      tasks: deps.activityTasks,
      namespace,
      leaseMs: activityLeaseMs,
      now,
      endOf: async ({ workflowId, runId }) => {
        const run = await store.find({ namespace, workflowId, runId });
        return run?.status === "running" ? undefined : (run?.status ?? "unknown");
      },
    });
    this.control = new RemoteControl({
      clock,
      random,
      store,
      namespace,
      client: deps.client,
      now,
      dispatcherOf,
      start: (start, started, at) => deps.start(start, started, at),
      deliver: (message) => deps.deliver(message),
      query: (run, name, input) => deps.query(run, name, input),
      validate: (run, name, input) => this.#validate(run, name, input),
      checkCleanup: (run) => this.#checkCleanup(run),
    });
    this.#waiting = new Waiting(clock, LOOK_MS);
    this.#taskAnswers = new PollAnswers(clock, MOST_POLLS, Math.min(ANSWER_MS, taskLeaseMs));
    this.#activityAnswers = new PollAnswers(clock, MOST_POLLS, Math.min(ANSWER_MS, activityLeaseMs));
  }

  /** Work may be available. */
  nudge(): void {
    this.#waiting.nudge();
  }

  async stop(): Promise<void> {
    this.#waiting.close();
    this.workers.stop();
    await this.claims.stop();
  }

  /** Figures of the whole cluster. */
  figures(): Promise<StickyFigures> {
    const { store, namespace } = this.deps;
    return stickyFigures({
      store,
      namespace,
      live: async () => (await this.workers.rows()).filter((row) => this.workers.isLive(row)),
      lastMinute: () => this.claims.lastMinute(),
    });
  }

  /** Waits until `look` finds a value; undefined: the time is over. */
  wait<Found>(waitMs: number, gone: AbortSignal, look: () => Promise<PollAttempt<Found>>): Promise<Found | undefined> {
    return this.#waiting.until(waitMs, gone, look);
  }

  #written({ reminders, outcome, ref, messages }: TaskCompletion, runId: string): void {
    this.deps.writer.written(reminders);
    if (outcome.kind === "close") this.deps.ended(ref, runId, outcome);
    this.deps.nudge(messages);
    this.nudge();
  }

  // ——— Polls.

  async #pollingWorker({ workerId, queue, build }: Poll): Promise<RemoteWorker> {
    const worker = await this.workers.get(workerId);
    this.deps.serve();
    const extras = { worker_id: workerId, task_queue: worker.queue };
    if (queue !== worker.queue) {
      throw new Refused(409, "task_queue_mismatch", `worker ${workerId} is registered for ${worker.queue}`, extras);
    }
    if (build !== undefined && build !== worker.build) {
      throw new Refused(409, "build_id_mismatch", `worker ${workerId} is registered with another build`, extras);
    }
    if (worker.isDraining) {
      const draining = { ...extras, poll_status: "draining", task: null };
      throw new Refused(
        409,
        "worker_draining",
        `build "${worker.build}" of ${worker.queue} gets no more work`,
        draining,
      );
    }
    if (this.#waiting.size >= MOST_POLLS) {
      throw new Refused(429, "poll_capacity_exhausted", "too many polls are waiting here", {
        poll_status: "throttled",
      });
    }
    return worker;
  }

  /** Polls for tasks of workflows, and, if requested, for updates to validate. */
  async pollTasks(
    poll: Poll,
    kinds: { readonly tasks: boolean; readonly validations: boolean },
  ): Promise<Polled<WorkflowTask | WorkerQuestion>> {
    const worker = await this.#pollingWorker(poll);
    if (worker.workflowTypes.length === 0) return { task: undefined, status: "no_workflow_capability" };
    const look = async (): Promise<PollAttempt<WorkflowTask | WorkerQuestion>> => {
      const found = kinds.validations ? this.questions.claim(worker, ["update_validation"]) : undefined;
      return found === undefined && kinds.tasks ? this.tasks.claimer.claim(worker) : { found };
    };
    const task = await this.#poll(poll, "task", this.#taskAnswers, look, (found) =>
      "kind" in found ? this.questions.giveBack(found) : this.tasks.giveBack(found),
    );
    return { task, status: task === undefined ? "empty" : "leased" };
  }

  async pollQuestions(poll: Poll, kinds: readonly QuestionKind[]): Promise<Polled<WorkerQuestion>> {
    const worker = await this.#pollingWorker(poll);
    const look = async (): Promise<PollAttempt<WorkflowTask | WorkerQuestion>> => ({
      found: this.questions.claim(worker, kinds),
    });
    const task = await this.#poll(poll, kinds.join(), this.#taskAnswers, look, (found) =>
      this.questions.giveBack(found as WorkerQuestion),
    );
    return { task: task as WorkerQuestion | undefined, status: task === undefined ? "empty" : "leased" };
  }

  async pollActivities(poll: Poll): Promise<Polled<ActivityTask>> {
    const worker = await this.#pollingWorker(poll);
    if (worker.activityTypes.length === 0) return { task: undefined, status: "unsupported" };
    const look = (): Promise<PollAttempt<ActivityTask>> => this.activities.claim(worker);
    const task = await this.#poll(poll, "activity", this.#activityAnswers, look, (found) =>
      this.activities.giveBack(found),
    );
    return { task, status: task === undefined ? "empty" : "leased" };
  }

  #poll<Task>(
    { workerId, queue, build, requestId, waitMs, gone }: Poll,
    kind: string,
    answers: PollAnswers<Task>,
    look: () => Promise<PollAttempt<Task>>,
    giveBack: (task: Task) => Promise<void> | void,
  ): Promise<Task | undefined> {
    const name = requestId === undefined ? undefined : JSON.stringify([kind, workerId, queue, build, requestId]);
    return answers.ask(name, async () => {
      const found = await this.#waiting.until(waitMs, gone, look);
      if (found === undefined || !gone.aborted) return found;
      // A disconnected client must not block the task for a whole lease.
      await giveBack(found);
      this.nudge();
      return undefined;
    });
  }

  /** Whether that worker should have the run in memory. */
  async isWarm({ stickyWorker, stickyUntil = 0 }: StoredRun, run: RunState, workerId: string): Promise<boolean> {
    if (!this.deps.isSticky || stickyWorker !== workerId || stickyUntil <= this.deps.now()) return false;
    return run.decidedAt >= (await this.workers.get(workerId)).since;
  }

  // ——— Questions.

  async query(run: StoredRun, name: string, input: Wire): Promise<{ readonly result: Wire } | undefined> {
    const workers = await this.workers.thatRun(run);
    if (workers.length === 0) return undefined;
    const known = contractOf(workers[0]!, run.type)?.queries;
    if (known !== undefined && !known.includes(name)) {
      const what = `${run.type} answers no query called ${name}; it answers: ${known.join(", ") || "none"}`;
      throw new Refused(404, "rejected_unknown_query", what);
    }
    return { result: await this.questions.ask("query", run, name, input, QUESTION_MS) };
  }

  /** The worker protocol stays hidden from callers of the workflow client. */
  plainError(error: unknown): unknown {
    if (!(error instanceof Refused)) return error;
    const isUnknown = error.reason === "rejected_unknown_query";
    return new LimpetError(isUnknown ? "QUERY_UNKNOWN" : "QUERY_FAILED", error.message);
  }

  /** A workflow in TypeScript cleans up at every cancellation, and needs no request of its own. */
  async #checkCleanup(run: StoredRun): Promise<void> {
    const workers = await this.workers.thatRun(run);
    if (workers.some(({ capabilities }) => capabilities.includes(CLEANUP_CAPABILITY))) return;
    const what = `no live worker of ${run.type} on ${run.queue} has registered ${CLEANUP_CAPABILITY}; cancel ends the run`;
    throw new Refused(409, "cooperative_cancellation_unavailable", what, { workflow_id: run.workflowId });
  }

  /** Lets a remote worker validate an update if it registered a validator; throws when it is rejected. */
  async #validate(run: StoredRun, name: string, input: Wire): Promise<void> {
    if (this.deps.hasType(run.type)) return;
    const workers = await this.workers.thatRun(run);
    const contract = workers[0] && contractOf(workers[0], run.type);
    if (contract?.updates?.includes(name) === false) {
      throw new Refused(409, "update_rejected", `${run.type} has no update called ${name}`);
    }
    if (contract?.validators?.includes(name) !== true) return;
    await this.questions.ask("update_validation", run, name, input, QUESTION_MS);
  }
}
