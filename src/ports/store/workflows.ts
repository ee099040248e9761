// The store of workflow runs, shared by all processes. Histories are opaque text here; the workflows module
// interprets them. One contract suite (stores/contract/workflows-*.contract.ts) covers every store.
//
// - A *workflow* has an id; it has one run, or several one after another. At most one run is open. A run's
//   `ref` is the store's own short name for it, higher for later ones.
// - A run's *history* is a sequence of events, numbered from 1 without gaps, kept in *batches*: one per step.
//   Only the holder of the lease on the run's task appends to it: a batch counts only while the token and the
//   last event match the row.
// - An external event (a signal, a result, a timer that fired) is *delivered* to the run's inbox, numbered
//   from 1, where it stays until the holder of the task takes it into the history. The row counts deliveries.
//   A completion names the last one taken; if there are more, the task is ready again in the same step. So no
//   message is ever left behind.
// - There is one task per open run: *idle* (nothing to do), *ready* (from a moment on), or *leased*.
// - Timers of a run, and activities that wait for a worker, are reminders (ports/store/reminders.ts), written
//   in
//   the same transaction.
import type { ReminderWrite } from "./reminders.ts";

export type RunStatus = "running" | "completed" | "failed" | "cancelled" | "terminated" | "timed out" | "continued";

export interface WorkflowKey {
  readonly namespace: string;
  readonly workflowId: string;
}

/** Encoded events of one step; `count` is their number. */
export interface EventBatch {
  readonly count: number;
  readonly data: string;
}

export interface TaskLease {
  /** Unique to one claim; every later request for the task names it. */
  readonly token: string;
  /** The worker that has it, for display and for matching. */
  readonly worker: string;
  readonly leaseMs: number;
}

/** The worker with the run in memory, and the time for which it is preferred. */
export interface Affinity {
  readonly worker: string;
  readonly ms: number;
}

export interface RunStart extends WorkflowKey {
  /**
   * Globally unique; the same for every attempt at this start, so that a start with a lost answer is applied
   * once.
   */
  readonly runId: string;
  readonly type: string;
  readonly queue: string;
  /** Its pinning: only workers that claim such runs get its tasks. Undefined: none. */
  readonly pinned: string | undefined;
  readonly first: EventBatch;
  /** Search attributes, encoded as an object of plain values. */
  readonly attributes: string;
  readonly memo: string;
  /** The delay until the task is ready. */
  readonly delayMs: number;
  /** The rule when there were runs and none is open. An open run stays, and this one is not started. */
  readonly ifClosed: "start" | "start unless completed" | "keep";
  /** A lease that its task has from the start: the process that starts it runs it. */
  readonly lease: TaskLease | undefined;
  readonly reminders: readonly ReminderWrite[];
  /** The message to deliver in the same step when another run prevents the start. Only as part of a step. */
  readonly refusal: InboxMessage | undefined;
}

export interface StartOutcome {
  readonly ref: number;
  readonly runId: string;
  readonly status: RunStatus;
  /** True: by this start or an earlier attempt at it. False: another run exists, and stays. */
  readonly isNew: boolean;
  /**
   * The refusal is not final: the store did not answer an earlier attempt at the same start, and may still
   * apply it. Stores never set this; the process that repeats a start does.
   */
  readonly isAmbiguous?: boolean;
}

export interface InboxMessage extends WorkflowKey {
  /** A certain run; undefined: the open one. */
  readonly runId: string | undefined;
  /** Two messages with the same key are one, as long as the first is in the inbox. */
  readonly key: string;
  readonly data: string;
  /**
   * The message is for the workflow, not for this run alone: when another run continues it first, the message
   * moves along.
   */
  readonly goesAlong: boolean;
  /**
   * The message does not wait for the run's next retry: a task that is ready later becomes ready at once,
   * even when the message existed already.
   */
  readonly wakes?: boolean;
}

export type DeliveryOutcome =
  | { readonly kind: "delivered"; readonly ref: number; readonly runId: string; readonly number: number }
  /**
   * The run does not exist, or is over. `isInDoubt`: as with a start, the store may have applied an earlier
   * attempt, or may still do so.
   */
  | { readonly kind: "closed"; readonly status: RunStatus | undefined; readonly isAmbiguous?: boolean };

/** The state of the task after a step. */
export type TaskOutcome =
  /** The same worker continues with it. */
  | { readonly kind: "keep"; readonly leaseMs: number }
  /** Until a message arrives. If more messages have arrived than were taken, it is ready at once. */
  | { readonly kind: "rest" }
  /**
   * "continued": by the run of the same workflow among the starts. Later messages with `goesAlong` move to
   * that run.
   */
  | { readonly kind: "close"; readonly status: Exclude<RunStatus, "running">; readonly result: string };

/**
 * One step of a run: all of it is applied, or none. In this order: the batch, the outcome, the starts, the
 * refusals of prevented starts, the messages, and the messages that move along.
 */
