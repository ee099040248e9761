// Where runs of workflows are kept, shared by all processes. What is inside a history is the business of the workflows room; here it is
// text. One contract suite (stores/contract/workflows-*.contract.ts) says what every store must do.
//
// - A *workflow* has an id; it runs once, or several times one after the other. One run of it is open at most. A run's `ref` is the
//   store's own short name for it, higher for later ones.
// - A run's *history* is a line of events, numbered from 1 without gaps, kept in *pages*: what was appended in one step. Whoever has the
//   lease on the run's task appends to it, and nobody else: a page counts only while the token and the last event are those of the row.
// - Whatever comes from outside (a signal, a result, a timer that went off) *arrives*: it waits in the run's inbox, numbered from 1, until
//   the holder of the task has taken it into the history. The row counts arrivals; who appends says up to which one it has taken them, and
//   if there are more, the task is ready again in the same step. So nothing that arrives is ever left lying.
// - There is one task per open run: *idle* (nothing to do), *ready* (from a moment on), or *leased*.
// - Timers of a run, and activities that wait for a worker, are reminders (ports/store/reminders.ts), written in the same transaction.
import type { ReminderWrite } from "./reminders.ts";

export type RunStatus = "running" | "completed" | "failed" | "cancelled" | "terminated" | "timed out" | "continued";

export interface WorkflowKey {
  readonly namespace: string;
  readonly workflowId: string;
}

/** Events of one step. Encoded; `count` says how many there are. */
export interface EventBatch {
  readonly count: number;
  readonly data: string;
}

export interface TaskLease {
  /** Unique to one claim; everything that is said of the task afterwards names it. */
  readonly token: string;
  /** Who has it, for people and for matching. */
  readonly worker: string;
  readonly leaseMs: number;
}

/** Which worker has the run in memory, and for how long from now it is preferred. */
export interface Affinity {
  readonly worker: string;
  readonly ms: number;
}

export interface RunStart extends WorkflowKey {
  /** Unique in the world; the same for every attempt at this start, so that one whose answer was lost is started once. */
  readonly runId: string;
  readonly type: string;
  readonly queue: string;
  /** What it is bound to: only workers that claim such runs get its tasks. Undefined: nothing. */
  readonly bound: string | undefined;
  readonly first: EventBatch;
  /** What can be searched for, encoded as an object of plain values. */
  readonly attributes: string;
  readonly memo: string;
  /** The task is ready so much later. */
  readonly delayMs: number;
  /** When there were runs and none is open. One that is open stays, and this one is not started. */
  readonly ifClosed: "start" | "start unless completed" | "keep";
  /** A lease that its task has from the start: whoever starts it runs it. */
  readonly lease: TaskLease | undefined;
  readonly reminders: readonly ReminderWrite[];
  /** Who is told in the same step when it is not started because another run is there. Only as part of a step. */
  readonly refusal: InboxMessage | undefined;
}

export interface StartOutcome {
  readonly ref: number;
  readonly runId: string;
  readonly status: RunStatus;
  /** By this start or an earlier attempt at it. False: this one was there already, and stays. */
  readonly isNew: boolean;
  /**
   * The refusal is not final: the store did not answer an earlier attempt at the same start, and may still apply it. Stores never set
   * this; the process that repeats a start does.
   */
  readonly isInDoubt?: boolean | undefined;
}

export interface InboxMessage extends WorkflowKey {
  /** A certain run; undefined: the open one. */
  readonly runId: string | undefined;
  /** Two arrivals with the same key are one, as long as the first is in the inbox. */
  readonly key: string;
  readonly data: string;
  /** It is for the workflow, not for this run alone: when another run continues it before this was taken, it goes along. */
  readonly goesAlong: boolean;
  /** It does not wait for the run's next try: a task that is ready at some later moment is ready at once, also when this was there already. */
  readonly wakes?: boolean | undefined;
}

export type DeliveryOutcome =
  | { readonly kind: "arrived"; readonly ref: number; readonly runId: string; readonly number: number }
  /** There is no such run, or it is over. `isInDoubt`: as with a start, the store may have applied an earlier attempt, or may still do so. */
  | { readonly kind: "closed"; readonly status: RunStatus | undefined; readonly isInDoubt?: boolean | undefined };

/** What becomes of the task after a step. */
export type TaskFate =
  /** The same worker goes on with it. */
  | { readonly kind: "keep"; readonly leaseMs: number }
  /** Until something arrives. If something has arrived beyond what was taken, it is ready at once. */
  | { readonly kind: "rest" }
  /** "continued": by the run of the same workflow that is among the starts. What has arrived since and goes along is for that one. */
  | { readonly kind: "close"; readonly status: Exclude<RunStatus, "running">; readonly result: string };

/**
 * One step of a run: all of it is done, or none. In this order: the page, the fate, the starts, the refusals of those that were not
 * started, the arrivals, and what goes along.
 */
