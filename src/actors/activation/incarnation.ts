// One life of an actor: an instance of its class, its state, and the turns that run on it.
//
// A stateful actor raises its epoch in the store before its first turn (the take). Every commit carries that
// epoch. If another host has taken the actor since, the store rejects the commit and this life ends at once.
// A turn's reply leaves only after its commit; the next turn begins only after that. An ended life is cut
// off: its code may still run, but reaches nothing, least of all the next life.
import { AsyncLocalStorage } from "node:async_hooks";
import { checkCallSize, LIGHT } from "../../kernel/call-size.ts";
import { invariant, LimpetError } from "../../kernel/errors.ts";
import { copiedWeight, copyValue, isPlainPrimitive, isWeightless } from "../../kernel/values.ts";
import type { DeactivationReason, EndReason } from "../../ports/actor-host.ts";
import type { CommitVerdict, StateWrite } from "../../ports/store/store.ts";
import type { ActivationDeps } from "../activation-deps.ts";
import { Actor, type ActorContext, construct } from "../actor.ts";
import { type ActorReminders, TurnReminders } from "../outbox/actor-reminders.ts";
import { type ActorWorkflows, TurnWorkflows } from "../outbox/actor-workflows.ts";
import {
  dataOf,
  noHandler,
  ownError,
  REMIND,
  type RemindArguments,
  SETTLED,
  settlementOf,
  tickOf,
  UNSETTLED,
} from "../outbox/remind.ts";
import { type Outgoing, TurnOutbox } from "../outbox/turn-outbox.ts";
import { chainHas } from "../routing/call-origin.ts";
import { MissingMethod } from "../routing/missing-method.ts";
import type { ActorClass, AnyActor, CallSettings } from "../routing/remote.ts";
import { StateBuffer } from "../state/state-buffer.ts";
import type { Activation } from "./activation.ts";
import { Committing } from "./committing.ts";
import { LONG_MS } from "./long-turns.ts";
import { ActivationTimers } from "./timers.ts";
import { cancelled, type Turn } from "./turn.ts";

// A reentrant actor has several nested turns in progress, and a call belongs to the turn of the code that
// makes it. Asking the runtime costs as much as the rest of a call, so only reentrant actors pay for it.
const codeOf = new AsyncLocalStorage<Turn>();

const KEEP: StateWrite = { kind: "keep" };

const neverAborted = new AbortController().signal;

/** The promise that a method returned, if any. A foreign thenable may do anything, so it is wrapped. */
function promiseOf(result: unknown): Promise<unknown> | undefined {
  if (result instanceof Promise) return result;
  const thenable = typeof result === "object" && result !== null && "then" in result;
  return thenable && typeof result.then === "function" ? Promise.resolve(result) : undefined;
}

/** A copy of the method's result, checked against the size limit of messages. Throws RESULT_INVALID. */
function replyOf({ method, work }: Turn, value: unknown): unknown {
  const isPlain = isPlainPrimitive(value);
  const reply = isPlain ? value : copyValue(value, `the result of ${method}`, "RESULT_INVALID");
  const weight = typeof value === "string" ? value.length : isPlain ? 0 : copiedWeight();
  if (weight > LIGHT && work === undefined) checkCallSize(reply, "the result", "RESULT_INVALID");
  return reply;
}

/** Answer to the caller of a turn that ran when its host lost its lease. */
export const lostLease = (turn: Turn): LimpetError =>
  new LimpetError("LEASE_LOST", `this host lost its lease while ${turn.label} ran; nothing of this turn was kept`);

export class Incarnation implements ActorContext {
  readonly #activation: Activation;
  readonly #deps: ActivationDeps;
  readonly #instance: AnyActor;
  /** The innermost running turn. */
  running: Turn | undefined;
  /** A call has been answered in this life. */
  served = false;
  #buffer: StateBuffer | undefined;
  #ref = 0;
  #epoch = 0;
  #version = 0;
  /** Calls that will run inside the running turn, one by one. */
  #inside: Turn[] | undefined;
  #enteringInside = false;
  #timers: ActivationTimers | undefined;
  #reminders: TurnReminders | undefined;
  #workflows: TurnWorkflows | undefined;
  #outbox: TurnOutbox | undefined;
  /** Ticks of timers that wait or run. */
  #ticks: Set<Turn> | undefined;
  /** The turn that called `passivate()`. */
  #parting: Turn | undefined;
  #over = false;

