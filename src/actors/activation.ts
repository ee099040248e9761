// One actor in memory: from the first call that needs it to the last trace of it.
//
//   cold → activating → active → deactivating → cold        Calls are accepted in every phase. They run in the order
//                                                           they came, one at a time, while the phase is `active`;
//                                                           what waits when it turns cold wakes it up again.
//
// Before the first turn of a stateful actor its epoch is raised in the store (the take). Every commit carries that epoch:
// if somebody else has taken the actor since, the commit is refused, the activation is dropped on the spot and nothing
// more of it runs. It then stays `fenced` for a moment before it takes the actor back, so that two hosts that both get
// calls for it do not snatch it from each other before either can commit. A turn's reply leaves only after its commit; the next turn begins only after that.
import { AsyncLocalStorage } from "node:async_hooks";
import { invariant, LimpetError } from "../kernel/errors.ts";
import { copyValue, isPlainPrimitive } from "../kernel/values.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { CommitOutcome, StateWrite, Taken } from "../ports/store.ts";
import type { ActorContext, DeactivationReason } from "./actor.ts";
import { construct, sever } from "./actor.ts";
import type { ActorType } from "./actor-type.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Caller } from "./group-call.ts";
import { Mailbox } from "./mailbox.ts";
import { admit } from "./reentry.ts";
import type { ActorClass, AnyActor, CallSettings } from "./remote.ts";
import { StateBuffer } from "./state/state-buffer.ts";
import { ActivationTimers } from "./timers.ts";
import type { Work } from "./turn.ts";
import { Turn } from "./turn.ts";

export type ActivationPhase = "cold" | "activating" | "active" | "deactivating" | "fenced";

/** Why an activation ended, as the metrics count it. */
export type EndReason = DeactivationReason | "fenced" | "store" | "failed";

/** What an activation needs of its surroundings. */
export interface Surroundings {
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly deadlines: Deadlines;
  /** How long `onDeactivate` may take. */
  readonly hookTimeoutMs: number;
  /** Nobody stays longer than somebody waits for it. */
  readonly stopping: boolean;
  take(type: string, id: string): Promise<Taken>;
  commit(ref: number, epoch: number, version: number, write: StateWrite, caller: Caller<CommitOutcome>): void;
  handle(type: ActorClass | string, id: string, settings: CallSettings | undefined, caller: Activation): object;
  /** It is cold and nothing waits for it. */
  gone(activation: Activation): void;
}

export function cancelled(label: string, reason: unknown): LimpetError {
  return new LimpetError("CALL_CANCELLED", `the caller of ${label} gave up`, { cause: reason });
}

// In a reentrant actor several turns are under way at once, one inside another, and a call must be charged to the one
// whose code makes it. Asking the runtime costs as much as the rest of a call, so other actors do without.
const codeOf = new AsyncLocalStorage<Turn>();

const neverAborted = new AbortController().signal;
/** Long enough for the other host to commit what it has begun. */
const SHORTEST_STAND_BACK_MS = 1;
const SPREAD_MS = 9;

const thenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

export class Activation implements ActorContext {
  readonly type: ActorType;
  readonly id: string;
  readonly #around: Surroundings;
  phase: ActivationPhase = "cold";
  /** The innermost running turn. */
  running: Turn | undefined;
  /** On the monotonic clock. */
  activeSince = 0;
  lastUsed = 0;
  older: Activation | undefined;
  newer: Activation | undefined;
  #instance: AnyActor | undefined;
  #buffer: StateBuffer | undefined;
  #ref = 0;
  #epoch = 0;
  #version = 0;
  #mailbox: Mailbox | undefined;
  /** Calls that will run inside the running turn, one after another. */
  #inside: Turn[] | undefined;
  #timers: ActivationTimers | undefined;
  #leaving: DeactivationReason | undefined;
  #looping = false;

  constructor(type: ActorType, id: string, around: Surroundings) {
    this.type = type;
    this.id = id;
    this.#around = around;
  }

  // ——— What surrounds it may ask.

  get label(): string {
    return `${this.type.name}/${this.id}`;
  }

  get epoch(): number | undefined {
    return this.#epoch === 0 ? undefined : this.#epoch;
  }

  get version(): number | undefined {
    return this.#epoch === 0 ? undefined : this.#version;
  }

  get waiting(): number {
    return this.#mailbox?.length ?? 0;
  }

  get queued(): Iterable<Turn> {
    return this.#mailbox ?? [];
  }