export interface TaskCompletion {
  readonly ref: number;
  readonly token: string;
  /** The number of the last event this builds on. */
  readonly last: number;
  /** Undefined: there are no commands. */
  readonly batch: EventBatch | undefined;
  /** Messages up to this number are in the history now; they leave the inbox. */
  readonly taken: number;
  readonly outcome: TaskOutcome;
  readonly affinity: Affinity | undefined;
  /** Undefined: they stay unchanged. */
  readonly attributes: string | undefined;
  readonly memo: string | undefined;
  readonly reminders: readonly ReminderWrite[];
  /** Runs to start, and messages to other runs. A message to a closed run is dropped. */
  readonly starts: readonly RunStart[];
  readonly messages: readonly InboxMessage[];
}

export type CompletionOutcome =
  | {
      readonly kind: "done";
      /** All deliveries before the messages of this step; more than were taken: there is work to do. */
      readonly delivered: number;
      readonly starts: readonly StartOutcome[];
      /** A client in another process waits for its end. */
      readonly isWatched: boolean;
    }
  /** The lease is gone, or the history has advanced: nothing was applied. */
  | { readonly kind: "lost" };

/** The tasks of one type that a worker may claim. */
export interface TypeClaim {
  readonly type: string;
  /** Tasks of runs with any other pinning are skipped, whichever worker has them in memory. */
  readonly pins: readonly ClaimedPin[];
}

/** A text of the workflows module; a store only compares it. */
export interface ClaimedPin {
  /** The pinning of a run; undefined: none. */
  readonly pinned: string | undefined;
  /** Its pinning from then on. */
  readonly pins: string | undefined;
}

export interface TaskClaim {
  readonly namespace: string;
  readonly queue: string;
  readonly types: readonly TypeClaim[];
  readonly limit: number;
  readonly lease: TaskLease;
  /** This worker keeps runs in memory, and sticky execution is enabled. */
  readonly isSticky: boolean;
  /** A worker that was not seen for this long has no affinity to its runs. */
  readonly staleMs: number;
}

/**
 * `cold_replay`: the task had no affinity when it was ready, because its run never had one, or it had
 * expired. `forced_cold_replay`: it had one, and another worker claims it, or the same one too late.
 */
export type ReplayMode = "sticky_hit_expected" | "cold_replay" | "forced_cold_replay";

export interface ClaimedTask extends WorkflowKey {
  readonly ref: number;
  readonly runId: string;
  readonly type: string;
  readonly token: string;
  /** Number of claims since its last completion: 1 the first time. */
  readonly attempt: number;
  /** Attempts among them that ended with their lease: their process died, or was too slow. */
  readonly lost: number;
  readonly mode: ReplayMode;
  /** The current pinning of its run. */
  readonly pinned: string | undefined;
  readonly last: number;
  /** Messages in the history, and the number of all deliveries. */
  readonly taken: number;
  readonly delivered: number;
}

export interface TaskClaims {
  /** The store's clock. */
  readonly now: number;
  readonly tasks: readonly ClaimedTask[];
  /**
   * The time at which the next of these tasks is ready, or its lease or affinity ends; undefined: none is
   * known.
   */
  readonly next: number | undefined;
}

/** A task that was not completed: any worker may claim it after a pause. */
export interface TaskReturn {
  readonly ref: number;
  readonly token: string;
  readonly pauseMs: number;
  /**
   * The problem, for display. The worker could not continue, so its affinity ends and any worker may try.
   * Undefined: there was none; this does not count as an attempt, and an earlier problem stays.
   */
  readonly problem: string | undefined;
}

/** Closes a run from outside, without the lease of its task. */
export interface Closing extends WorkflowKey {
  readonly runId: string | undefined;
  readonly status: "terminated" | "timed out";
  readonly batch: EventBatch;
  readonly result: string;
  /** Effects on other runs and reminders, in the same step. */
  readonly reminders: readonly ReminderWrite[];
  readonly messages: readonly InboxMessage[];
}

export interface RunBatches {
  /** From the first batch with events beyond `after`, in order; `from` is the number of its first event. */
  readonly batches: readonly (EventBatch & { readonly from: number })[];
  /** More batches follow. */
  readonly isCut: boolean;
}

export interface StoredInboxMessage {
  readonly number: number;
  readonly key: string;
  readonly data: string;
}

export interface StoredRun extends WorkflowKey {
  readonly ref: number;
  readonly runId: string;
  readonly type: string;
  readonly queue: string;
  readonly pinned: string | undefined;
  readonly status: RunStatus;
  readonly attributes: string;
  readonly memo: string;
  readonly startedAt: number;
  readonly closedAt: number | undefined;
  /** Undefined while it runs. */
  readonly result: string | undefined;
  readonly events: number;
  readonly bytes: number;
  readonly task: StoredTask | undefined;
  readonly stickyWorker: string | undefined;
  /** 0: it ended early, because its worker left. */
  readonly stickyUntil: number | undefined;
}