  constructor(activation: Activation, deps: ActivationDeps) {
    this.#activation = activation;
    this.#deps = deps;
    this.#instance = construct(activation.type.actorClass, this);
  }

  async take(): Promise<void> {
    const { type, id } = this.#activation;
    const taken = await this.#deps.store.take(type.name, id);
    this.#ref = taken.ref;
    this.#epoch = taken.epoch;
    this.#version = taken.version;
    this.#buffer = new StateBuffer(taken.state, () => this.#instance.initial!());
  }

  get epoch(): number | undefined {
    return this.#epoch === 0 ? undefined : this.#epoch;
  }

  get version(): number | undefined {
    return this.#epoch === 0 ? undefined : this.#version;
  }

  get timerNames(): string[] {
    return this.#timers?.list() ?? [];
  }

  /** A hook runs as a turn of its own: its changes are committed, or undone if it throws. */
  runHook(hook: "onActivate", timeoutMs: number): Promise<unknown>;
  runHook(hook: "onDeactivate", timeoutMs: number, reason: DeactivationReason): Promise<unknown>;
  runHook(hook: "onActivate" | "onDeactivate", timeoutMs: number, reason?: DeactivationReason): Promise<unknown> {
    const turn = this.#activation.ownTurn(hook, timeoutMs, () => this.#instance[hook](reason!));
    this.run(turn, turn.queuedAt);
    return turn.promise(undefined);
  }

  end(reason: EndReason): void {
    this.#over = true;
    if (this.running !== undefined) this.#noteLong(this.running);
    this.#timers?.end();
    for (const tick of this.#ticks ?? []) tick.cancel(cancelled(tick.label, reason));
    for (const turn of this.#inside ?? []) turn.fail(cancelled(turn.label, reason));
    this.#inside = undefined;
  }

  #noteLong(turn: Turn): void {
    const now = this.#deps.clock.monotonic();
    if (now - turn.startedAt >= LONG_MS) this.#deps.longTurns.ended(turn.label, turn.startedAt, now);
  }

  // ——— The context of actor code.

  get id(): string {
    return this.#activation.id;
  }

  get typeName(): string {
    return this.#activation.type.name;
  }

  get namespace(): string {
    return this.#deps.namespace;
  }

  get state(): object {
    return this.#stateBuffer().draft;
  }

  set state(value: object) {
    this.#stateBuffer().replace(value);
  }

  clear(): void {
    this.#stateBuffer().clear(() => this.#instance.initial!());
  }

  #stateBuffer(): StateBuffer {
    if (this.#buffer !== undefined && this.running !== undefined && !this.#over) return this.#buffer;
    const { type, label } = this.#activation;
    if (!type.stateful) {
      throw new LimpetError(
        "STATE_MISSING",
        `${type.name} keeps no state; give it a method initial() that returns some`,
      );
    }
    throw new LimpetError("STATE_OUTSIDE_TURN", `the state of ${label} was used outside a turn`);
  }

  get signal(): AbortSignal {
    return this.current?.signal ?? neverAborted;
  }

  get deadline(): number | undefined {
    const turn = this.current;
    if (turn === undefined) return undefined;
    const { clock } = this.#deps;
    return Math.round(clock.now() + turn.deadlineAt - clock.monotonic());
  }

  get timers(): ActivationTimers {
    if (this.#over) throw new LimpetError("STATE_OUTSIDE_TURN", `this life of ${this.#activation.label} is over`);
    this.#timers ??= new ActivationTimers(this.#deps.clock, (name, tick) => this.#tick(name, tick));
    return this.#timers;
  }

  get reminders(): ActorReminders {
    const { namespace, typeName, id } = this;
    const book = this.#deps.features.reminders;
    this.#reminders ??= new TurnReminders({
      namespace,
      typeName,
      id,
      book,
      hasHandler: this.#instance.onReminder !== Actor.prototype.onReminder,
      outbox: () => this.#turnOutbox("reminders"),
    });
    return this.#reminders;
  }

  get workflows(): ActorWorkflows {
    this.#workflows ??= new TurnWorkflows(this.#deps.features.workflows, () => this.#turnOutbox("workflows"));
    return this.#workflows;
  }

