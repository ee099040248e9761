// Defines the events of a history and the format of a batch. Two kinds of events: commands that the
// workflow's code issues (run an activity, start a timer), and external events (a result, a signal). A
// command has a number `n`, its place among the commands of the run; its outcome names that number.
//
// Values stand in events in their JSON-ready form (kernel/values.ts), so a batch is one JSON text that people
// can read. Workers in other languages know the names of the events. Written events stay readable for ever:
// fields are added, never changed.
import type { SerializedError } from "../../kernel/serialized-error.ts";
import type { EventBatch } from "../../ports/store/workflows.ts";

/** A value in its JSON-ready form. */
export type Wire = unknown;

export interface SerializedActivityOptions {
  readonly queue?: string;
  readonly attempts?: number;
  readonly delays?: readonly number[];
  readonly initial?: number;
  readonly factor?: number;
  readonly longest?: number;
  readonly nonRetryable?: readonly string[];
  readonly startToClose?: number;
  readonly scheduleToStart?: number;
  readonly scheduleToClose?: number;
  readonly heartbeat?: number;
  /** When the run is cancelled while it waits for the activity. Absent: the activity is asked to stop. */
  readonly onCancel?: "abandon";
}

export type ParentClosePolicy = "terminate" | "cancel" | "abandon";

/** Commands that a remote worker awaits together, as that worker reported them. */
export interface ParallelGroup {
  readonly id: string;
  readonly kind: string;
  readonly base: number;
  readonly size: number;
  readonly index: number;
  readonly path?: Wire;
}

/** The commands of a workflow's code. */
export type CommandEvent =
  | {
      readonly kind: "ActivityScheduled";
      readonly n: number;
      readonly name: string;
      readonly input: Wire;
      readonly options?: SerializedActivityOptions;
      /**
       * The worker that issued the command runs the activity, as does the next worker of the task: it does
       * not wait in a queue.
       */
      readonly eager?: true;
      /**
       * A remote worker ran the activity within its workflow task. The result is in the same step, and no row
       * exists.
       */
      readonly local?: true;
      readonly group?: ParallelGroup;
    }
  | {
      readonly kind: "ActorCalled";
      readonly n: number;
      readonly type: string;
      readonly id: string;
      readonly method: string;
      readonly input: Wire;
    }
  | {
      readonly kind: "TimerScheduled";
      readonly n: number;
      readonly at: number;
      readonly seconds?: number;
      readonly group?: ParallelGroup;
    }
  | { readonly kind: "TimerCancelled"; readonly n: number; readonly of: number }
  | { readonly kind: "ActivityCancelRequested"; readonly n: number; readonly of: number }
  | {
      readonly kind: "ChildWorkflowScheduled";
      readonly n: number;
      readonly type: string;
      readonly workflowId: string;
      readonly input: Wire;
      readonly queue?: string;
      readonly onParentClose: ParentClosePolicy;
      /** Time limits in milliseconds from the start: of the workflow, and of each of its runs. */
      readonly timeout?: number;
      readonly runTimeout?: number;
      readonly group?: ParallelGroup;
    }
  | {
      readonly kind: "SignalSent";
      readonly n: number;
      readonly workflowId: string;
      readonly name: string;
      readonly input: Wire;
    }
  | { readonly kind: "CancelSent"; readonly n: number; readonly workflowId: string }
  /**
   * The member of a selection that begins with step `base` is cancelled. It counts as no step of the code:
   * `n` is 0.
   */
  | { readonly kind: "SelectionMemberCancelled"; readonly n: 0; readonly base: number }
  /**
   * A remote worker's code receives its cancellation at this call. It counts as no step of the code: `n` is
   * 0. `operation`: the steps that the call awaits, when they began earlier.
   */
  | {
      readonly kind: "CancellationDelivered";
      readonly n: 0;
      readonly id: string;
      readonly sequence: number;
      readonly span: number;
      readonly call: string;
      readonly operation?: { readonly sequence: number; readonly span: number };
    }
  | { readonly kind: "SideEffectRecorded"; readonly n: number; readonly result: Wire }
  | {
      readonly kind: "VersionMarkerRecorded";
      readonly n: number;
      readonly change: string;
      readonly version: number;
      readonly min?: number;
      readonly max?: number;
    }
  | { readonly kind: "SearchAttributesUpserted"; readonly n: number; readonly attributes: Wire }
  | { readonly kind: "MemoUpserted"; readonly n: number; readonly entries: Wire }
  | { readonly kind: "UpdateCompleted"; readonly n: number; readonly id: string; readonly result: Wire }
  | { readonly kind: "UpdateFailed"; readonly n: number; readonly id: string; readonly error: SerializedError }
  | WaitOpened
  | RunEndEvent;

/**
 * Events of remote workers only: the code waits for a condition or a signal. `timer`: the number of the timer
 * that ends the wait; it continues when the same wait is reported again.
 */
export type WaitOpened =
  | {
      readonly kind: "ConditionWaitOpened";
      readonly n: number;
      readonly key?: string;
      readonly fingerprint?: string;
      readonly seconds?: number;
      readonly timer?: number;
    }
  | {
      readonly kind: "SignalWaitOpened";
      readonly n: number;
      readonly name: string;
      readonly seconds?: number;
      readonly timer?: number;
    };