export interface TaskCompletion {
  readonly ref: number;
  readonly token: string;
  /** The number of the last event this builds on. */
  readonly last: number;
  /** Undefined: nothing was decided. */
  readonly page: EventBatch | undefined;
  /** Arrivals up to this number are in the history now; they leave the inbox. */
  readonly taken: number;
  readonly fate: TaskFate;
  readonly affinity: Affinity | undefined;
  /** Undefined: they stay as they are. */
  readonly attributes: string | undefined;
  readonly memo: string | undefined;
  readonly reminders: readonly ReminderWrite[];
  /** Runs that are started with it, and what it sends to other runs. What cannot arrive because its run is over is dropped. */
  readonly starts: readonly RunStart[];
  readonly arrivals: readonly InboxMessage[];
}

export type AppendOutcome =
  | {
      readonly kind: "done";
      /** How many have arrived in all; more than were taken: there is something to do. */
      readonly arrived: number;
      readonly starts: readonly StartOutcome[];
      /** Somebody in another process waits for the end of it. */
      readonly isWatched: boolean;
    }
  /** The lease is gone, or the history has gone on: nothing of it was done. */
  | { readonly kind: "lost" };

/** Tasks of one type, as far as a worker may have them. */
export interface TypeClaim {
  readonly type: string;
  /** Those of runs that are bound to something else than one of these are left alone, whoever has them in memory. */
  readonly bindings: readonly ClaimedBinding[];
}

/** A text of the workflows room; to a store it is the same as another, or not. */
export interface ClaimedBinding {
  /** What a run is bound to; undefined: nothing. */
  readonly bound: string | undefined;
  /** What it is bound to from then on. */
  readonly binds: string | undefined;
}

export interface TaskClaim {
  readonly namespace: string;
  readonly queue: string;
  readonly types: readonly TypeClaim[];
  readonly limit: number;
  readonly lease: TaskLease;
  /** This worker keeps runs in memory, and affinity counts at all. */
  readonly isSticky: boolean;
  /** A worker that was not seen for so long has no claim to what it has in memory. */
  readonly staleMs: number;
}

/**
 * `cold_replay`: the task had no affinity when it was ready, because its run never had one, or because it was over by then.
 * `forced_cold_replay`: it had, and another worker claims it, or the same one too late.
 */
export type ReplayMode = "sticky_hit_expected" | "cold_replay" | "forced_cold_replay";

export interface ClaimedTask extends WorkflowKey {
  readonly ref: number;
  readonly runId: string;
  readonly type: string;
  readonly token: string;
  /** How often it was claimed since it last came to an end: 1 the first time. */
  readonly attempt: number;
  /** Attempts among them that ended with their lease: their process died, or was too slow. */
  readonly lost: number;
  readonly mode: ReplayMode;
  /** What its run is bound to, by now. */
  readonly bound: string | undefined;
  readonly last: number;
  /** Arrivals that are in the history already, and how many there were in all. */
  readonly taken: number;
  readonly arrived: number;
}

export interface TaskClaims {
  /** The store's clock. */
  readonly now: number;
  readonly tasks: readonly ClaimedTask[];
  /** When the next task of these will be ready, or its lease or its affinity over; undefined: none that is known. */
  readonly next: number | undefined;
}

/** A task that was not brought to an end: somebody may have it after a pause. */
export interface TaskReturn {
  readonly ref: number;
  readonly token: string;
  readonly pauseMs: number;
  /**
   * What was wrong, for people. Whoever had it could not go on, so nobody is preferred any more, and any worker may try. Undefined:
   * nothing was; this does not count as an attempt, and what was wrong before stays known.
   */
  readonly problem: string | undefined;
}

/** A run without the lease of its task: what is said of it from outside. */
export interface Closing extends WorkflowKey {
  readonly runId: string | undefined;
  readonly status: "terminated" | "timed out";
  readonly page: EventBatch;
  readonly result: string;
  /** What follows from it and others are told of it, in the same step. */
  readonly reminders: readonly ReminderWrite[];
  readonly arrivals: readonly InboxMessage[];
}

export interface RunPages {
  /** From the first that has events beyond `after`, in order; `from` is the number of its first event. */
  readonly pages: readonly (EventBatch & { readonly from: number })[];
  /** There are more behind these. */
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
  readonly bound: string | undefined;
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
  /** 0: it was ended early, because its worker left. */
  readonly stickyUntil: number | undefined;
}

export interface StoredTask {
  readonly state: "idle" | "ready" | "leased";
  readonly attempt: number;
  /** Attempts among them that are known to have been lost. */
  readonly lost: number;
  readonly problem: string | undefined;
  /** Ready: from when on. Leased: until when. */
  readonly at: number | undefined;
  readonly worker: string | undefined;
  readonly mode: ReplayMode | undefined;
  readonly claimedAt: number | undefined;
  readonly arrived: number;
  readonly taken: number;
}

