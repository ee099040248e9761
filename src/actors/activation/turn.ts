// One turn: a call from the mailbox to the reply. It refers to its caller's promise, to the turn that caused
// it, and to the calls it made. The phases are queued → running → committing → done. `cancel` answers the
// caller at once in any phase. A running turn is notified through its signal, and runs to its end.
import { LimpetError } from "../../kernel/errors.ts";
import { copyError } from "../../kernel/serialized-error.ts";
import type { CallOrigin } from "../routing/call-origin.ts";
import { CallRoute } from "../routing/call-route.ts";
import type { Activation } from "./activation.ts";
import type { Deadlines } from "./deadlines.ts";
import { type CallingActor, madeBy } from "./unhandled-calls.ts";

export type TurnPhase = "queued" | "running" | "committing" | "done";

/** Code that is not a method: a timer's callback, a hook. */
export type Work = () => unknown;

export function cancelled(label: string, reason: unknown): LimpetError {
  return new LimpetError("CALL_CANCELLED", `the caller of ${label} gave up`, { cause: reason });
}

/** A turn waits in a place before it begins: a mailbox, the waiting queue, another host. */
export interface TurnHolder {
  /** The caller gave up. */
  withdraw(turn: Turn): void;
  /** A more precise error for a turn that times out here; undefined: CALL_TIMEOUT. */
  late?(turn: Turn): LimpetError | undefined;
}

/** The parts of an actor type that a turn uses. */
export interface TargetType {
  readonly name: string;
  readonly options: { readonly callTimeoutMs: number };
}

/** Receives the result of a turn, without a promise. */
export interface Waiter {
  value(result: unknown): void;
  error(error: unknown): void;
}

/**
 * One literal per turn: all places name the fields in this order, so that V8 knows a single shape. It does
 * not allocate the literal of a local call, as long as the constructor is short enough to be inlined.
 */
export interface TurnOptions {
  readonly type: TargetType;
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
  /** The turn whose code made this call. */
  readonly parent: CallOrigin | undefined;
  readonly timeoutMs: number;
  /** On the monotonic clock. */
  readonly now: number;
  readonly deadlines: Deadlines;
  /** Undefined: the turn runs the method. */
  readonly work: Work | undefined;
}

export class Turn implements CallOrigin {
  readonly type: TargetType;
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
  /** The turn whose code made this call. */
  readonly parent: CallOrigin | undefined;
  readonly work: Work | undefined;
  readonly timeoutMs: number;
  /** On the monotonic clock. */
  readonly deadlineAt: number;
  readonly queuedAt: number;
  startedAt = 0;
  phase: TurnPhase = "queued";
  /** The actor that runs the turn, once routed. */
  activation: Activation | undefined;
  /** The queue that holds the turn, until it begins. */
  holder: TurnHolder | undefined;

  /** Undefined: the call has no place in an order, and was not rejected. */
  route: CallRoute | undefined;
  /** Set for calls from another host: notifies that host that it must route the call again. */
  rejectNotOwner: (() => void) | undefined;
  /** Number of the turn for other hosts, while calls it made are there. */
  number = 0;
  /** The outer turn of a reentrant call, and the savepoints of state and outbox when this turn began. */
  outer: Turn | undefined;
  savepoint = 0;
  outboxSavepoint = 0;
  /** Set when the code has ended while turns inside it still run. */
  ended: (() => void) | undefined;
  /** The error of a nested turn that could not be undone alone. */
  doomed: unknown;
  /** Calls it made that are still in progress. */
  pending: Set<Turn> | undefined;
  /** The actor that made the call outside a turn. */
  caller: CallingActor | undefined;

  // Links of the mailbox and of the list of deadlines.
  before: Turn | undefined;
  behind: Turn | undefined;
  earlier: Turn | undefined;
  later: Turn | undefined;
  timed = false;
  /** Key of the list of deadlines that holds the turn. */
  line = 0;

  readonly #deadlines: Deadlines;
  #controller: AbortController | undefined;
  #cancelled: LimpetError | undefined;
  #answer: "none" | "value" | "error" | "dismissed" = "none";
  #result: unknown;
  #promise: Promise<unknown> | undefined;
  #resolve: ((value: unknown) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #unlisten: (() => void) | undefined;

  constructor(options: TurnOptions) {
    const { parent, timeoutMs, now } = options;
    this.type = options.type;
    this.id = options.id;
    this.method = options.method;
    this.args = options.args;
    this.parent = parent;
    this.work = options.work;
    this.timeoutMs = timeoutMs;
    const own = now + timeoutMs;
    this.deadlineAt = parent instanceof Turn && parent.deadlineAt < own ? parent.deadlineAt : own;
    this.queuedAt = now;
    this.#deadlines = options.deadlines;
  }

