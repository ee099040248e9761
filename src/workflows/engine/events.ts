// What a history consists of, and how a page of it is written. Two kinds of events: what the workflow's code *decided* (an activity is to
// run, a timer to start) and what *came from outside* (its result, a signal). A decision has a number `n`, its place among the decisions
// of the run; what comes of it names that number.
//
// Values stand in events in their JSON-ready form (kernel/values.ts), so that a page is one JSON text that a person can read. Names of
// events are those that workers in other languages know. What is written here stays readable for ever: fields are added, never changed.
import type { SerializedError } from "../../kernel/serialized-error.ts";
import type { EventBatch } from "../../ports/workflows.ts";

/** A value in its JSON-ready form. */
export type Wire = unknown;

export interface ActivityOptionsTold {
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

/** Decisions that a worker elsewhere waits for together, as it told of them. */
export interface ParallelGroup {
  readonly id: string;
  readonly kind: string;
  readonly base: number;
  readonly size: number;
  readonly index: number;
  readonly path?: Wire;
}

/** What the code of a workflow decides. */
export type CommandEvent =
  | {
      readonly kind: "ActivityScheduled";
      readonly n: number;
      readonly name: string;
      readonly input: Wire;
      readonly options?: ActivityOptionsTold;
      /** The worker that decided it runs it, and so does whoever has the task after it: it does not wait in a queue. */
      readonly eager?: true;
      /** A worker elsewhere has run it within its workflow task. Its result stands in the same step, and it has no row. */
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
      /** In milliseconds from when it is started: of the workflow, and of each of its runs. */
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
  /** The member of a selection that begins with step `base` is cancelled. It counts as no step of the code: `n` is 0. */
  | { readonly kind: "SelectionMemberCancelled"; readonly n: 0; readonly base: number }
  /**
   * The code of a worker elsewhere gets its cancellation at this call. It counts as no step of the code: `n` is 0. `operation`: the steps
   * that the call waits for, when they began earlier.
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
  | End;

/**
 * What only workers elsewhere tell: that their code waits for a condition, or for a signal. `timer`: the number of the timer that ends
 * it, which goes on when the same wait is told of again.
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

/** The last decision of a run. */
export type End =
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

/** What comes from outside. */
export type ExternalEvent =
  | { readonly kind: "ActivityCompleted"; readonly of: number; readonly result: Wire }
  | { readonly kind: "ActivityFailed"; readonly of: number; readonly error: SerializedError; readonly attempts: number }
  | { readonly kind: "ActivityTimedOut"; readonly of: number; readonly error: SerializedError }
  | { readonly kind: "ActivityCancelled"; readonly of: number; readonly error: SerializedError }
  /** From now on it waits in a queue. */
  | {
      readonly kind: "ActivityRetryScheduled";
      readonly of: number;
      readonly attempts: number;
      readonly pause: number;
      readonly error: SerializedError;
    }
  /** `wait`: of the wait that is over by it, or that it was heard in. */
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
  /** A worker elsewhere has done it; what came of it follows. */
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
  /** A worker elsewhere is to cancel the run and to clean up, until the deadline. `at`: when it was asked for. */
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
  /** Numbered changes of the engine that this run was begun with. */
  readonly flags: number;
  readonly memo?: Wire;
  readonly attributes?: Wire;
  /** The build that it was bound to when it was started; the runs that continue it are, too. */
  readonly build?: string;
  readonly parent?: {
    readonly workflowId: string;
    readonly runId: string;
    readonly n: number;
    readonly onClose: ParentClosePolicy;
  };
  readonly continuedFrom?: string;
  /** Ids of the last signals that the run before it had heard: one of them that is sent again does not count. */
  readonly heard?: readonly string[];
  /** When the run, and when the workflow with all that it continues as, must be over. */
  readonly runTimeoutAt?: number;
  readonly timeoutAt?: number;
}

/** What somebody else than its worker wrote at the end of a run. */
export type EndedFromOutside =
  | { readonly kind: "WorkflowTerminated"; readonly reason: string }
  | { readonly kind: "WorkflowTimedOut"; readonly reason: string };

export type HistoryEvent = Started | CommandEvent | ExternalEvent | EndedFromOutside;

/** Events of one step, and when it was taken: the time that the workflow's code sees. */
export interface Step {
  readonly at: number;
  readonly events: readonly HistoryEvent[];
  /** Of its page, where it was read. */
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

export const isEnd = (event: HistoryEvent): event is End =>
  event.kind === "WorkflowCompleted" ||
  event.kind === "WorkflowFailed" ||
  event.kind === "WorkflowCancelled" ||
  event.kind === "WorkflowContinuedAsNew";

export const writeEventBatch = (step: Step): EventBatch => ({ count: step.events.length, data: JSON.stringify(step) });

export const readEventBatch = (data: string): Step => JSON.parse(data) as Step;