export interface StoredTask {
  readonly state: "idle" | "ready" | "leased";
  readonly attempt: number;
  /** Attempts among them that are known to have been lost. */
  readonly lost: number;
  readonly problem: string | undefined;
  /** Ready: its start. Leased: its end. */
  readonly at: number | undefined;
  readonly worker: string | undefined;
  readonly mode: ReplayMode | undefined;
  readonly claimedAt: number | undefined;
  /** The number of all deliveries; operators and tools read it by this name. */
  readonly arrived: number;
  readonly taken: number;
}

export interface RunQuery {
  readonly namespace: string;
  readonly workflowId?: string;
  readonly prefix?: string;
  readonly type?: string;
  readonly status?: RunStatus;
  readonly queue?: string;
  /** Each of them is equal, as JSON. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  readonly startedFrom?: number;
  readonly startedBefore?: number;
  /** Only runs whose task has a problem. */
  readonly isBlocked?: boolean;
  /** Continue behind this one: the last of the page before. */
  readonly before?: number;
  readonly limit: number;
}

export interface WorkerRow {
  readonly namespace: string;
  readonly worker: string;
  readonly queue: string;
  readonly build: string;
  readonly isSticky: boolean;
  readonly isDraining: boolean;
  /** Encoded: runtime, types, fingerprints, cache figures. */
  readonly about: string;
}

export interface StoredWorker extends WorkerRow {
  readonly seenAt: number;
}

/** A closed run. The run id confirms its identity: a restored store assigns refs again. */
export interface EndedRun {
  readonly ref: number;
  readonly runId: string;
  readonly status: RunStatus;
  readonly result: string;
}

/** The sticky runs of a namespace at one moment. */
export interface StickyCounts {
  readonly runs: number;
  readonly ready: number;
  readonly leased: number;
  /** Tasks among them, ready or leased, with one of the given workers as owner. */
  readonly owned: number;
}

/**
 * Rejections are `LimpetError`s like those of the store (ports/store/store.ts). Every request may be repeated
 * when its answer was lost. Starts and messages are identified by their ids. A repeated completion, with no
 * later change of its run, is `done` again: its token stays on the row until another claim, and on the run
 * when it closed it. A completion is identified by its batch and its outcome: a different one in its place is
 * `lost`.
 */
export interface Workflows {
  /** Answers are in the order of the starts. No workflow twice in one batch. */
  start(batch: readonly RunStart[]): Promise<StartOutcome[]>;
  deliver(batch: readonly InboxMessage[]): Promise<DeliveryOutcome[]>;
  /** No run twice in one batch. */
  complete(batch: readonly TaskCompletion[]): Promise<CompletionOutcome[]>;
  /** A closed run stays unchanged: false. */
  close(closing: Closing): Promise<boolean>;
  /** A task with an expired lease has lost an attempt. The step that assigns the task again counts it. */
  claim(request: TaskClaim): Promise<TaskClaims>;
  /** Extends leases. Returns the tasks that the token no longer holds. */
  renew(tasks: readonly { readonly ref: number; readonly token: string }[], leaseMs: number): Promise<number[]>;
  /** Returns whether each counted. */
  giveBack(batch: readonly TaskReturn[]): Promise<boolean[]>;
  /**
   * Makes its task ready now; false: there is no open run. `forgives`: earlier lost attempts no longer count.
   */
  wake(key: WorkflowKey, forgives?: boolean): Promise<boolean>;
  /** At most this many bytes, but at least one batch. */
  history(ref: number, after: number, bytes: number): Promise<RunBatches>;
  inbox(ref: number, after: number, limit: number): Promise<StoredInboxMessage[]>;
  /** The open run, or else the latest; or the named one. */
  find(key: WorkflowKey & { readonly runId?: string }): Promise<StoredRun | undefined>;
  /** Returns the closed runs among these. Marks the others as watched. */
  watchEnds(refs: readonly number[]): Promise<EndedRun[]>;
  /** The latest first. */
  list(query: RunQuery): Promise<StoredRun[]>;
  /** Up to `query.limit`. */
  count(query: RunQuery): Promise<number>;
  /** Registers a worker, or records its heartbeat. */
  seen(worker: WorkerRow): Promise<void>;
  /** The worker is gone, and its runs in memory are lost. */
  forgetWorker(namespace: string, worker: string): Promise<boolean>;
  /**
   * Releases all tasks of a worker: its leased tasks are ready at once, at their current attempt, as if their
   * leases had expired; and its affinity ends. Returns the number of leased tasks. It reads all open runs, in
   * small steps. `isDead`: its process ended without returning them, so each of them has lost an attempt.
   */
  releaseWorker(namespace: string, worker: string, isDead: boolean): Promise<number>;
  workers(namespace: string): Promise<StoredWorker[]>;
  stickiness(namespace: string, owners?: readonly string[]): Promise<StickyCounts>;
  /** Removes at most `limit` runs that ended before this moment; returns their number. */
  prune(namespace: string, endedBefore: number, limit: number): Promise<number>;
  /**
   * Calls back when another process may have made tasks ready or ended watched runs. Undefined: this store
   * cannot notify. Notifications may be lost.
   */
  watch(namespace: string, listener: () => void): (() => void) | undefined;
}