  get timerNames(): string[] {
    return this.#timers?.list() ?? [];
  }

  /** Active, with nothing to do. */
  get idle(): boolean {
    return this.phase === "active" && this.running === undefined && this.waiting === 0;
  }

  /** The turn whose code runs at this moment. */
  get current(): Turn | undefined {
    if (!this.type.options.reentrant) return this.running;
    const turn = codeOf.getStore();
    return turn?.activation === this && turn.phase === "running" ? turn : this.running;
  }

  newTurn(method: string, args: readonly unknown[], parent: Turn | undefined, timeoutMs: number, work?: Work): Turn {
    const { clock, deadlines } = this.#around;
    return new Turn(this, method, args, parent, timeoutMs, clock.monotonic(), deadlines, work);
  }

  submit(turn: Turn): void {
    if (turn.parent !== undefined && this.#cameBack(turn)) return;
    if (this.phase === "active" && this.running === undefined && this.#mailbox === undefined) {
      this.#start(turn, turn.queuedAt);
      return;
    }
    this.#mailbox ??= new Mailbox();
    const { mailboxLimit } = this.type.options;
    if (this.#mailbox.length >= mailboxLimit) {
      this.#refuse(turn, new LimpetError("MAILBOX_FULL", `${mailboxLimit} calls already wait for ${this.label}`));
      return;
    }
    this.#mailbox.push(turn);
    if (this.phase === "cold") void this.#activate();
  }

  /** Takes a turn that has not begun out of wherever it waits. */
  withdraw(turn: Turn): void {
    const at = this.#inside?.indexOf(turn) ?? -1;
    if (at >= 0) this.#inside!.splice(at, 1);
    else this.#mailbox?.remove(turn);
  }

  /** A call that never got in must not leave an empty place behind. */
  #refuse(turn: Turn, error: LimpetError): void {
    turn.fail(error);
    if (this.phase === "cold" && this.waiting === 0) this.#around.gone(this);
  }

  /** Leaves memory as soon as no turn runs. */
  deactivate(reason: DeactivationReason): void {
    this.#leaving ??= reason;
    this.#next();
  }

  // ——— What the actor may ask.

  get typeName(): string {
    return this.type.name;
  }

  get namespace(): string {
    return this.#around.namespace;
  }

  get state(): object {
    return this.#stateBuffer().draft;
  }

  set state(value: object) {
    this.#stateBuffer().replace(value);
  }

  clear(): void {
    this.#stateBuffer().clear(() => this.#instance!.initial!());
  }

  #stateBuffer(): StateBuffer {
    if (this.#buffer !== undefined && this.running !== undefined) return this.#buffer;
    if (!this.type.stateful) {
      throw new LimpetError(
        "STATE_MISSING",
        `${this.type.name} keeps no state; give it a method initial() that returns some`,
      );
    }
    throw new LimpetError("STATE_OUTSIDE_TURN", `the state of ${this.label} was used outside a turn`);
  }

  get signal(): AbortSignal {
    return this.current?.signal ?? neverAborted;
  }

  get deadline(): number | undefined {
    const turn = this.current;
    if (turn === undefined) return undefined;
    const { clock } = this.#around;
    return Math.round(clock.now() + turn.deadlineAt - clock.monotonic());
  }

  get timers(): ActivationTimers {
    this.#timers ??= new ActivationTimers(this.#around.clock, (name, tick) => this.#tick(name, tick));
    return this.#timers;
  }

  leave(): void {
    this.#leaving ??= "explicit";
  }

  handle(type: ActorClass | string, id: string, settings: CallSettings | undefined): object {
    return this.#around.handle(type, id, settings, this);
  }

