// Workflows as the servers of a host use them: started and steered by names, and shown. All of them belong to
// the host's own namespace. Times are milliseconds since 1970 on the store's clock; values are in their
// JSON-ready form (kernel/values.ts).
import type { ReplayMode, RunQuery, RunStatus, StickyCounts, StoredTask } from "./store/workflows.ts";

/** The limit of counts for display. */
export const MOST_WORKFLOWS_COUNTED = 10_000;

export interface RunName {
  readonly workflowId: string;
  /** Undefined: the open run, or else the latest. */
  readonly runId?: string;
}

export interface WorkflowSummary {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly queue: string;
  /** Only workers of this build may run it. */
  readonly build: string | undefined;
  /** Only workers whose code has this fingerprint may run it. */
  readonly definition?: string;
  readonly status: RunStatus;
  readonly startedAt: number;
  readonly closedAt: number | undefined;
  readonly events: number;
  readonly bytes: number;
  readonly attributes: unknown;
  /** The reason why its worker could not continue. */
  readonly blocked: string | undefined;
  readonly task: StoredTask | undefined;
  readonly stickyWorker: string | undefined;
  readonly stickyUntil: number | undefined;
}

export type WorkflowPageQuery = Omit<RunQuery, "namespace">;

/** The latest first. */
export interface WorkflowPage {
  readonly now: number;
  readonly workflows: readonly WorkflowSummary[];
  /** Pass it back as `before` for the next page. */
  readonly next: number | undefined;
}

/** Both up to MOST_WORKFLOWS_COUNTED. */
export interface WorkflowCounts {
  readonly running: number;
  readonly blocked: number;
}

export type StepKind =
  | "start"
  | "activity"
  | "actor"
  | "timer"
  | "child"
  | "signal"
  | "update"
  | "cancel"
  | "wait"
  | "sent"
  | "note"
  | "end";

/** `told`: it has no outcome. `left`: abandoned, because the run is over. */
export type StepState = "pending" | "done" | "failed" | "cancelled" | "left" | "told";

/** A command or an external event, and its outcome. */
export interface HistoryStep {
  /** The number of its first event. */
  readonly event: number;
  readonly at: number;
  readonly kind: StepKind;
  /** The name of the activity, of the signal and so on. */
  readonly what: string;
  readonly state: StepState;
  readonly endedAt: number | undefined;
  /** Values as JSON text, cut when they are long. */
  readonly input: string | undefined;
  readonly result: string | undefined;
  readonly error: string | undefined;
  /** Attempts that failed. */
  readonly failures: number;
  /** The time at which a timer fires, or the next attempt begins. */
  readonly due: number | undefined;
}

/** A wait of an open run. */
export interface AwaitedThing {
  readonly kind: StepKind | "condition" | "worker";
  readonly what: string;
  /** Its start; undefined: not recorded. */
  readonly since: number | undefined;
  readonly due: number | undefined;
  readonly failures: number;
  readonly error: string | undefined;
  /** One phrase: the process that has it, or why none has. */
  readonly why: string | undefined;
  /** It will not continue by itself. */
  readonly isStuck: boolean;
}

/** The limits of a history, in a worker of the reporting process. */
export interface HistoryBudget {
  readonly suggested: { readonly events: number; readonly bytes: number };
  readonly most: { readonly events: number; readonly bytes: number };
  /** It is open, and should continue as new. */
  readonly isContinueSuggested: boolean;
  /** Its history is full, and it waits for a worker with a higher limit. */
  readonly isParked: boolean;
}

export interface WorkflowView extends WorkflowSummary {
  readonly now: number;
  /** One sentence: its work, or its wait and the reason. */
  readonly summary: string;
  readonly waitsFor: readonly AwaitedThing[];
  /** Only its code knows signals and conditions; false: no local worker could be asked. */
  readonly isCodeAsked: boolean;
  readonly input: unknown;
  readonly memo: unknown;
  readonly result: unknown;
  readonly error: string | undefined;
  readonly parent: { readonly workflowId: string; readonly runId: string } | undefined;
  readonly continuedFrom: string | undefined;
  readonly continuedAs: string | undefined;
  readonly timeoutAt: number | undefined;
  /** Undefined: the host is of an older release. */
  readonly budget?: HistoryBudget;
  /** Its history, at least the latest steps; `earlier` ones are left out. */
  readonly steps: readonly HistoryStep[];
  readonly earlier: number;
}