  #turnOutbox(what: string): TurnOutbox {
    if (this.running === undefined || this.#over) {
      throw new LimpetError("STATE_OUTSIDE_TURN", `the ${what} of ${this.#activation.label} were used outside a turn`);
    }
    this.#outbox ??= new TurnOutbox();
    return this.#outbox;
  }

  async #tick(name: string, tick: () => unknown): Promise<void> {
    const { type, id } = this.#activation;
    const turn = this.#activation.ownTurn(`timer ${name}`, type.options.callTimeoutMs, tick);
    this.#ticks ??= new Set();
    this.#ticks.add(turn);
    this.#activation.submit(turn);
    try {
      await turn.promise(undefined);
    } catch (err) {
      if (!this.#over) this.#deps.log.warn("timer.failed", { type: type.name, id, timer: name, err });
    } finally {
      this.#ticks.delete(turn);
    }
  }

  leave(): void {
    if (!this.#over) this.#activation.deactivate("explicit");
  }

  passivate(): void {
    const turn = this.current;
    if (turn === undefined || this.#over) {
      throw new LimpetError("STATE_OUTSIDE_TURN", `${this.#activation.label} called passivate() outside a turn`);
    }
    this.#parting = turn;
  }

  handle(type: ActorClass | string, id: string, settings: CallSettings | undefined): object {
    return this.#deps.calls.handle(type, id, settings, this);
  }

  /** The turn whose code runs at this moment. */
  get current(): Turn | undefined {
    if (!this.#activation.type.options.reentrant) return this.running;
    const turn = codeOf.getStore();
    return turn?.activation === this.#activation && turn.phase === "running" ? turn : this.running;
  }

  // ——— Turns.

  run(turn: Turn, now: number): void {
    const { type } = this.#activation;
    turn.phase = "running";
    turn.startedAt = now;
    type.instruments.waitSeconds.observe((now - turn.queuedAt) / 1_000);
    this.running = turn;
    let result: unknown;
    let promise: Promise<unknown> | undefined;
    try {
      result = type.options.reentrant ? this.#executeInside(turn) : this.#execute(turn);
      promise = promiseOf(result);
    } catch (error) {
      this.#threw(turn, error);
      return;
    }
    if (promise === undefined) this.#returned(turn, result);
    else this.#await(turn, promise);
  }

  // Closures are in methods of their own: a function that contains one allocates its context in every call.

  #executeInside(turn: Turn): unknown {
    return codeOf.run(turn, () => this.#execute(turn));
  }

  #await(turn: Turn, promise: Promise<unknown>): void {
    promise.then(
      (value) => {
        if (this.#lasted()) this.#returned(turn, value);
        else this.#ifKept(() => this.#returned(turn, value));
      },
      (error: unknown) => {
        if (this.#lasted()) this.#threw(turn, error);
        else this.#ifKept(() => this.#threw(turn, error));
      },
    );
  }

  /** False: the turn outlasted the lease of its host, so its result does not count. */
  #lasted(): boolean {
    return this.#over || this.#deps.routing.mayCommit();
  }

  #ifKept(goOn: () => void): void {
    this.#deps.routing.confirmLease((isKept) => {
      if (isKept) goOn();
      else if (!this.#over) this.#activation.cutOff("lease", lostLease);
    });
  }

  #execute(turn: Turn): unknown {
    if (turn.work !== undefined) return turn.work();
    const instance = this.#instance;
    if (turn.method === REMIND) return this.#remind(turn.args as RemindArguments);
    return this.#activation.type.methodOf(instance, turn.method).apply(instance, turn.args as unknown[]);
  }

  #remind(args: RemindArguments): unknown {
    const data = dataOf(args);
    // A row may be older than this code. The tick fails by its policy, and its dead letter names the reason.
    if (this.#instance.onReminder === Actor.prototype.onReminder) throw noHandler(this.typeName);
    const result = this.#instance.onReminder(args[0], data, tickOf(args));
    // The return value of the handler is ignored.
    return result instanceof Promise ? result.then(() => undefined) : undefined;
  }

  /** The code has ended while turns inside it still run; the turn ends after them. */
  #returnLater(turn: Turn, value: unknown): void {
    turn.ended = () => this.#returned(turn, value);
  }

  /** Results of an ended life are ignored. */
  #returned(turn: Turn, value: unknown): void {
    if (this.#over) return;
    if (this.running !== turn) {
      this.#returnLater(turn, value);
      return;
    }
    if (turn.doomed !== undefined) {
      this.#threw(turn, turn.doomed);
      return;
    }
    let reply: unknown;
    let write: StateWrite | undefined;
    try {
      reply = isWeightless(value) ? value : replyOf(turn, value);
      if (turn.outer === undefined) write = this.#buffer?.prepare();
    } catch (error) {
      this.#threw(turn, error);
      return;
    }
    const outgoing = turn.outer === undefined ? this.#outbox?.take() : undefined;
    if (write === undefined && outgoing === undefined)
      this.#succeeded(turn, turn.method === REMIND ? UNSETTLED : reply);
    else if (this.#buffer === undefined) this.#write(turn, outgoing!, reply);
    else this.#commit(turn, write ?? KEEP, outgoing, reply);
  }

  /** Without state no fence is possible: reminders and workflows of the turn are written on their own. */
  #write(turn: Turn, { reminders = [], starts = [], arrivals = [] }: Outgoing, reply: unknown): void {
    turn.phase = "committing";
    const { reminders: book, workflows } = this.#deps.features;
    const written: Promise<unknown>[] = reminders.map((write) => book!.write(write));
    if (starts.length > 0 || arrivals.length > 0) written.push(workflows!.write(starts, arrivals));
    Promise.all(written).then(
      () => this.#succeeded(turn, turn.method === REMIND ? UNSETTLED : reply),
      (error: unknown) => this.lost(turn, "store", error),
    );
  }

  #threw(turn: Turn, error: unknown): void {
    if (this.#over) return;
    if (this.running === turn) this.#failed(turn, turn.method === REMIND ? ownError(error) : error);
    else turn.ended = () => this.#threw(turn, error);
  }

  #failed(turn: Turn, error: unknown): void {
    const { type, id, phase } = this.#activation;
    if (this.#parting === turn) this.#parting = undefined;
    type.instruments.failed.add(1);
    this.#deps.log.debug("turn.failed", { type: type.name, id, method: turn.method, err: error });
    const restored = this.#takeBack(turn, error);
    if (!(error instanceof MissingMethod) || !this.#deps.routing.askElsewhere(turn, error)) turn.fail(error);
    // A failed hook ends this life anyway.
    if (restored || phase !== "active") {
      this.#turnOver(turn);
    } else {
      this.running = undefined;
      void this.#activation.reload();
    }
  }

  /** False: the turn's changes are still in memory, so the state must be read again. */
  #takeBack(turn: Turn, error: unknown): boolean {
    this.#outbox?.rollback(turn.outer === undefined ? 0 : turn.outboxMark);
    try {
      if (turn.outer === undefined) return this.#buffer?.abandon() ?? true;
      if (this.#buffer?.rollback(turn.mark) === false) turn.outer.doomed = error;
    } catch (err) {
      this.#deps.log.error("turn.rollback-failed", { type: this.typeName, id: this.id, err });
      if (turn.outer === undefined) return false;
      turn.outer.doomed = error;
    }
    return true;
  }

  #commit(turn: Turn, write: StateWrite, outgoing: Outgoing | undefined, reply: unknown): void {
    if (!this.#deps.routing.mayCommit()) {
      this.#deps.routing.confirmLease((isKept) => {
        if (this.#over) return;
        if (isKept) this.#commit(turn, write, outgoing, reply);
        else this.lost(turn, "lease", lostLease(turn));
      });
      return;
    }
    turn.phase = "committing";
    // A handled reminder is settled in the same commit as its handler's changes.
    const settle = turn.method === REMIND ? [settlementOf(turn.args as RemindArguments)] : undefined;
    const sent = outgoing?.reminders && this.#deps.features.reminders!.send(outgoing.reminders);
    const extras =
      settle === undefined && outgoing === undefined ? undefined : { settle, ...outgoing, reminders: sent?.writes };
    const caller = new Committing(this, turn, settle === undefined ? reply : SETTLED, outgoing, sent);
    this.#deps.store.commit(this.#ref, this.#epoch, this.#version, write, extras, caller);
  }

  committed(turn: Turn, outcome: CommitVerdict, reply: unknown, outgoing: Outgoing | undefined): void {
    if (outcome === "fenced") {
      const { type, label } = this.#activation;
      type.instruments.fenced.add(1);
      const message = `${label} was taken over by another activation; nothing of this turn was kept`;
      this.lost(turn, "fenced", new LimpetError("FENCED", message));
      return;
    }
    if (outcome === "void") {
      this.#refused(turn);
      return;
    }
    this.#version++;
    this.#buffer!.committed();
    if (outgoing?.starts !== undefined || outgoing?.arrivals !== undefined) this.#deps.features.workflows!.written();
    this.#succeeded(turn, reply);
  }

  /**
   * The tick was replaced, cancelled or claimed by another process, so the turn does not count and is undone.
   */
  #refused(turn: Turn): void {
    const [name] = turn.args as RemindArguments;
    const message = `the reminder ${name} of ${this.#activation.label} was replaced, cancelled or claimed by another process`;
    const error = new LimpetError("REMINDER_VOID", `${message} while it was handled; nothing of this turn was kept`);
    if (this.#over) turn.fail(error);
    else this.#failed(turn, error);
  }

  /** The state in memory may differ from the stored state: no more code of this life runs. */
  lost(turn: Turn, reason: EndReason, error: unknown): void {
    this.#activation.type.instruments.failed.add(1);
    turn.fail(error);
    if (!this.#over) this.#activation.end(reason, this.#deps.clock.monotonic() - turn.startedAt);
  }

  #succeeded(turn: Turn, reply: unknown): void {
    if (this.#parting !== turn || !this.#part(turn, reply)) this.#conclude(turn, reply);
  }

  /** The actor leaves memory. True: the reply waits until the actor is no longer remembered. */
  #part(turn: Turn, reply: unknown): boolean {
    // A nested turn counts only after its outer turn has succeeded.
    this.#parting = turn.outer;
    if (turn.outer !== undefined || this.#over) return false;
    this.#activation.deactivate("explicit");
    const forgotten = this.#activation.forget();
    if (forgotten === undefined) return false;
    turn.phase = "committing";
    forgotten.then(
      () => this.#conclude(turn, reply),
      (error: unknown) => this.lost(turn, "store", this.#notForgotten(turn, error)),
    );
    return true;
  }

  #notForgotten(turn: Turn, cause: unknown): LimpetError {
    const message = `${turn.label} has ended, but it is not known whether its actor is still remembered; its host may start it again`;
    return new LimpetError("COMMIT_UNKNOWN", message, { cause });
  }

  #conclude(turn: Turn, reply: unknown): void {
    this.#activation.type.instruments.succeeded.add(1);
    turn.succeed(reply);
    if (!this.#over) this.#turnOver(turn);
  }

  #turnOver(turn: Turn): void {
    const now = this.#deps.clock.monotonic();
    const tookMs = now - turn.startedAt;
    this.#activation.type.instruments.turnSeconds.observe(tookMs / 1_000);
    if (tookMs >= LONG_MS) this.#deps.longTurns.ended(turn.label, turn.startedAt, now);
    this.running = turn.outer;
    if (turn.work === undefined) this.served = true;
    if (turn.outer === undefined) this.#activation.turnOver(turn, now);
    else this.#nextInside(turn.outer);
  }

  // ——— Reentrancy: turns inside the running turn.

  enter(turn: Turn): void {
    invariant(this.running !== undefined, "a turn enters a running one");
    turn.outer = this.running;
    turn.mark = this.#buffer?.mark() ?? 0;
    turn.outboxMark = this.#outbox?.mark() ?? 0;
    this.run(turn, this.#deps.clock.monotonic());
  }

  waitInside(turn: Turn): void {
    this.#inside ??= [];
    if (this.#inside.length < this.#activation.type.options.mailboxLimit) {
      this.#inside.push(turn);
    } else {
      const message = `too many calls wait inside the running turn of ${this.#activation.label}`;
      turn.fail(new LimpetError("MAILBOX_FULL", message));
    }
  }

  /** False: the turn does not wait here. */
  withdraw(turn: Turn): boolean {
    const at = this.#inside?.indexOf(turn) ?? -1;
    if (at >= 0) this.#inside!.splice(at, 1);
    return at >= 0;
  }

  #nextInside(outer: Turn): void {
    // A turn that ends at once re-enters this method while the loop below still runs; the loop continues by
    // itself.
    if (this.#enteringInside) return;
    this.#enteringInside = true;
    while (this.running === outer) {
      const at = this.#inside?.findIndex((turn) => chainHas(turn.parent, (cause) => cause === outer)) ?? -1;
      if (at < 0) break;
      this.enter(this.#inside!.splice(at, 1)[0]!);
    }
    this.#enteringInside = false;
    if (this.running === outer && outer.ended !== undefined) {
      const finish = outer.ended;
      outer.ended = undefined;
      finish();
    }
  }
}