  /** For display: `Cart/alice.add`. */
  get label(): string {
    return `${this.type.name}/${this.id}.${this.method}`;
  }

  /** Makes the route if there is none. */
  routed(): CallRoute {
    this.route ??= new CallRoute();
    return this.route;
  }

  /** The caller's promise. Nothing is armed before this call: most turns have ended by then. */
  promise(signal: AbortSignal | undefined): Promise<unknown> {
    if (this.#answer === "value") return Promise.resolve(this.#result);
    return this.#answer === "error" ? this.#rejectedPromise() : this.#pendingPromise(signal);
  }

  #rejectedPromise(): Promise<never> {
    const rejected = Promise.reject(this.#result);
    this.#noteFailure(rejected);
    return rejected;
  }

  #pendingPromise(signal: AbortSignal | undefined): Promise<unknown> {
    this.#arm();
    this.#promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (signal !== undefined) this.#listen(signal);
    return this.#promise;
  }

  /** The same without a promise, for a caller on another host; a known result is reported synchronously. */
  respondTo(waiter: Waiter): void {
    if (this.#answer === "value") {
      waiter.value(this.#result);
    } else if (this.#answer === "error") {
      waiter.error(this.#result);
    } else if (this.#answer === "none") {
      this.#arm();
      this.#resolve = (value) => waiter.value(value);
      this.#reject = (error) => waiter.error(error);
    }
  }

  #arm(): void {
    const { parent } = this;
    if (parent instanceof Turn) {
      // A call that inherits its deadline is cancelled together with its parent turn.
      if (this.deadlineAt < parent.deadlineAt) this.#deadlines.add(this);
      parent.pending ??= new Set();
      parent.pending.add(this);
    } else if (this.rejectNotOwner === undefined) {
      this.#deadlines.add(this);
    } else {
      // The remaining time of a remote call can be any number. Its own host enforces the deadline more
      // precisely.
      this.#deadlines.addOrphan(this);
    }
  }

  #listen(signal: AbortSignal): void {
    const abort = (): void => this.cancel(cancelled(this.label, signal.reason));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    this.#unlisten = () => signal.removeEventListener("abort", abort);
  }

  /** The value of `this.signal` in actor code. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#cancelled !== undefined) this.#controller.abort(this.#cancelled);
    }
    return this.#controller.signal;
  }

  get cancelled(): LimpetError | undefined {
    return this.#cancelled;
  }

  /** Ends the wait of the caller: it gave up, or its deadline passed. */
  cancel(reason: LimpetError): void {
    if (this.phase === "done" || this.#cancelled !== undefined) return;
    this.#cancelled = reason;
    if (this.phase === "queued") {
      this.holder?.withdraw(this);
      this.phase = "done";
    }
    this.#settle("error", reason);
    this.#controller?.abort(reason);
    if (this.pending === undefined) return;
    for (const child of [...this.pending]) {
      // Actor code may not yet await each of these calls. Their rejection is caused here, so it is handled
      // here.
      child.#promise?.catch(() => {});
      child.cancel(reason);
    }
  }

  succeed(value: unknown): void {
    this.phase = "done";
    this.#settle("value", value);
    if (this.pending !== undefined) this.#leaveBehind(this.pending);
  }

  fail(error: unknown): void {
    this.phase = "done";
    // Hooks and timers have no caller: their errors only go to the log.
    this.#settle("error", this.work === undefined ? copyError(error) : error);
    if (this.pending !== undefined) this.#leaveBehind(this.pending);
  }

  /**
   * Calls that the turn did not await are no longer cancelled with it, so they get deadlines of their own.
   */
  #leaveBehind(pending: Set<Turn>): void {
    for (const child of pending) if (!child.timed) this.#deadlines.addOrphan(child);
  }

  #settle(answer: "value" | "error", result: unknown): void {
    if (this.#answer !== "none") return;
    this.#answer = answer;
    this.#result = result;
    if (this.#resolve === undefined) return;
    this.#deadlines.remove(this);
    if (this.parent instanceof Turn) this.parent.pending?.delete(this);
    this.#unlisten?.();
    if (answer === "value") {
      this.#resolve(result);
    } else {
      if (this.#promise !== undefined) this.#noteFailure(this.#promise);
      this.#reject!(result);
    }
  }

  /** Records the failure, because actor code may not await the call. */
  #noteFailure(promise: Promise<unknown>): void {
    const { unhandled } = this.#deadlines;
    if (unhandled === undefined) return;
    const call = madeBy(this, this.parent instanceof Turn ? this.parent : undefined, this.caller);
    if (call !== undefined) unhandled.note(promise, this.#result, call);
  }

  /** The sending host takes the call back: no caller waits here any more, and the promise stays open. */
  dismiss(): void {
    this.phase = "done";
    this.#answer = "dismissed";
    this.#deadlines.remove(this);
    this.#unlisten?.();
  }
}
