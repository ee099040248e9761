// Turns the commands of a run into writes: timers, queued activities, started runs, and messages to other
// runs. All of it is written in the same transaction as the commands.
import { END_OF_TIME, inTime } from "../../kernel/durations.ts";
import { toWire } from "../../kernel/values.ts";
import type { ReminderWriter } from "../../ports/reminder-writer.ts";
import type { ReminderKey, ReminderWrite } from "../../ports/store/reminders.ts";
import type { InboxMessage, RunStart } from "../../ports/store/workflows.ts";
import { firstLook } from "../activities/limits.ts";
import {
  type ActivityWatch,
  activityType,
  CLEANUP_TIMEOUT,
  type Message,
  type QueuedActivity,
  TIMEOUT_TYPE,
  TIMER_TYPE,
  WATCH_TYPE,
  writeActivity,
} from "../definition/messages.ts";
import { readPin, writePin } from "../definition/pins.ts";
import { ENGINE_FLAGS } from "../engine/engine-flags.ts";
import type { CommandEvent, ExternalEvent, HistoryEvent, RunEndEvent, Started } from "../engine/events.ts";
import { writeEventBatch } from "../engine/events.ts";
import type { Execution } from "../engine/execution.ts";
import { refusalOf, toChildren, toParent } from "../engine/family.ts";
import { inboxMessage, signalKey } from "../inbox/inbox-messages.ts";
import type { LoadedRun } from "./loaded-run.ts";

/** The writes that follow from a step. */
export interface StepWrites {
  readonly reminders: ReminderWrite[];
  readonly starts: RunStart[];
  readonly messages: InboxMessage[];
}

type CleanupRequested = Extract<ExternalEvent, { kind: "CleanupRequested" }>;

/** The part of a run that this file needs: of a run in memory, or of a remote worker's run. */
export interface DispatchingRun
  extends Pick<
    LoadedRun,
    "workflowId" | "runId" | "queued" | "scheduled" | "children" | "signalIds" | "attributesText" | "memoText"
  > {
  /** The pin of the run. */
  readonly pinned?: string;
  /** A cleanup with a deadline was requested. */
  readonly cleanup?: CleanupRequested;
  readonly execution: Pick<
    Execution,
    "started" | "startedAt" | "awaited" | "isAwaited" | "memo" | "attributes" | "unheard"
  >;
}

export interface CommandDispatcherDeps {
  readonly namespace: string;
  readonly queue: string;
  readonly writer: ReminderWriter;
  /** The worker of the run has the code of that type as well. */
  hasType?(type: string): boolean;
}

/** Ids of signals that the next run knows. A sender repeats a signal soon, so it is among these. */
const SIGNAL_IDS = 100;
/** Deliveries are retried without limit, because their data must not be lost. */
const PERSISTENT = { attempts: Number.MAX_SAFE_INTEGER, pause: "1s", longestPause: "1m" } as const;

/** Data in JSON-ready form is written as it is. */
const withData = (write: ReminderWrite, data: string): ReminderWrite =>
  write.kind === "set" ? { ...write, content: { ...write.content, data } } : write;

/** Final outcomes of an activity. */
const ENDS: ReadonlySet<string> = new Set<ExternalEvent["kind"]>([
  ...(["ActivityCompleted", "ActivityFailed", "ActivityTimedOut", "ActivityCancelled"] as const),
]);

export class CommandDispatcher {
  readonly #deps: CommandDispatcherDeps;

  constructor(deps: CommandDispatcherDeps) {
    this.#deps = deps;
  }

  /** A dispatcher for runs of another queue. */
  forQueue(queue: string): CommandDispatcher {
    return queue === this.#deps.queue ? this : new CommandDispatcher({ ...this.#deps, queue });
  }

  #key(type: string, runId: string, n: number): ReminderKey {
    return { namespace: this.#deps.namespace, type, id: runId, name: String(n) };
  }

