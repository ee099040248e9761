// One turn: a call on its way through an actor, from the mailbox to the reply. It knows who waits for it (its caller's
// promise), what it is part of (the turn that caused it), and what it waits for (the calls it made).
//
//   queued → running → committing → done      `cancel` answers the caller at once in any state; a turn that already
//                                             runs is asked to stop through its signal, and runs to its end.
import { LimpetError } from "../../kernel/errors.ts";
import { copyError } from "../../kernel/serialized-error.ts";
import type { CallOrigin } from "../routing/call-origin.ts";
import type { InFlightByShard } from "../routing/in-flight-by-shard.ts";
import type { Activation } from "./activation.ts";
import type { Deadlines } from "./deadlines.ts";
import { type CallingActor, madeBy } from "./unhandled-calls.ts";

export type TurnPhase = "queued" | "running" | "committing" | "done";

/** What to run when it is not a method: a timer's callback, a hook. */
export type Work = () => unknown;

export function cancelled(label: string, reason: unknown): LimpetError {
  return new LimpetError("CALL_CANCELLED", `the caller of ${label} gave up`, { cause: reason });
}

/** Where a turn waits before it begins: a mailbox, the waiting room, another host. */
export interface Place {
  /** Nobody waits for it any more. */
  withdraw(turn: Turn): void;
  /** What its caller is told when its time runs out here, if there is more to say than that it did. */
  late?(turn: Turn): LimpetError | undefined;
}

/** What a turn needs to know of the type of its actor. */
export interface TargetType {
  readonly name: string;
  readonly options: { readonly callTimeoutMs: number };
}

/** Who waits for the end of a turn. */
export interface Waiter {
  value(result: unknown): void;
  error(error: unknown): void;
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
  /** The actor that runs it, once it is there. */
  activation: Activation | undefined;
  /** Where it waits, until it begins. */
  place: Place | undefined;
  /** It came from another host, which is told when its actor lives elsewhere, instead of passing it on. */
  rejectNotOwner: (() => void) | undefined;
  /** It was in the waiting room, so that it did not get here when it was made. */
  waited = false;
  /** Those with a lower one came before it, where that matters: in the waiting room, and on the way to sharded actors. */
  arrival = 0;
  /** On its way to a sharded actor, or about to be: with whom. The number counts only together with the lanes. */
  lanes: InFlightByShard | undefined;
  lane = 0;
  /** Why it could not be sent where it belongs. */
  obstacle: string | undefined;
  /** Hosts that have turned it away. */
  hops = 0;
  /** Its number for other hosts, when calls it made are there. */
  number = 0;
  /** The running turn inside which this one runs, by reentrancy, and where the state stood when it began. */
  outer: Turn | undefined;
  mark = 0;
  outboxMark = 0;
  /** Its code has ended while turns inside it still run. */
  ended: (() => void) | undefined;
  /** A turn inside it failed in a way that cannot be taken back alone. */
  doomed: unknown;
  /** Calls it made that are still under way. */
  pending: Set<Turn> | undefined;
  /** The actor that made the call outside of a turn. */
  caller: CallingActor | undefined;

  // Places in the mailbox and in the line of deadlines.
  before: Turn | undefined;
  behind: Turn | undefined;
  earlier: Turn | undefined;
  later: Turn | undefined;
  timed = false;
  /** Which line of deadlines it stands in. */
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

  constructor(
    type: TargetType,
    id: string,
    method: string,
    args: readonly unknown[],
    parent: CallOrigin | undefined,
    timeoutMs: number,
    now: number,
    deadlines: Deadlines,
    work: Work | undefined,
  ) {
    this.type = type;
    this.id = id;
    this.method = method;
    this.args = args;
    this.parent = parent;
    this.work = work;
    this.timeoutMs = timeoutMs;
    const own = now + timeoutMs;
    this.deadlineAt = parent instanceof Turn && parent.deadlineAt < own ? parent.deadlineAt : own;
    this.queuedAt = now;
    this.#deadlines = deadlines;
  }

  /** For people: `Cart/alice.add`. */
  get label(): string {
    return `${this.type.name}/${this.id}.${this.method}`;
  }

  /** The caller's promise. Until then nothing is armed: most turns have ended by the time it is asked for. */
  promise(signal: AbortSignal | undefined): Promise<unknown> {
    if (this.#answer === "value") return Promise.resolve(this.#result);
    if (this.#answer === "error") {
      const rejected = Promise.reject(this.#result);
      this.#noteFailure(rejected);
      return rejected;
    }
    return this.#pendingPromise(signal);
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

  /** The same without a promise, for a caller on another host: it is told at once what is known at once. */
  tell(waiter: Waiter): void {
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
      // A call that only inherits its deadline is cancelled with the turn it is part of.
      if (this.deadlineAt < parent.deadlineAt) this.#deadlines.add(this);
      parent.pending ??= new Set();
      parent.pending.add(this);
    } else if (this.rejectNotOwner === undefined) {
      this.#deadlines.add(this);
    } else {
      // What is left of the time of a call from another host is any number; its own host watches it more closely.
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

  /** What user code sees as `this.signal`. */
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

  /** The caller gives up, or is made to. */
  cancel(reason: LimpetError): void {
    if (this.phase === "done" || this.#cancelled !== undefined) return;
    this.#cancelled = reason;
    if (this.phase === "queued") {
      this.place?.withdraw(this);
      this.phase = "done";
    }
    this.#settle("error", reason);
    this.#controller?.abort(reason);
    if (this.pending === undefined) return;
    for (const child of [...this.pending]) {
      // Whoever made these calls may not have come to wait for each of them yet: it is we who end them now.
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
    // Hooks and timers are the actor's own: what they throw is for the log.
    this.#settle("error", this.work === undefined ? copyError(error) : error);
    if (this.pending !== undefined) this.#leaveBehind(this.pending);
  }

  /** Calls it did not wait for are no longer cancelled with it, so from now on their deadlines are watched. */
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

  /** The code of the actor that made the call may not wait for it. */
  #noteFailure(promise: Promise<unknown>): void {
    const { unhandled } = this.#deadlines;
    if (unhandled === undefined) return;
    const call = madeBy(this, this.parent instanceof Turn ? this.parent : undefined, this.caller);
    if (call !== undefined) unhandled.note(promise, this.#result, call);
  }

  /** Whoever sent it here takes it back: nobody here waits for it any more, and its promise stays open. */
  dismiss(): void {
    this.phase = "done";
    this.#answer = "dismissed";
    this.#deadlines.remove(this);
    this.#unlisten?.();
  }
}
