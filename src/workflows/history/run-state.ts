// The state of a remote worker's run, derived from its history: open steps, the current wait, and whether the
// worker has new events to see. The same history always gives the same state, so a state can be dropped and
// rebuilt at any time. Pure.
//
// A remote worker replays its code from the history with every task, and waits in one place: for a step (an
// activity, a timer, a child), a group of steps, or a condition. It is woken only when that place may have
// changed. Otherwise it would only report its commands again.
import { fromWire, putOwn } from "../../kernel/values.ts";
import type {
  CommandEvent,
  ExternalEvent,
  HistoryEvent,
  ParallelGroup,
  Started,
  Step,
  WaitOpened,
  Wire,
} from "../engine/events.ts";
import { isCommandEvent } from "../engine/events.ts";
import { CLEANUP_KEY, keyOf, signalKey, updateKey } from "../inbox/inbox-messages.ts";
import type { DispatchingRun } from "../worker/command-dispatcher.ts";
import type { ScheduledActivity } from "../worker/loaded-run.ts";
import { selectionOf, stepsOf } from "./selection.ts";

export type StepCommand = Extract<
  CommandEvent,
  { kind: "ActivityScheduled" | "TimerScheduled" | "ChildWorkflowScheduled" }
>;

export interface AcceptedUpdate {
  readonly id: string;
  readonly name: string;
  readonly input: Wire;
}

export type CleanupRequest = Extract<HistoryEvent, { kind: "CleanupRequested" }>;
export type Delivery = Omit<Extract<CommandEvent, { kind: "CancellationDelivered" }>, "kind" | "n">;

/** The events of one step of the history; `from`: the number of the first. */
export interface NumberedStep extends Step {
  readonly from: number;
}

export class RunState implements DispatchingRun {
  readonly ref: number;
  started!: Started;
  startedAt = 0;
  last = 0;
  /**
   * The last event before the worker's latest commands: a worker with the run in memory knows it at least up
   * to here.
   */
  seen = 0;
  /** The time of these commands. */
  decidedAt = 0;
  bytes = 0;
  /** The pin, as the claim of its task returned it. */
  pinned: string | undefined;
  /** The time of the last step. */
  at = 0;
  /** The number of the next command. */
  next = 1;
  readonly history: NumberedStep[] = [];
  /** All steps, including closed ones. */
  readonly steps = new Map<number, StepCommand>();
  readonly open = new Set<number>();
  /** The steps of the latest completion that had any. */
  latest: readonly number[] = [];
  wait: WaitOpened | undefined;
  /** All waits, including closed ones. */
  readonly waits = new Map<number, WaitOpened>();
  readonly updates = new Map<string, AcceptedUpdate>();
  /** The worker has not seen all events. */
  isDue = false;
  isOver = false;
  /** The worker must cancel the run and clean up. */
  cleanup: CleanupRequest | undefined;
  delivered: Extract<CommandEvent, { kind: "CancellationDelivered" }> | undefined;
  /** Selections with a winner. */
  readonly selected = new Set<string>();
  /** The memo after each change, by the number of the command. */
  readonly memos = new Map<number, Readonly<Record<string, unknown>>>();
  /** All activities, including closed ones. */
  readonly queued = new Set<number>();
  readonly scheduled: Map<number, ScheduledActivity> = new Map();
  readonly children: DispatchingRun["children"] = new Map();
  readonly signalIds: string[] = [];
  readonly #seen = new Set<string>();
  readonly #failedGroups = new Set<string>();
  /** Steps that failed or were cancelled. */
  readonly #broken = new Set<number>();
  #memo: Record<string, unknown> = {};
  #attributes: Record<string, unknown> = {};

  constructor(ref: number) {
    this.ref = ref;
  }

  get workflowId(): string {
    return this.started.workflowId;
  }

  get runId(): string {
    return this.started.runId;
  }

  /** In JSON-ready form. */
  get attributes(): Readonly<Record<string, unknown>> {
    return this.#attributes;
  }

  /** In JSON-ready form. */
  get memo(): Readonly<Record<string, unknown>> {
    return this.#memo;
  }

