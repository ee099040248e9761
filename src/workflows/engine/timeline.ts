// Converts a history for display: each command stands together with its outcome. Pure.
import type { HistoryStep, StepKind, StepState } from "../../ports/workflow-admin.ts";
import type { HistoryEvent, Wire } from "./events.ts";

/** The length of a displayed value. */
const SHOWN_CHARACTERS = 300;

type OpenStep = { -readonly [Key in keyof HistoryStep]: HistoryStep[Key] };

/** A command by its number, an update by its id. */
type Key = number | string;

/**
 * The place of an activity: the queue that it names, and whether it waits there or in the worker of the run.
 */
interface Place {
  readonly n: number | undefined;
  readonly queue: string | undefined;
  readonly isQueued: boolean;
}

/** A step without an outcome yet. */
export type PendingStep = HistoryStep & Place;

/** The step that an event adds. */
interface Beginning extends Partial<HistoryStep> {
  readonly kind: StepKind;
  readonly what: string;
  /** An outcome will follow. */
  readonly key?: Key;
  readonly queue?: string;
  readonly isQueued?: boolean;
}

/** The outcome that an event adds to an earlier step. */
interface Outcome extends Partial<HistoryStep> {
  readonly key: Key;
  readonly state: StepState;
}

export class RunTimeline {
  readonly #steps: OpenStep[] = [];
  readonly #open = new Map<Key, { readonly step: OpenStep; place: Place }>();

  get steps(): readonly HistoryStep[] {
    return this.#steps;
  }

  get pending(): PendingStep[] {
    return [...this.#open.values()].map(({ step, place }) => ({ ...step, ...place }));
  }

  add(number: number, at: number, event: HistoryEvent): void {
    if ("wait" in event && event.wait !== undefined) this.#close({ key: event.wait, state: "done" }, at);
    if (event.kind === "ActivityRetryScheduled") {
      this.#retry(event.of, event.attempts, storedErrorText(event.error), at + event.pause);
      return;
    }
    const outcome = outcomeOf(event);
    if (outcome !== undefined) {
      this.#close(outcome, at);
      return;
    }
    const end = endOf(event);
    if (end !== undefined) for (const key of [...this.#open.keys()]) this.#close({ key, state: "left" }, at);
    this.#begin(number, at, end === undefined ? beginningOf(event) : { ...end, endedAt: at });
  }

  #begin(number: number, at: number, { key, queue, isQueued = false, ...more }: Beginning): void {
    const nothing = { endedAt: undefined, input: undefined, result: undefined, error: undefined, due: undefined };
    const step: OpenStep = { event: number, at, state: "told", failures: 0, ...nothing, ...more };
    this.#steps.push(step);
    if (key === undefined) return;
    step.state = "pending";
    // A remote worker reports the same wait with every task until it ends.
    if (step.kind === "wait") this.#closeSame(step, at);
    this.#open.set(key, { step, place: { n: typeof key === "number" ? key : undefined, queue, isQueued } });
  }

  #closeSame({ what }: HistoryStep, at: number): void {
    for (const [key, { step }] of [...this.#open]) {
      if (step.kind === "wait" && step.what === what) this.#close({ key, state: "done" }, at);
    }
  }

  #close({ key, ...more }: Outcome, at: number): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    this.#open.delete(key);
    const { step } = open;
    const due = step.kind === "timer" ? step.due : undefined;
    Object.assign(step, { endedAt: at, due, error: undefined, ...more });
  }

  #retry(key: Key, failures: number, error: string, due: number): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    open.place = { ...open.place, isQueued: true };
    Object.assign(open.step, { failures, error, due });
  }
}

function outcomeOf(event: HistoryEvent): Outcome | undefined {
  switch (event.kind) {
    case "ActivityCompleted":
    case "ChildRunCompleted":
      return { key: event.of, state: "done", result: shown(event.result) };
    case "ActivityFailed":
      return { key: event.of, state: "failed", error: storedErrorText(event.error), failures: event.attempts };
    case "ActivityTimedOut":
    case "ChildRunFailed":
      return { key: event.of, state: "failed", error: storedErrorText(event.error) };
    case "ActivityCancelled":
    case "ActivityCancelRequested":
    case "TimerCancelled":
      return { key: event.of, state: "cancelled" };
    case "TimerFired":
      return { key: event.of, state: "done" };
    case "UpdateCompleted":
      return { key: event.id, state: "done", result: shown(event.result) };
    case "UpdateFailed":
      return { key: event.id, state: "failed", error: storedErrorText(event.error) };
    default:
      return undefined;
  }
}