export interface WorkflowEvent {
  readonly number: number;
  readonly at: number;
  readonly event: object;
}

export interface EventPage {
  readonly events: readonly WorkflowEvent[];
  /** Pass it back as `after` for the next page. */
  readonly next: number | undefined;
}

export interface NewWorkflow {
  readonly type: string;
  readonly id?: string;
  readonly input?: unknown;
  readonly queue?: string;
  readonly build?: string;
  readonly ifRunning?: "fail" | "existing" | "terminate";
  readonly ifEnded?: "start" | "start unless completed" | "fail" | "existing";
  readonly memo?: Readonly<Record<string, unknown>>;
  readonly attributes?: Readonly<Record<string, string | number | boolean | null>>;
  readonly timeout?: string;
  readonly runTimeout?: string;
  readonly delay?: string;
}

/**
 * Replay modes of the tasks of the last minute; `miss`: the worker should have had the run in memory, and did
 * not.
 */
export type MinuteOfClaims = Readonly<Record<ReplayMode | "miss", number>>;

export interface WorkerSummary {
  readonly worker: string;
  readonly queue: string;
  readonly build: string;
  /** Other builds whose runs it continues. */
  readonly compatible?: readonly string[];
  readonly runtime: string;
  readonly types: readonly string[];
  /** Fingerprints of workflow code, by type. */
  readonly definitions?: Readonly<Record<string, string>>;
  /** Of HTTP workers; undefined: not reported. */
  readonly activities: readonly string[] | undefined;
  readonly isSticky: boolean;
  readonly isDraining: boolean;
  readonly isLive: boolean;
  readonly seenAt: number;
  /** Cached runs, and cache figures since the start of the worker. */
  readonly capacity: number;
  readonly size: number;
  readonly hits: number;
  readonly misses: number;
  readonly forced: number;
  readonly evictions: number;
}

/** Runs or activities that have waited for some time without a live worker for them. */
export interface Unserved {
  readonly kind: "workflow" | "activity";
  readonly type: string;
  readonly queue: string;
  readonly build: string | undefined;
  readonly definition?: string;
  readonly count: number;
  readonly since: number;
}

export interface WorkerOverview extends WorkflowCounts {
  readonly now: number;
  readonly workers: readonly WorkerSummary[];
  readonly sticky: StickyCounts & { readonly isEnabled: boolean; readonly ttlMs: number };
  readonly lastMinute: MinuteOfClaims;
  readonly unserved: readonly Unserved[];
}

/** Rejects with WORKFLOW_UNKNOWN and WORKFLOW_CLOSED, and with the errors of the workflow client. */
export interface WorkflowAdmin {
  list(query: WorkflowPageQuery): Promise<WorkflowPage>;
  count(): Promise<WorkflowCounts>;
  /** With the latest steps of its history, this many. */
  look(name: RunName, steps: number): Promise<WorkflowView>;
  events(name: RunName, after: number, limit: number): Promise<EventPage>;
  workers(): Promise<WorkerOverview>;
  start(request: NewWorkflow): Promise<{ readonly workflowId: string; readonly runId: string }>;
  signal(name: RunName, signal: string, input: unknown): Promise<void>;
  query(name: RunName, query: string, input: unknown): Promise<unknown>;
  /**
   * Rejects with CALL_TIMEOUT when there is no answer in time; the update may still be executed. `gone`: the
   * caller no longer waits.
   */
  update(
    name: RunName,
    update: string,
    input: unknown,
    within: { readonly timeoutMs: number | undefined; readonly gone: AbortSignal },
  ): Promise<unknown>;
  cancel(name: RunName, reason: string): Promise<void>;
  terminate(name: RunName, reason: string): Promise<void>;
  /** Its task is retried now, whatever its pause. */
  wake(name: RunName): Promise<void>;
}