/** The last command of a run. */
export type RunEndEvent =
  | { readonly kind: "WorkflowCompleted"; readonly n: number; readonly result: Wire }
  | { readonly kind: "WorkflowFailed"; readonly n: number; readonly error: SerializedError }
  | { readonly kind: "WorkflowCancelled"; readonly n: number; readonly error: SerializedError }
  | {
      readonly kind: "WorkflowContinuedAsNew";
      readonly n: number;
      readonly type: string;
      readonly input: Wire;
      readonly runId: string;
    };

/** The external events. */
export type ExternalEvent =
  | { readonly kind: "ActivityCompleted"; readonly of: number; readonly result: Wire }
  | { readonly kind: "ActivityFailed"; readonly of: number; readonly error: SerializedError; readonly attempts: number }
  | { readonly kind: "ActivityTimedOut"; readonly of: number; readonly error: SerializedError }
  | { readonly kind: "ActivityCancelled"; readonly of: number; readonly error: SerializedError }
  /** From now on the activity waits in a queue. */
  | {
      readonly kind: "ActivityRetryScheduled";
      readonly of: number;
      readonly attempts: number;
      readonly pause: number;
      readonly error: SerializedError;
    }
  /** `wait`: the number of the wait that this event ends, or that received it. */
  | { readonly kind: "TimerFired"; readonly of: number; readonly wait?: number }
  | { readonly kind: "ChildRunCompleted"; readonly of: number; readonly result: Wire }
  | { readonly kind: "ChildRunFailed"; readonly of: number; readonly error: SerializedError }
  | {
      readonly kind: "SignalReceived";
      readonly id: string;
      readonly name: string;
      readonly input: Wire;
      readonly wait?: number;
    }
  | { readonly kind: "UpdateAccepted"; readonly id: string; readonly name: string; readonly input: Wire }
  /** A remote worker applied the update; its outcome follows. */
  | {
      readonly kind: "UpdateApplied";
      readonly id: string;
      readonly name: string;
      readonly input: Wire;
      readonly wait?: number;
    }
  | { readonly kind: "UpdateRejected"; readonly id: string; readonly name: string; readonly error: SerializedError }
  /** A selection has its winner: the member of step `winner`, decided by event number `by`. */
  | {
      readonly kind: "SelectionResolved";
      readonly winner: number;
      readonly outcome: "completed" | "failed";
      readonly by: number;
    }
  | { readonly kind: "CancelRequested"; readonly reason: string }
  /** A remote worker must cancel the run and clean up before the deadline. `at`: the time of the request. */
  | {
      readonly kind: "CleanupRequested";
      readonly id: string;
      readonly reason: string;
      readonly at: number;
      readonly deadline: number;
    };

export interface Started {
  readonly kind: "WorkflowStarted";
  readonly type: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly input: Wire;
  /** The engine version at the start of the run; see engine-flags.ts. */
  readonly flags: number;
  readonly memo?: Wire;
  readonly attributes?: Wire;
  /** The build that the start named; the runs that continue this one keep it. */
  readonly build?: string;
  readonly parent?: {
    readonly workflowId: string;
    readonly runId: string;
    readonly n: number;
    readonly onClose: ParentClosePolicy;
  };
  readonly continuedFrom?: string;
  /** Ids of the last signals that the previous run handled: a repeated one is ignored. */
  readonly heard?: readonly string[];
  /** The deadline of the run, and of the workflow with all runs that continue it. */
  readonly runTimeoutAt?: number;
  readonly timeoutAt?: number;
}

/** An end that a client, a parent or a timeout wrote, not the worker. */
export type EndedFromOutside =
  | { readonly kind: "WorkflowTerminated"; readonly reason: string }
  | { readonly kind: "WorkflowTimedOut"; readonly reason: string };

export type HistoryEvent = Started | CommandEvent | ExternalEvent | EndedFromOutside;

/** The events of one step and its time, which the workflow's code sees. */
export interface Step {
  readonly at: number;
  readonly events: readonly HistoryEvent[];
  /** The size of its batch, if it was read. */
  readonly bytes?: number;
}

const DECISIONS: ReadonlySet<string> = new Set<CommandEvent["kind"]>([
  "ActivityScheduled",
  "ActorCalled",
  "TimerScheduled",
  "TimerCancelled",
  "ActivityCancelRequested",
  "ChildWorkflowScheduled",
  "SignalSent",
  "CancelSent",
  "SelectionMemberCancelled",
  "CancellationDelivered",
  "SideEffectRecorded",
  "VersionMarkerRecorded",
  "SearchAttributesUpserted",
  "MemoUpserted",
  "UpdateCompleted",
  "UpdateFailed",
  "ConditionWaitOpened",
  "SignalWaitOpened",
  "WorkflowCompleted",
  "WorkflowFailed",
  "WorkflowCancelled",
  "WorkflowContinuedAsNew",
]);

export const isCommandEvent = (event: HistoryEvent): event is CommandEvent => DECISIONS.has(event.kind);

export const isEnd = (event: HistoryEvent): event is RunEndEvent =>
  event.kind === "WorkflowCompleted" ||
  event.kind === "WorkflowFailed" ||
  event.kind === "WorkflowCancelled" ||
  event.kind === "WorkflowContinuedAsNew";

export const writeEventBatch = (step: Step): EventBatch => ({ count: step.events.length, data: JSON.stringify(step) });

export const readEventBatch = (data: string): Step => JSON.parse(data) as Step;