  async #tick(name: string, tick: () => unknown): Promise<void> {
    const turn = this.newTurn(`timer ${name}`, [], undefined, this.type.options.callTimeoutMs, tick);
    this.submit(turn);
    try {
      await turn.promise(undefined);
    } catch (err) {
      this.#around.log.warn("timer failed", { type: this.type.name, id: this.id, timer: name, err });
    }
  }

  // ——— Waking up and going to sleep.

  async #activate(): Promise<void> {
    this.phase = "activating";
    const { type } = this;
    try {
      this.#instance = construct(type.actorClass, this);
      if (type.stateful) await this.#take();
      this.activeSince = this.#around.clock.monotonic();
      type.instruments.activations.add(1);
      if (type.hasOnActivate) {
        await this.#runHook("onActivate", type.options.callTimeoutMs, () => this.#instance!.onActivate());
      }
    } catch (error) {
      // A hook that was fenced or whose commit got lost has already ended this activation.
      if (this.phase === "activating") this.#failActivation(error);
      return;
    }
    this.phase = "active";
    this.#next();
  }

  async #take(): Promise<void> {
    const taken = await this.#around.take(this.type.name, this.id);
    this.#ref = taken.ref;
    this.#epoch = taken.epoch;
    this.#version = taken.version;
    this.#buffer = new StateBuffer(taken.state, () => this.#instance!.initial!());
  }

  /** Everybody who waited is told why; the next call tries again. */
  #failActivation(error: unknown): void {
    const waiting = [...this.queued];
    this.#mailbox = undefined;
    this.#end("failed");
    for (const turn of waiting) turn.fail(error);
  }

  /** What happened to the state could not be taken back in memory, so it is read again. */
  async #reload(): Promise<void> {
    this.phase = "activating";
    this.running = undefined;
    try {
      await this.#take();
    } catch (error) {
      this.#failActivation(error);
      return;
    }
    this.phase = "active";
    this.#next();
  }

  async #deactivate(): Promise<void> {
    const reason = this.#leaving!;
    this.phase = "deactivating";
    if (this.type.hasOnDeactivate) {
      try {
        const { hookTimeoutMs } = this.#around;
        await this.#runHook("onDeactivate", hookTimeoutMs, () => this.#instance!.onDeactivate(reason));
      } catch (err) {
        this.#around.log.warn("onDeactivate failed", { type: this.type.name, id: this.id, err });
      }
    }
    if (this.phase === "deactivating") this.#end(reason);
  }

  /** A hook is a turn of its own: what it changes is committed, and taken back if it throws. */
  #runHook(name: string, timeoutMs: number, work: Work): Promise<unknown> {
    const turn = this.newTurn(name, [], undefined, timeoutMs, work);
    this.#start(turn, turn.queuedAt);
    return turn.promise(undefined);
  }

  #end(reason: EndReason): void {
    this.#timers?.end();
    this.#timers = undefined;
    if (this.#instance !== undefined) sever(this.#instance);
    this.#instance = undefined;
    for (const turn of this.#inside ?? []) turn.fail(cancelled(turn.label, reason));
    this.#inside = undefined;
    this.#buffer = undefined;
    this.#epoch = 0;
    this.running = undefined;
    this.#leaving = undefined;
    this.type.instruments.deactivated(reason);
    if (reason === "fenced") this.#standBack();
    else this.#rest();
  }

  #standBack(): void {
    this.phase = "fenced";
    const { clock, random } = this.#around;
    clock.after(SHORTEST_STAND_BACK_MS + random.number() * SPREAD_MS, () => this.#rest());
  }

  #rest(): void {
    this.phase = "cold";
    if (this.waiting > 0) void this.#activate();
    else this.#around.gone(this);
  }

  // ——— Turns.

  #next(): void {
    if (this.#looping) return;
    this.#looping = true;
    while (this.phase === "active" && this.running === undefined) {
      if (this.#mayLeave()) {
        void this.#deactivate();
        break;
      }
      const turn = this.#mailbox?.shift();
      if (turn === undefined) {
        this.#mailbox = undefined;
        break;
      }
      this.#start(turn, this.#around.clock.monotonic());
    }
    this.#looping = false;
  }

  /** Who has to leave because the process stops first answers everybody that waits. */
  #mayLeave(): boolean {
    if (this.#around.stopping) this.#leaving ??= "stop";
    return this.#leaving === "stop" ? this.waiting === 0 : this.#leaving !== undefined;
  }

  #start(turn: Turn, now: number): void {
    turn.phase = "running";
    turn.startedAt = now;
    this.type.instruments.waitSeconds.observe((now - turn.queuedAt) / 1_000);
    this.running = turn;
    let result: unknown;
    try {
      result = this.type.options.reentrant ? codeOf.run(turn, () => this.#run(turn)) : this.#run(turn);
    } catch (error) {
      this.#threw(turn, error);
      return;
    }
    if (!thenable(result)) this.#returned(turn, result);
    else
      result.then(
        (value) => this.#returned(turn, value),
        (error: unknown) => this.#threw(turn, error),
      );
  }

  #run(turn: Turn): unknown {
    if (turn.work !== undefined) return turn.work();
    const instance = this.#instance!;
    return this.type.methodOf(instance, turn.method).apply(instance, turn.args as unknown[]);
  }

  #returned(turn: Turn, value: unknown): void {
    if (this.running !== turn) {
      turn.ended = () => this.#returned(turn, value);
      return;
    }
    if (turn.doomed !== undefined) {
      this.#threw(turn, turn.doomed);
      return;
    }
    let reply: unknown;
    let write: StateWrite | undefined;
    try {
      reply = isPlainPrimitive(value) ? value : copyValue(value, `the result of ${turn.method}`, "RESULT_INVALID");
      if (turn.outer === undefined) write = this.#buffer?.prepare();
    } catch (error) {
      this.#threw(turn, error);
      return;
    }
    if (write !== undefined) {
      this.#commit(turn, write, reply);
      return;
    }
    this.type.instruments.succeeded.add(1);
    turn.succeed(reply);
    this.#over(turn);
  }

  #threw(turn: Turn, error: unknown): void {
    if (this.running !== turn) {
      turn.ended = () => this.#threw(turn, error);
      return;
    }
    this.type.instruments.failed.add(1);
    this.#around.log.debug("turn failed", { type: this.type.name, id: this.id, method: turn.method, err: error });
    let restored = true;
    if (turn.outer === undefined) restored = this.#buffer?.abandon() ?? true;
    else if (this.#buffer?.rollback(turn.mark) === false) turn.outer.doomed = error;
    turn.fail(error);
    // A hook that failed ends the activation anyway.
    if (!restored && this.phase === "active") void this.#reload();
    else this.#over(turn);
  }

  #commit(turn: Turn, write: StateWrite, reply: unknown): void {
    turn.phase = "committing";
    this.#around.commit(this.#ref, this.#epoch, this.#version, write, {
      resolve: (outcome) => this.#committed(turn, outcome, reply),
      reject: (error) => this.#lost(turn, "store", error),
    });
  }

  #committed(turn: Turn, outcome: CommitOutcome, reply: unknown): void {
    if (outcome === "fenced") {
      this.type.instruments.fenced.add(1);
      const message = `${this.label} was taken over by another activation; nothing of this turn was kept`;
      this.#lost(turn, "fenced", new LimpetError("FENCED", message));
      return;
    }
    this.#version++;
    this.#buffer!.committed();
    this.type.instruments.succeeded.add(1);
    turn.succeed(reply);
    this.#over(turn);
  }

  /** What is in memory can no longer be trusted to be what is stored: nothing more of this activation runs. */
  #lost(turn: Turn, reason: EndReason, error: unknown): void {
    this.type.instruments.failed.add(1);
    turn.fail(error);
    this.#end(reason);
  }

  #over(turn: Turn): void {
    const now = this.#around.clock.monotonic();
    this.type.instruments.turnSeconds.observe((now - turn.startedAt) / 1_000);
    this.running = turn.outer;
    if (turn.outer !== undefined) {
      this.#nextInside(turn.outer);
      return;
    }
    this.lastUsed = now;
    this.type.useOrder.touch(this);
    this.#next();
  }

  // ——— Reentrancy.

  /** True when the call belongs to a chain that already runs here, and has been dealt with. */
  #cameBack(turn: Turn): boolean {
    const admission = admit(turn, this.running, this.type.options.reentrant);
    if (admission === "queue") return false;
    if (admission === "enter") {
      this.#enter(turn);
    } else if (admission !== "wait") {
      this.#refuse(turn, admission);
    } else if ((this.#inside?.length ?? 0) >= this.type.options.mailboxLimit) {
      turn.fail(new LimpetError("MAILBOX_FULL", `too many calls wait inside the running turn of ${this.label}`));
    } else {
      this.#inside ??= [];
      this.#inside.push(turn);
    }
    return true;
  }

  #enter(turn: Turn): void {
    invariant(this.running !== undefined, "a turn enters a running one");
    turn.outer = this.running;
    turn.mark = this.#buffer?.mark() ?? 0;
    this.#start(turn, this.#around.clock.monotonic());
  }

  #nextInside(outer: Turn): void {
    const at = this.#inside?.findIndex((turn) => turn.parent!.chainHas((cause) => cause === outer)) ?? -1;
    if (at >= 0) {
      this.#enter(this.#inside!.splice(at, 1)[0]!);
    } else if (outer.ended !== undefined) {
      const finish = outer.ended;
      outer.ended = undefined;
      finish();
    }
  }
}
