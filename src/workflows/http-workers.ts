// Workers in other languages, as workflows see them, and the services of workflows that they need. The host
// injects the implementation.
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWriter } from "../ports/reminder-writer.ts";
import type { Reminders } from "../ports/store/reminders.ts";
import type {
  InboxMessage,
  ReplayMode,
  RunStart,
  RunStatus,
  StartOutcome,
  StoredRun,
  StoredWorker,
  Workflows,
} from "../ports/store/workflows.ts";
import type { MinuteOfClaims } from "../ports/workflow-admin.ts";
import type { ActivityTasks } from "./activities/tasks.ts";
import type { WorkflowClient } from "./client/client.ts";
import type { RunPinning } from "./definition/pins.ts";
import type { Started, Wire } from "./engine/events.ts";
import type { HistoryLimit } from "./engine/history-budget.ts";
import type { StickyFigures } from "./worker/sticky-figures.ts";

export interface HttpWorkers {
  readonly workers: WorkerRegistry;
  /** Claims of HTTP workers, at all hosts. */
  readonly claims: { lastMinute(): Promise<MinuteOfClaims> };
  /** Work may be available. */
  nudge(): void;
  /** Queries a run whose code is in an HTTP worker; undefined: no such worker is available. */
  query(run: StoredRun, name: string, input: Wire): Promise<{ readonly result: Wire } | undefined>;
  /** Converts a rejection of the worker protocol into an error of the catalogue. Other errors stay. */
  plainError(error: unknown): unknown;
  /** Figures of sticky execution, of the whole cluster. */
  figures(): Promise<StickyFigures>;
  stop(): Promise<void>;
}

/** The registered workers of all kinds. */
export interface WorkerRegistry {
  /** Begins to remove old rows. */
  keepTidy(): void;
  /** Without the rows of drained builds. */
  rows(): Promise<StoredWorker[]>;
  isLive(row: StoredWorker): boolean;
  isDrained(queue: string, build: string): Promise<boolean>;
}

export interface HttpWorkersDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Workflows;
  readonly reminders: Reminders;
  readonly activityTasks: ActivityTasks;
  readonly writer: ReminderWriter;
  readonly client: WorkflowClient;
  readonly namespace: string;
  /** The id of this process. */
  readonly host: string;
  /** The default queue. */
  readonly queue: string;
  readonly isSticky: boolean;
  readonly stickyMs: number;
  /** Whether runs of remote workers are also pinned to their definition. */
  readonly pinning: RunPinning;
  readonly historyLimit: HistoryLimit;
  readonly maxLostAttempts: number;
  /** Leases of tasks and activities without a heartbeat. */
  readonly taskLeaseMs: number;
  readonly activityLeaseMs: number;
  /** The store's clock. */
  now(): number;
  start(start: RunStart, started: Started, at: number): Promise<StartOutcome>;
  /** Throws WORKFLOW_CLOSED or WORKFLOW_UNKNOWN. */
  deliver(message: InboxMessage): Promise<{ readonly ref: number; readonly runId: string }>;
  /** This process has the code of that type. */
  hasType(type: string): boolean;
  /** Queries a run, wherever its code is. */
  query(run: StoredRun, name: string, input: Wire): Promise<Wire>;
  ended(ref: number, runId: string, end: { readonly status: RunStatus; readonly result: string }): void;
  /** A remote worker claimed a task. */
  claimed(mode: ReplayMode): void;
  /** Workers of this process may have work. `messages`: the messages of a completed task. */
  nudge(messages: readonly InboxMessage[]): void;
  /** Serves timers of runs from now on, and watches for writes of other processes. */
  serve(): void;
}
