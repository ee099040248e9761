// The runs of workflows as the store has them, followed from change to change. Several checkers use it. It
// does not model the store: after every event that may have changed a run, it reads the run.

import type { Commit, CommitVerdict } from "../../../src/ports/store/store.ts";
import type {
  ClaimedTask,
  Closing,
  CompletionOutcome,
  DeliveryOutcome,
  InboxMessage,
  RunStart,
  StoredRun,
  TaskClaim,
  TaskCompletion,
  TaskReturn,
} from "../../../src/ports/store/workflows.ts";
import { type HistoryEvent, readEventBatch } from "../../../src/workflows/engine/events.ts";
import type { Process } from "../../../src/world/process.ts";
import type { ActivityRun, Observer } from "../../observer.ts";
import type { Stage } from "../../stage.ts";
import type { ReportViolation } from "../checker.ts";

export interface StoredBatch {
  readonly from: number;
  readonly count: number;
  readonly data: string;
}

export interface SeenEvent {
  readonly number: number;
  /** Time of its step, on the run's own clock. */
  readonly at: number;
  /** When it appeared in the store. */
  readonly seenAt: number;
  readonly event: HistoryEvent;
}

export interface SeenRun {
  readonly ref: number;
  readonly namespace: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly build: string | undefined;
  /** Undefined if the start was not observed. */
  readonly start: RunStart | undefined;
  readonly beganAt: number;
  /** The latest state. */
  stored: StoredRun;
  batches: readonly StoredBatch[];
  readonly events: SeenEvent[];
  /** Holder of the lease on its task, and the earliest end of the lease on the clock of the store. */
  holder: { readonly process: Process; readonly token: string; readonly worker: string; until: number } | undefined;
  closedAt: number | undefined;
}

/** A request that may have changed a run. */
export type Cause =
  | { readonly kind: "start"; readonly process: Process; readonly start: RunStart }
  | {
      readonly kind: "complete";
      readonly process: Process;
      readonly completion: TaskCompletion;
      readonly outcome: CompletionOutcome;
      /** The same step was applied before. */
      readonly isAgain: boolean;
    }
  | { readonly kind: "close"; readonly process: Process; readonly closing: Closing; readonly isDone: boolean }
  | { readonly kind: "deliver"; readonly process: Process; readonly message: InboxMessage }
  | { readonly kind: "give back"; readonly process: Process; readonly back: TaskReturn; readonly counted: boolean };

export interface RunWatcher {
  /** The run is new in the store. */
  began?(run: SeenRun): void;
  /** `run` still has the earlier values, and `now` is the state in the store. */
  changed?(run: SeenRun, now: StoredRun, batches: readonly StoredBatch[], cause: Cause): void;
  /** Called for each new event of its history, when the run is up to date. */
  added?(run: SeenRun, event: SeenEvent): void;
  /** Called when the run is up to date. */
  moved?(run: SeenRun, cause: Cause): void;
  /** Called before its holder changes. */
  claimed?(run: SeenRun, process: Process, request: TaskClaim, task: ClaimedTask, now: number): void;
}

/** For display. */
export const labelOfRun = ({ workflowId, runId }: { readonly workflowId: string; readonly runId: string }): string =>
  `${workflowId} (run ${runId})`;

export interface ActivityRecord {
  readonly run: ActivityRun;
  endedAt: number | undefined;
  isDone: boolean;
}

const known = new WeakMap<Stage, WorkflowRuns>();

export function runsOf(stage: Stage): WorkflowRuns {
  const found = known.get(stage);
  if (found !== undefined) return found;
  const runs = new WorkflowRuns(stage);
  known.set(stage, runs);
  stage.observers.push(runs);
  return runs;
}

const ALL = Number.MAX_SAFE_INTEGER;

