// One run in the memory of a worker: its execution, how far its history is known, and what its eager activities are up to.
import type { ReminderWrite } from "../../ports/reminders.ts";
import type {
  ActivityOptionsTold,
  CommandEvent,
  ExternalEvent,
  HistoryEvent,
  ParentClosePolicy,
} from "../engine/events.ts";
import type { Execution } from "../engine/execution.ts";
import { signalKey, updateKey } from "../inbox/inbox-messages.ts";

/** Something that is to be recorded. */
export interface Item {
  readonly news: ExternalEvent;
  /** What is written with it. */
  readonly reminders?: readonly ReminderWrite[];
}

/** An activity that was scheduled, and when. */
export interface ScheduledActivity {
  readonly name: string;
  readonly options: ActivityOptionsTold | undefined;
  readonly at: number;
}

export class LoadedRun {
  ref: number;
  readonly execution: Execution;
  /** The number of the last event of the history. */
  last: number;
  /** Arrivals that are in the history. */
  taken: number;
  /** Of the lease on its task; undefined: nobody here has it. */
  token: string | undefined;
  /** What it is bound to. */
  bound: string | undefined;
  /** What was decided when it was started here, and is still to be done. */
  first: readonly CommandEvent[] = [];
  /** How often its task was claimed since it last came to an end: more than once, and whoever had it before is gone. */
  attempt = 1;
  /** The time of its last step. */
  at = 0;
  /** What comes from inside of this process: results of eager activities. */
  readonly items: Item[] = [];
  /** Eager activities that run, each with what ends it. */
  readonly running = new Map<number, AbortController>();
  /** What is to run and does not, because the worker stops: whoever has the task next begins it. */
  readonly leftover = new Set<number>();
  /** It is somebody else's, or will be: nothing that is known of it here counts. */
  isAbandoned = false;
  /** Activities that were scheduled, and those of them that wait in a queue. */
  readonly scheduled = new Map<number, ScheduledActivity>();
  readonly queued = new Set<number>();
  readonly children = new Map<number, { readonly workflowId: string; readonly onParentClose: ParentClosePolicy }>();
  /** Keys of signals and updates that were taken, so that one that is sent again counts once. */
  readonly seen = new Set<string>();
  /** Of the signals among them, in their order; and the last ones that the run before this one had heard. */
  readonly heard: string[] = [];
  #wake: (() => void) | undefined;
  #isNudged = false;

  constructor(ref: number, execution: Execution, last: number, taken: number) {
    this.ref = ref;
    this.execution = execution;
    this.last = last;
    this.taken = taken;
  }

  /** It is stored now, under this name, with so many events. */
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

  /** Roughly what it takes up. */
  get bytes(): number {
    return 4_000 + this.execution.bytes;
  }

  /** There may be something to do. */
  nudge(): void {
    this.#isNudged = true;
    this.#wake?.();
  }

  /** Until somebody nudges it. */
  async nudged(): Promise<void> {
    if (!this.#isNudged) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    this.#isNudged = false;
  }

  /** What the history tells about it beyond the code: activities that wait in a queue, signals that were seen. */
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
        this.#hear(...(event.heard ?? []));
        break;
      case "SignalReceived":
        this.#hear(event.id);
        break;
      case "UpdateAccepted":
      case "UpdateRejected":
        this.seen.add(updateKey(event.id));
        break;
      default:
        break;
    }
  }

  #hear(...ids: readonly string[]): void {
    this.heard.push(...ids);
    for (const id of ids) this.seen.add(signalKey(id));
  }

  /** Whoever runs for it runs for nobody now. */
  abandon(reason: () => unknown): void {
    this.isAbandoned = true;
    // Nearly always nothing runs, and an error is dear.
    if (this.running.size === 0) return;
    const why = reason();
    for (const controller of this.running.values()) controller.abort(why);
    this.running.clear();
  }
}