  #set(key: ReminderKey, at: number | undefined, data: unknown): ReminderWrite {
    // A time outside of the valid range is moved into it.
    const due = at === undefined ? 0 : new Date(inTime(at));
    return this.#deps.writer.set(key, { due, data, onFailure: PERSISTENT });
  }

  /** Adds the writes that follow from the commands of a step. */
  dispatch(writes: StepWrites, run: DispatchingRun, commands: readonly CommandEvent[], now: number): void {
    for (const command of commands) this.#add(writes, run, command, now);
  }

  #add(writes: StepWrites, run: DispatchingRun, command: CommandEvent, now: number): void {
    const { workflowId, runId } = run;
    switch (command.kind) {
      case "ActivityScheduled":
        if (command.eager !== true && command.local !== true) {
          const { n, name, input, options } = command;
          const activity = { workflowId, runId, n, name, input, attempts: 0, scheduledAt: now, options };
          writes.reminders.push(...this.queue(activity, undefined));
        }
        break;
      case "ActivityCancelRequested":
        // An eager activity has no row; its worker aborts it.
        if (run.queued.has(command.of)) writes.reminders.push(...this.#cancelActivity(run, command.of));
        break;
      case "TimerScheduled": {
        const { n, at } = command;
        writes.reminders.push(this.#set(this.#key(TIMER_TYPE, runId, n), at, { workflowId, runId, n }));
        break;
      }
      case "TimerCancelled":
        writes.reminders.push({ kind: "cancel", key: this.#key(TIMER_TYPE, runId, command.of) });
        break;
      case "ChildWorkflowScheduled":
        writes.starts.push(this.#child(run, command, now));
        break;
      case "SignalSent": {
        const id = `${runId}:${command.n}`;
        const { name, input } = command;
        const message = { kind: "SignalReceived", id, name, input } as const;
        writes.messages.push(this.#message(command.workflowId, signalKey(id), message));
        break;
      }
      case "CancelSent": {
        const reason = `workflow ${workflowId} asked for it`;
        writes.messages.push(
          this.#message(command.workflowId, `${runId}:${command.n}`, { kind: "CancelRequested", reason }),
        );
        break;
      }
      default:
        break;
    }
  }

  /**
   * A child is pinned to its parent's build if that worker has the child's type. Children in other queues or
   * of other workers have builds of their own.
   */
  #child(
    run: DispatchingRun,
    command: Extract<CommandEvent, { kind: "ChildWorkflowScheduled" }>,
    now: number,
  ): RunStart {
    const { namespace, queue: own, hasType } = this.#deps;
    const { n, type, input, onParentClose, queue = own, timeout, runTimeout } = command;
    const { workflowId, runId } = run;
    const parent = { workflowId, runId, n, onClose: onParentClose };
    const build = queue === own && hasType?.(type) === true ? readPin(run.pinned).build : undefined;
    // A child that may outlive its parent loses the pin when it continues as new. Otherwise the old code
    // could never be removed.
    const staysPinned = build !== undefined && onParentClose !== "abandon";
    const child = {
      type,
      workflowId: command.workflowId,
      runId: `${runId}-${n}`,
      input,
      parent,
      timeoutAt: timeout === undefined ? undefined : now + timeout,
      runTimeoutAt: runTimeout === undefined ? undefined : now + runTimeout,
    };
    const started = staysPinned ? { ...child, build } : child;
    const start = this.start(started, { ifClosed: "start", queue, at: now, build });
    return { ...start, refusal: refusalOf(namespace, parent, command.workflowId) };
  }

  #message(workflowId: string, key: string, message: Message, runId?: string): InboxMessage {
    return inboxMessage({ namespace: this.#deps.namespace, workflowId, runId, key }, message);
  }

  /** Queues an activity. Its limits, if it has any, are checked from the same moment on. */
  queue(activity: QueuedActivity, at: number | undefined): ReminderWrite[] {
    const { workflowId, runId, n, name, options } = activity;
    const type = activityType(options?.queue ?? this.#deps.queue, name);
    const row = withData(this.#set(this.#key(type, runId, n), at, undefined), writeActivity(activity));
    const look = firstLook(activity);
    return look === undefined ? [row] : [row, this.watch({ workflowId, runId, n, type }, look)];
  }

  watch(watch: ActivityWatch, at: number): ReminderWrite {
    return this.#set(this.#key(WATCH_TYPE, watch.runId, watch.n), at, watch);
  }

  /**
   * Adds the writes that follow from an event from outside. An activity with a recorded outcome needs no
   * timeout and no further attempt. A cleanup has a deadline.
   */
  after(writes: StepWrites, run: DispatchingRun, event: HistoryEvent): void {
    if (event.kind === "CleanupRequested") writes.reminders.push(this.#cleanupLimit(run, event));
    if (!ENDS.has(event.kind) || !("of" in event) || !run.queued.has(event.of)) return;
    const cancels = this.#cancelActivity(run, event.of);
    // The worker of the activity deletes its row, which is enough without a limit check.
    if (cancels.length > 1) writes.reminders.push(...cancels);
  }

  #cleanupLimit({ workflowId, runId }: DispatchingRun, { deadline }: CleanupRequested): ReminderWrite {
    const data = { workflowId, runId, n: CLEANUP_TIMEOUT };
    return this.#set(this.#key(TIMEOUT_TYPE, runId, CLEANUP_TIMEOUT), deadline, data);
  }

  #cancelActivity(run: DispatchingRun, n: number): ReminderWrite[] {
    const activity = run.scheduled.get(n);
    if (activity === undefined) return [];
    const { name, options, at } = activity;
    const type = activityType(options?.queue ?? this.#deps.queue, name);
    const row: ReminderWrite = { kind: "cancel", key: this.#key(type, run.runId, n) };
    if (firstLook({ options, scheduledAt: at }) === undefined) return [row];
    return [row, { kind: "cancel", key: this.#key(WATCH_TYPE, run.runId, n) }];
  }

  /** Builds the start of a run. */
  start(
    given: Omit<Started, "kind" | "flags">,
    how: {
      readonly queue: string;
      readonly at: number;
      readonly ifClosed?: RunStart["ifClosed"];
      readonly build?: string;
      readonly delayMs?: number;
    },
  ): RunStart {
    const delayMs = Math.min(how.delayMs ?? 0, END_OF_TIME - how.at);
    const started: Started = {
      kind: "WorkflowStarted",
      flags: ENGINE_FLAGS,
      ...given,
      timeoutAt: given.timeoutAt === undefined ? undefined : inTime(given.timeoutAt),
      runTimeoutAt: given.runTimeoutAt === undefined ? undefined : inTime(given.runTimeoutAt),
    };
    const { workflowId, runId } = given;
    return {
      namespace: this.#deps.namespace,
      workflowId,
      runId,
      type: given.type,
      queue: how.queue,
      pinned: writePin({ build: how.build, definition: undefined }),
      // The first event has the time of the delayed start.
      first: writeEventBatch({ at: how.at + delayMs, events: [started] }),
      attributes: JSON.stringify(given.attributes ?? {}),
      memo: JSON.stringify(given.memo ?? {}),
      delayMs,
      ifClosed: how.ifClosed ?? "start",
      lease: undefined,
      refusal: undefined,
      reminders: this.#limit(started),
    };
  }

  #limit({ workflowId, runId, timeoutAt, runTimeoutAt }: Started): ReminderWrite[] {
    const at = Math.min(runTimeoutAt ?? Number.POSITIVE_INFINITY, timeoutAt ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(at) ? [this.#set(this.#key(TIMEOUT_TYPE, runId, 0), at, { workflowId, runId, n: 0 })] : [];
  }

  /** The time limits of an open run. */
  limits(run: DispatchingRun): ReminderWrite[] {
    const { cleanup, execution } = run;
    return [...this.#limit(execution.started), ...(cleanup === undefined ? [] : [this.#cleanupLimit(run, cleanup)])];
  }

  /**
   * Adds the writes that follow from the end of a run: its timers and activities are cancelled, its parent
   * and children are notified. `nextQueue`: the queue of the next run, if it changes.
   */
  atEnd(writes: StepWrites, run: DispatchingRun, end: RunEndEvent, now: number, nextQueue?: string): void {
    const { execution, runId } = run;
    const { started } = execution;
    const { reminders, messages } = writes;
    for (const n of execution.awaited("TimerScheduled")) {
      reminders.push({ kind: "cancel", key: this.#key(TIMER_TYPE, runId, n) });
    }
    for (const n of execution.awaited("ActivityScheduled")) reminders.push(...this.#cancelActivity(run, n));
    if (started.runTimeoutAt !== undefined || started.timeoutAt !== undefined) {
      reminders.push({ kind: "cancel", key: this.#key(TIMEOUT_TYPE, runId, 0) });
    }
    if (run.cleanup !== undefined) {
      reminders.push({ kind: "cancel", key: this.#key(TIMEOUT_TYPE, runId, CLEANUP_TIMEOUT) });
    }
    const { namespace, queue } = this.#deps;
    messages.push(...toChildren(namespace, run, run.children));
    if (end.kind === "WorkflowContinuedAsNew") this.#continue(writes, run, end, now, nextQueue ?? queue);
    else messages.push(...toParent(namespace, started, end));
  }

  /** The next run of the workflow, with the unhandled signals. */
  #continue(
    writes: StepWrites,
    run: DispatchingRun,
    end: Extract<RunEndEvent, { kind: "WorkflowContinuedAsNew" }>,
    now: number,
    queue: string,
  ): void {
    const { execution, workflowId } = run;
    const { started } = execution;
    const { timeoutAt, runTimeoutAt, parent, build } = started;
    const left = new Set(execution.unheard.map(({ id }) => id));
    const heard = run.signalIds.filter((id) => !left.has(id)).slice(-SIGNAL_IDS);
    const next = {
      type: end.type,
      workflowId,
      runId: end.runId,
      input: end.input,
      memo: toWire(execution.memo, "memo", "WORKFLOW_INVALID"),
      attributes: toWire(execution.attributes, "attributes", "WORKFLOW_INVALID"),
      continuedFrom: started.runId,
      heard: heard.length > 0 ? heard : undefined,
      build,
      parent,
      timeoutAt,
      runTimeoutAt: runTimeoutAt === undefined ? undefined : now + (runTimeoutAt - execution.startedAt),
    };
    writes.starts.push(this.start(next, { queue, at: now, build }));
    for (const { id, name, input } of execution.unheard) {
      const wire = toWire(input, "the input", "WORKFLOW_INVALID");
      writes.messages.push(
        this.#message(workflowId, signalKey(id), { kind: "SignalReceived", id, name, input: wire }, end.runId),
      );
    }
  }
}