function endOf(event: HistoryEvent): Beginning | undefined {
  switch (event.kind) {
    case "WorkflowCompleted":
      return { kind: "end", what: "completed", state: "done", result: shown(event.result) };
    case "WorkflowFailed":
      return { kind: "end", what: "failed", state: "failed", error: storedErrorText(event.error) };
    case "WorkflowCancelled":
      return { kind: "end", what: "cancelled", state: "cancelled", error: storedErrorText(event.error) };
    case "WorkflowContinuedAsNew":
      return { kind: "end", what: `continued as run ${event.runId}`, state: "done", input: shown(event.input) };
    case "WorkflowTerminated":
      return { kind: "end", what: "terminated", state: "failed", error: cut(event.reason) };
    case "WorkflowTimedOut":
      return { kind: "end", what: "timed out", state: "failed", error: cut(event.reason) };
    default:
      return undefined;
  }
}

function beginningOf(event: HistoryEvent): Beginning {
  const input = "input" in event ? shown(event.input) : undefined;
  switch (event.kind) {
    case "WorkflowStarted":
      return { kind: "start", what: event.type, input };
    case "ActivityScheduled": {
      const place = { queue: event.options?.queue, isQueued: event.eager !== true };
      return { kind: "activity", what: event.name, input, key: event.n, ...place };
    }
    case "ActorCalled":
      return { kind: "actor", what: `${event.type}/${event.id}.${event.method}`, input, key: event.n };
    case "TimerScheduled":
      return { kind: "timer", what: "", due: event.at, key: event.n };
    case "ChildWorkflowScheduled":
      return { kind: "child", what: `${event.type} ${event.workflowId}`, input, key: event.n };
    case "UpdateAccepted":
    case "UpdateApplied":
      return { kind: "update", what: event.name, input, key: event.id };
    case "UpdateRejected":
      return { kind: "update", what: event.name, state: "failed", error: storedErrorText(event.error) };
    case "ConditionWaitOpened":
      return { kind: "wait", what: event.key === undefined ? "condition" : `condition ${event.key}`, key: event.n };
    case "SignalWaitOpened":
      return { kind: "wait", what: `signal ${event.name}`, key: event.n };
    case "SignalReceived":
      return { kind: "signal", what: event.name, input };
    case "SignalSent":
      return { kind: "sent", what: `signal ${event.name} to ${event.workflowId}`, input };
    case "CancelSent":
      return { kind: "sent", what: `request to end to ${event.workflowId}` };
    case "CancelRequested":
      return { kind: "cancel", what: event.reason };
    case "SideEffectRecorded":
      return { kind: "note", what: "side effect", result: shown(event.result) };
    case "VersionMarkerRecorded":
      return { kind: "note", what: `version of ${event.change}`, result: String(event.version) };
    case "SearchAttributesUpserted":
      return { kind: "note", what: "attributes", input: shown(event.attributes) };
    case "MemoUpserted":
      return { kind: "note", what: "memo", input: shown(event.entries) };
    default:
      // A newer process wrote this event.
      return { kind: "note", what: event.kind };
  }
}

const cut = (text: string): string => (text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`);

/** The value as JSON; undefined for none. */
export function shown(value: Wire): string | undefined {
  const text = JSON.stringify(value);
  return text === undefined || text === UNDEFINED ? undefined : cut(text);
}

const UNDEFINED = '{"$":"undefined"}';

/** The text of an error, with its name. A wrapper with the same message is replaced by its cause. */
export function storedErrorText(stored: unknown): string {
  const {
    message = "",
    error,
    cause,
  } = (stored ?? {}) as {
    message?: string;
    error?: { name: string };
    cause?: { name: string; message: string };
  };
  const name = error?.name ?? (cause?.message === message ? cause.name : undefined);
  return cut(name === undefined ? message : `${name}: ${message}`);
}