  attributesText(): string {
    return JSON.stringify(this.#attributes);
  }

  memoText(): string {
    return JSON.stringify(this.#memo);
  }

  /** The step completed. A cancelled step did not. */
  isDone(n: number): boolean {
    return this.steps.has(n) && !this.open.has(n) && !this.#broken.has(n);
  }

  /** The view of the run that the dispatcher needs. */
  get execution(): DispatchingRun["execution"] {
    return {
      started: this.started,
      startedAt: this.startedAt,
      awaited: (...kinds) => [...this.#timerOfWait(kinds), ...this.#openOf(kinds)],
      isAwaited: (n) => this.open.has(n),
      memo: fromWire(structuredClone(this.#memo)) as Record<string, unknown>,
      attributes: fromWire(structuredClone(this.#attributes)) as Record<string, unknown>,
      unheard: [],
    };
  }

  #openOf(kinds: readonly CommandEvent["kind"][]): number[] {
    return [...this.open].filter((n) => kinds.includes(this.steps.get(n)!.kind));
  }

  #timerOfWait(kinds: readonly CommandEvent["kind"][]): number[] {
    return kinds.includes("TimerScheduled") && this.wait?.timer !== undefined ? [this.wait.timer] : [];
  }

  /** The worker has work. */
  get needsWorker(): boolean {
    return !this.isOver && (this.isDue || this.updates.size > 0);
  }

  /** The next update to apply; all other work waits for it. */
  get nextUpdate(): AcceptedUpdate | undefined {
    return this.updates.values().next().value;
  }

  append(step: Step, bytes: number): void {
    this.history.push({ ...step, from: this.last + 1 });
    if (step.events.some(isCommandEvent)) [this.seen, this.decidedAt] = [this.last, step.at];
    this.last += step.events.length;
    this.bytes += bytes;
    this.at = Math.max(this.at, step.at);
    const decided: number[] = [];
    for (const event of step.events) {
      if (event.kind === "WorkflowStarted") this.#begin(event, step.at);
      else if (isCommandEvent(event)) this.#decided(event, decided);
      else this.#receive(event);
    }
    if (decided.length > 0) this.latest = decided;
  }

  /** Merges the steps appended from this event on into one step. */
  join(from: number, at: number): void {
    const first = this.history.findLastIndex((step) => step.from === from);
    if (first < 0) return;
    const steps = this.history.splice(first);
    this.history.push({ at, from, events: steps.flatMap(({ events }) => events) });
    this.at = Math.max(this.at, at);
  }

  #begin(started: Started, at: number): void {
    this.started = started;
    this.startedAt = at;
    this.isDue = true;
    this.#recordSignals(...(started.heard ?? []));
    this.#memo = { ...(started.memo as object | undefined) };
    this.#attributes = { ...(started.attributes as object | undefined) };
  }

  #decided(decision: CommandEvent, decided: number[]): void {
    this.next = Math.max(this.next, decision.n + 1);
    if (decision.kind === "UpdateCompleted" || decision.kind === "UpdateFailed") {
      this.updates.delete(decision.id);
      return;
    }
    // A worker that issues commands has passed its wait and has seen all events.
    this.wait = undefined;
    this.isDue = false;
    switch (decision.kind) {
      case "ActivityScheduled":
        if (decision.local !== true) {
          this.scheduled.set(decision.n, { name: decision.name, options: decision.options, at: this.at });
          this.queued.add(decision.n);
        }
        this.#openStep(decision, decided);
        break;
      case "ChildWorkflowScheduled":
        this.children.set(decision.n, decision);
        this.#openStep(decision, decided);
        break;
      case "TimerScheduled":
        this.#openStep(decision, decided);
        break;
      case "ConditionWaitOpened":
      case "SignalWaitOpened":
        this.wait = decision;
        this.waits.set(decision.n, decision);
        decided.push(decision.n);
        break;
      case "SearchAttributesUpserted":
        merge(this.#attributes, decision.attributes);
        break;
      case "MemoUpserted":
        merge(this.#memo, decision.entries);
        this.memos.set(decision.n, { ...this.#memo });
        break;
      case "CancellationDelivered":
        this.#deliver(decision);
        break;
      case "TimerCancelled":
      case "ActivityCancelRequested":
        this.open.delete(decision.of);
        break;
      case "SelectionMemberCancelled":
        this.#cancelMember(decision.base);
        // The code continues when it sees that the member is cancelled.
        this.isDue = true;
        break;
      case "WorkflowCompleted":
      case "WorkflowFailed":
      case "WorkflowCancelled":
      case "WorkflowContinuedAsNew":
        this.isOver = true;
        break;
      default:
        break;
    }
  }

  #openStep(decision: StepCommand, decided: number[]): void {
    this.steps.set(decision.n, decision);
    this.open.add(decision.n);
    decided.push(decision.n);
  }

  #deliver(decision: NonNullable<RunState["delivered"]>): void {
    this.delivered = decision;
    const { from, to } = interrupted(decision);
    for (const n of [...this.open]) if (n >= from && n < to && this.open.delete(n)) this.#broken.add(n);
    // Further commands are numbered from behind the call.
    this.next = Math.max(this.next, decision.sequence + decision.span);
    this.isDue = true;
  }

  #cancelMember(base: number): void {
    const member = selectionOf(this.steps.get(base)?.group)?.member;
    for (const n of member === undefined ? [] : stepsOf(member)) if (this.open.delete(n)) this.#broken.add(n);
  }

  /** Rejects late results and repeated messages. */
  wants(event: ExternalEvent): boolean {
    if (this.isOver) return false;
    if ("of" in event) return this.open.has(event.of) || (event.kind === "TimerFired" && this.wait?.timer === event.of);
    const key = keyOf(event);
    return key === undefined || !this.#seen.has(key);
  }

  #receive(event: Exclude<HistoryEvent, CommandEvent | Started>): void {
    switch (event.kind) {
      case "WorkflowTerminated":
      case "WorkflowTimedOut":
        this.isOver = true;
        break;
      case "TimerFired":
        if (event.wait !== undefined && event.wait === this.wait?.n) {
          this.wait = undefined;
          this.isDue = true;
        } else {
          this.#stepOver(event.of, false);
        }
        break;
      case "ActivityCompleted":
      case "ChildRunCompleted":
        this.#stepOver(event.of, false);
        break;
      case "ActivityFailed":
      case "ActivityTimedOut":
      case "ActivityCancelled":
      case "ChildRunFailed":
        this.#stepOver(event.of, true);
        break;
      case "CleanupRequested":
        this.#seen.add(CLEANUP_KEY);
        this.cleanup = event;
        this.isDue = true;
        break;
      case "SelectionResolved": {
        const selection = selectionOf(this.steps.get(event.winner)?.group);
        if (selection !== undefined) this.selected.add(selection.id);
        this.isDue = true;
        break;
      }
      case "SignalReceived":
        this.#recordSignals(event.id);
        this.#received(event.name);
        break;
      case "UpdateAccepted":
        this.#seen.add(updateKey(event.id));
        this.updates.set(event.id, event);
        break;
      case "UpdateApplied":
        this.#received(undefined);
        break;
      case "UpdateRejected":
        this.#seen.add(updateKey(event.id));
        break;
      default:
        break;
    }
  }

  #recordSignals(...ids: readonly string[]): void {
    this.signalIds.push(...ids);
    for (const id of ids) this.#seen.add(signalKey(id));
  }

  #stepOver(n: number, isFailure: boolean): void {
    if (!this.open.delete(n)) return;
    this.children.delete(n);
    if (isFailure) this.#broken.add(n);
    const step = this.steps.get(n)!;
    const { group } = step;
    const selection = selectionOf(group);
    if (step.kind === "ActivityScheduled" && step.local === true) return;
    if (selection !== undefined) {
      // The code may wait for this member after the selection. Before, the code waits for the winner.
      this.isDue ||= this.selected.has(selection.id);
    } else if (group === undefined) {
      this.isDue = true;
    } else {
      if (isFailure) this.#failedGroups.add(group.id);
      this.isDue ||= this.#failedGroups.has(group.id) || !this.#isGroupOpen(group);
    }
  }

  #isGroupOpen({ id }: ParallelGroup): boolean {
    for (const n of this.open) if (this.steps.get(n)!.group?.id === id) return true;
    return false;
  }

  /** A signal or an applied update wakes a run that waits for a condition, and a run without open steps. */
  #received(name: string | undefined): void {
    const { wait } = this;
    if (wait === undefined) this.isDue ||= this.open.size === 0;
    else this.isDue ||= wait.kind === "ConditionWaitOpened" || wait.name === name;
  }
}

/** Steps that the code no longer awaits: the steps of the call, or the steps that it refers to. */
export function interrupted({ sequence, span, operation }: Delivery): { readonly from: number; readonly to: number } {
  const from = operation?.sequence ?? sequence;
  return { from, to: from + (operation?.span ?? span) };
}

/** A null removes an entry. */
function merge(target: Record<string, unknown>, entries: Wire): void {
  for (const [key, value] of Object.entries(entries as object)) {
    if (value === null) delete target[key];
    else putOwn(target, key, value);
  }
}
