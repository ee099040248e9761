// One run in the memory of a worker: its execution, its place in the history, and its eager activities.
import { encodeValue } from "../../kernel/values.ts";
import type { ReminderWrite } from "../../ports/store/reminders.ts";
import type {
  CommandEvent,
  ExternalEvent,
  HistoryEvent,
  ParentClosePolicy,
  SerializedActivityOptions,
} from "../engine/events.ts";
import type { Execution } from "../engine/execution.ts";
import { signalKey, updateKey } from "../inbox/inbox-messages.ts";

/** An event that the next step records. */
export interface Item {
  readonly event: ExternalEvent;
  /** Reminders that are written with it. */
  readonly reminders?: readonly ReminderWrite[];
}

/** A scheduled activity and the time of its command. */
export interface ScheduledActivity {
  readonly name: string;
  readonly options: SerializedActivityOptions | undefined;
  readonly at: number;
}

export class LoadedRun {
  ref: number;
  readonly execution: Execution;
  /** The number of the last event of the history. */
  last: number;
  /** The number of the last inbox message that is in the history. */
  taken: number;
  /** The lease token of its task; undefined: this process does not hold it. */
  token: string | undefined;
  /** The pin of the run. */
  pinned: string | undefined;
  /** Commands of a start in this process that still have to be executed. */
  first: readonly CommandEvent[] = [];
  /** Claims of the task since its last completion. More than one: the previous worker is gone. */
  attempt = 1;
  /** The time of its last step. */
  at = 0;
  /** Events from this process: results of eager activities. */
  readonly items: Item[] = [];
  /** Eager activities that run, each with its abort controller. */
  readonly running = new Map<number, AbortController>();
  /** Eager activities that the stopping worker does not begin; the next worker of the task does. */
  readonly leftover = new Set<number>();
  /** Another worker has the task, or will: nothing of this state may be written. */
  isAbandoned = false;
  /** Scheduled activities, and the queued ones among them. */
  readonly scheduled = new Map<number, ScheduledActivity>();
  readonly queued = new Set<number>();
  readonly children = new Map<number, { readonly workflowId: string; readonly onParentClose: ParentClosePolicy }>();
  /** Keys of handled signals and updates, so that a repeated one counts once. */
  readonly seen = new Set<string>();
  /** Ids of handled signals in order, including the last ones of the previous run. */
  readonly signalIds: string[] = [];
  #wake: (() => void) | undefined;
  #isNudged = false;

  constructor(ref: number, execution: Execution, last: number, taken: number) {
    this.ref = ref;
    this.execution = execution;
    this.last = last;
    this.taken = taken;
  }

  /** The run is stored now, under this ref, with this many events. */
  as(ref: number, last: number): this {
    this.ref = ref;
    this.last = last;
    return this;
  }

  get workflowId(): string {
    return this.execution.started.workflowId;
  }

  get runId(): string {
    return this.execution.started.runId;
  }

  /** The search attributes, encoded for the row of the run. */
  attributesText(): string {
    return encodeValue(this.execution.attributes, "attributes", "WORKFLOW_INVALID");
  }

  memoText(): string {
    return encodeValue(this.execution.memo, "memo", "WORKFLOW_INVALID");
  }

  /** The estimated size. */
  get bytes(): number {
    return 4_000 + this.execution.bytes;
  }

  /** The run may have work. */
  nudge(): void {
    this.#isNudged = true;
    this.#wake?.();
  }

  /** Resolves at the next nudge. */
  async nudged(): Promise<void> {
    if (!this.#isNudged) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    this.#isNudged = false;
  }

  /** Tracks state that the code does not know: queued activities, handled signals, children. */
  note(event: HistoryEvent, at = this.at): void {
    switch (event.kind) {
      case "ActivityScheduled":
        this.scheduled.set(event.n, { name: event.name, options: event.options, at });
        if (event.eager !== true) this.queued.add(event.n);
        break;
      case "ChildWorkflowScheduled":
        this.children.set(event.n, event);
        break;
      case "ChildRunCompleted":
      case "ChildRunFailed":
        this.children.delete(event.of);
        break;
      case "ActivityRetryScheduled":
        this.queued.add(event.of);
        break;
      case "ActivityCompleted":
      case "ActivityFailed":
      case "ActivityTimedOut":
      case "ActivityCancelled":
        this.queued.delete(event.of);
        this.scheduled.delete(event.of);
        break;
      case "WorkflowStarted":
        this.#recordSignals(...(event.heard ?? []));
        break;
      case "SignalReceived":
        this.#recordSignals(event.id);
        break;
      case "UpdateAccepted":
      case "UpdateRejected":
        this.seen.add(updateKey(event.id));
        break;
      default:
        break;
    }
  }

  #recordSignals(...ids: readonly string[]): void {
    this.signalIds.push(...ids);
    for (const id of ids) this.seen.add(signalKey(id));
  }

  /** Aborts all eager activities of the run. */
  abandon(reason: () => unknown): void {
    this.isAbandoned = true;
    // Nearly always nothing runs, and creating an error is expensive.
    if (this.running.size === 0) return;
    const why = reason();
    for (const controller of this.running.values()) controller.abort(why);
    this.running.clear();
  }
}