export class WorkflowRuns implements Observer {
  readonly #stage: Stage;
  readonly watchers: RunWatcher[] = [];
  readonly byRef = new Map<number, SeenRun>();
  /** By namespace and id, the earliest first. */
  readonly byWorkflow = new Map<string, SeenRun[]>();
  readonly byRunId = new Map<string, SeenRun>();
  /** By the key of the activity. */
  readonly activities = new Map<string, ActivityRecord[]>();
  readonly #done = new Set<string>();
  readonly #commits = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  get all(): Iterable<SeenRun> {
    return this.byRef.values();
  }

  of(namespace: string, workflowId: string): readonly SeenRun[] {
    return this.byWorkflow.get(`${namespace}/${workflowId}`) ?? [];
  }

  get #store() {
    return this.#stage.world.database.truth.workflows;
  }

  // ——— Activities.

  activityBegan(run: ActivityRun): void {
    const records = this.activities.get(run.key) ?? [];
    this.activities.set(run.key, records);
    records.push({ run, endedAt: undefined, isDone: false });
  }

  activityEnded(run: ActivityRun, isDone: boolean): void {
    const record = this.activities.get(run.key)?.find((one) => one.run === run);
    if (record !== undefined) Object.assign(record, { endedAt: this.#stage.now, isDone });
  }

  // ——— The store.

  begun(process: Process, batch: readonly RunStart[]): void {
    for (const start of batch) this.#started(process, start);
  }

  committed(process: Process, { id, starts = [], messages = [] }: Commit, _key: unknown, outcome: CommitVerdict): void {
    if (this.#commits.has(id)) return;
    if (outcome === "committed") this.#commits.add(id);
    // Also for a rejected request: it must have no effect, which the next read verifies.
    for (const start of starts) this.#started(process, start);
    for (const message of messages) this.#delivered(process, message);
  }

  /** A commit that never took effect; a repeated one may be rejected although the first took effect. */
  cameToNothing({ id }: Commit, outcome: CommitVerdict): boolean {
    return outcome !== "committed" && !this.#commits.has(id);
  }

  delivered(process: Process, batch: readonly InboxMessage[], outcomes: readonly DeliveryOutcome[]): void {
    for (const [i, message] of batch.entries())
      if (outcomes[i]!.kind === "delivered") this.#delivered(process, message);
  }

  completed(process: Process, batch: readonly TaskCompletion[], outcomes: readonly CompletionOutcome[]): void {
    const fresh: TaskCompletion[] = [];
    for (const [i, completion] of batch.entries()) {
      const outcome = outcomes[i]!;
      const run = this.byRef.get(completion.ref);
      const step = `${completion.ref} ${completion.token} ${completion.last} ${completion.taken} ${completion.batch?.data}`;
      const isAgain = this.#done.has(step);
      if (outcome.kind === "done") this.#done.add(step);
      if (run !== undefined) this.#look(run, { kind: "complete", process, completion, outcome, isAgain });
      if (outcome.kind === "done" && !isAgain) fresh.push(completion);
    }
    // All steps of a batch are applied by now: events that a run wrote itself come first.
    for (const { starts, messages } of fresh) {
      for (const start of starts) this.#started(process, start);
      for (const message of messages) this.#delivered(process, message);
    }
  }

  closed(process: Process, closing: Closing, isDone: boolean): void {
    const { namespace, workflowId, runId } = closing;
    const run = runId === undefined ? this.of(namespace, workflowId).at(-1) : this.byRunId.get(runId);
    if (run !== undefined) this.#look(run, { kind: "close", process, closing, isDone });
    if (isDone) for (const message of closing.messages) this.#delivered(process, message);
  }

  gaveBack(process: Process, batch: readonly TaskReturn[], counted: readonly boolean[]): void {
    for (const [i, back] of batch.entries()) {
      const run = this.byRef.get(back.ref);
      if (run !== undefined) this.#look(run, { kind: "give back", process, back, counted: counted[i]! });
    }
  }

  polled(...[process, request, { now, tasks }]: Parameters<NonNullable<Observer["polled"]>>): void {
    for (const task of tasks) {
      const run = this.byRef.get(task.ref);
      if (run === undefined) continue;
      for (const watcher of this.watchers) watcher.claimed?.(run, process, request, task, now);
      const { token, worker, leaseMs } = request.lease;
      run.holder = { process, token, worker, until: now + leaseMs };
    }
  }

  /** Leases were extended. */
  stored(_process: Process, question: string): void {
    if (question !== "extend") return;
    for (const run of this.byRef.values()) {
      const { holder } = run;
      if (holder === undefined) continue;
      void this.#store.find(run).then((now) => {
        if (run.holder === holder && now?.task?.state === "leased") holder.until = now.task.at ?? holder.until;
      });
    }
  }

  #started(process: Process, start: RunStart): void {
    void this.#store.find(start).then((stored) => {
      if (stored === undefined) return;
      const before = this.byRef.get(stored.ref);
      if (before !== undefined) return this.#look(before, { kind: "start", process, start });
      const { ref, namespace, workflowId, runId, type, pinned: build } = stored;
      const run: SeenRun = {
        ref,
        namespace,
        workflowId,
        runId,
        type,
        build,
        start,
        stored,
        beganAt: this.#stage.now,
        batches: [],
        events: [],
        holder: undefined,
        closedAt: undefined,
      };
      this.byRef.set(ref, run);
      this.byRunId.set(runId, run);
      const key = `${namespace}/${workflowId}`;
      this.byWorkflow.set(key, [...(this.byWorkflow.get(key) ?? []), run]);
      const { lease } = start;
      if (lease !== undefined) {
        const until = this.#stage.world.database.now + lease.leaseMs;
        run.holder = { process, token: lease.token, worker: lease.worker, until };
      }
      for (const watcher of this.watchers) watcher.began?.(run);
      this.#look(run, { kind: "start", process, start });
    });
  }

  #delivered(process: Process, message: InboxMessage): void {
    const { namespace, workflowId, runId } = message;
    const run = runId === undefined ? this.of(namespace, workflowId).at(-1) : this.byRunId.get(runId);
    if (run !== undefined) this.#look(run, { kind: "deliver", process, message });
  }

  #look(run: SeenRun, cause: Cause): void {
    const looked = Promise.all([this.#store.find(run), this.#store.history(run.ref, 0, ALL)]);
    void looked.then(([now, { batches }]) => {
      if (now === undefined) return;
      for (const watcher of this.watchers) watcher.changed?.(run, now, batches, cause);
      const fresh = batches.slice(run.batches.length);
      run.stored = now;
      run.batches = batches;
      if (now.status !== "running") run.closedAt ??= this.#stage.now;
      this.#held(run, cause);
      for (const { from, data } of fresh) this.#read(run, from, data);
      for (const watcher of this.watchers) watcher.moved?.(run, cause);
    });
  }

  #read(run: SeenRun, from: number, data: string): void {
    const { at, events } = readEventBatch(data);
    for (const [i, event] of events.entries()) {
      const seen: SeenEvent = { number: from + i, at, seenAt: this.#stage.now, event };
      run.events.push(seen);
      for (const watcher of this.watchers) watcher.added?.(run, seen);
    }
  }

  #held(run: SeenRun, cause: Cause): void {
    const { task } = run.stored;
    if (run.holder === undefined) return;
    const token =
      cause.kind === "complete" ? cause.completion.token : cause.kind === "give back" ? cause.back.token : "";
    if (task === undefined) run.holder = undefined;
    else if (token !== run.holder.token) return;
    else if (task.state === "leased") run.holder.until = task.at ?? run.holder.until;
    else run.holder = undefined;
  }
}

/** A checker that watches runs. */
export abstract class RunChecker {
  protected readonly stage: Stage;
  protected readonly report: ReportViolation;
  protected readonly runs: WorkflowRuns;

  constructor(stage: Stage, report: ReportViolation) {
    this.stage = stage;
    this.report = report;
    this.runs = runsOf(stage);
    this.runs.watchers.push(this as RunWatcher);
  }
}