export interface RunQuery {
  readonly namespace: string;
  readonly workflowId?: string | undefined;
  readonly prefix?: string | undefined;
  readonly type?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly queue?: string | undefined;
  /** Each of them is equal, as JSON. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly startedFrom?: number | undefined;
  readonly startedBefore?: number | undefined;
  /** Only runs whose task has a problem. */
  readonly isBlocked?: boolean | undefined;
  /** Continue behind this one: the last of the page before. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface WorkerRow {
  readonly namespace: string;
  readonly worker: string;
  readonly queue: string;
  readonly build: string;
  readonly isSticky: boolean;
  readonly isDraining: boolean;
  /** Encoded: runtime, types, fingerprints, numbers of its cache. */
  readonly about: string;
}

export interface StoredWorker extends WorkerRow {
  readonly seenAt: number;
}

/** A run that is over. The run id tells whether it is the run that the caller means: a restored store assigns refs again. */
export interface EndedRun {
  readonly ref: number;
  readonly runId: string;
  readonly status: RunStatus;
  readonly result: string;
}

/** What is known of the stickiness of a namespace at one moment. */
export interface StickyCounts {
  readonly runs: number;
  readonly ready: number;
  readonly leased: number;
  /** Tasks among them, ready or leased, whose owner is one of the given workers. */
  readonly owned: number;
}

/**
 * Rejections are `LimpetError`s as those of the store (ports/store/store.ts). Everything may be sent again when its answer was lost: a start and
 * an arrival are known by their ids; a step that was done, with nothing done to its run since, is `done` all the same (its token stays on
 * the row until another claim, and on the run when it closed it). It is known by its page and its fate: another one in its place is `lost`.
 */
export interface Workflows {
  /** Answers stand in the order of the starts. No workflow twice in one batch. */
  start(batch: readonly RunStart[]): Promise<StartOutcome[]>;
  arrive(batch: readonly InboxMessage[]): Promise<DeliveryOutcome[]>;
  /** No run twice in one batch. */
  append(batch: readonly TaskCompletion[]): Promise<AppendOutcome[]>;
  /** One that is over already stays as it is: false. */
  close(closing: Closing): Promise<boolean>;
  /** A task whose lease has run out has lost an attempt. It is counted in the step that hands the task out again. */
  claim(request: TaskClaim): Promise<TaskClaims>;
  /** Longer leases. Gives those that are not held by that token any more. */
  renew(tasks: readonly { readonly ref: number; readonly token: string }[], leaseMs: number): Promise<number[]>;
  /** Whether each counted. */
  giveBack(batch: readonly TaskReturn[]): Promise<boolean[]>;
  /**
   * Ready now, whatever its task waits for; false: there is no open run. `forgives`: attempts that were lost before do not count any more.
   */
  wake(key: WorkflowKey, forgives?: boolean): Promise<boolean>;
  /** At most so many bytes, but one page at least. */
  history(ref: number, after: number, bytes: number): Promise<RunPages>;
  inbox(ref: number, after: number, limit: number): Promise<StoredInboxMessage[]>;
  /** The open run, or else the latest; or that one. */
  find(key: WorkflowKey & { readonly runId?: string | undefined }): Promise<StoredRun | undefined>;
  /** Those of these that are over. Marks the others as watched. */
  watchEnds(refs: readonly number[]): Promise<EndedRun[]>;
  /** The latest first. */
  list(query: RunQuery): Promise<StoredRun[]>;
  /** Up to `query.limit`. */
  count(query: RunQuery): Promise<number>;
  /** Registers a worker, or says that it is still there. */
  seen(worker: WorkerRow): Promise<void>;
  /** It is gone, and what it had in memory with it. */
  forgetWorker(namespace: string, worker: string): Promise<boolean>;
  /**
   * Whatever that worker had is anybody's: tasks that are leased to it are ready at once, at the attempt they are at, as if their leases
   * had run out; and its affinity is over. How many were leased. It looks at all open runs, in small steps. `isDead`: its process ended
   * without giving them back, so each of them has lost an attempt.
   */
  releaseWorker(namespace: string, worker: string, isDead: boolean): Promise<number>;
  workers(namespace: string): Promise<StoredWorker[]>;
  stickiness(namespace: string, owners?: readonly string[]): Promise<StickyCounts>;
  /** Removes runs that ended before this moment, at most so many; how many it were. */
  prune(namespace: string, endedBefore: number, limit: number): Promise<number>;
  /**
   * Calls back when tasks may have become ready or watched runs may have ended by another process. Undefined: this store cannot tell.
   * What is told may get lost.
   */
  watch(namespace: string, listener: () => void): (() => void) | undefined;
}
