// One life of an actor: an instance of its class, its state, and the turns that run on it.
//
// A stateful actor raises its epoch in the store before its first turn (the take). Every commit carries that
// epoch. If another host has taken the actor since, the store rejects the commit and this life ends at once.
// A turn's reply leaves only after its commit; the next turn begins only after that. An ended life is cut
// off: its code may still run, but reaches nothing, least of all the next life.
import { invariant, LimpetError } from "../../kernel/errors.ts";
import { isWeightless } from "../../kernel/values.ts";
import type { DeactivationReason, EndReason } from "../../ports/actor-host.ts";
import type { CommitVerdict, StateWrite } from "../../ports/store/store.ts";
import {
  handleTick,
  ownError,
  REMIND,
  type RemindArguments,
  SETTLED,
  settlementOf,
  UNSETTLED,
} from "../outbox/remind.ts";
import type { TurnEffects } from "../outbox/turn-outbox.ts";
import { MissingMethod } from "../routing/missing-method.ts";
import { StateBuffer } from "../state/state-buffer.ts";
import { Committing } from "./committing.ts";
import { LifeContext, runningCode } from "./life-context.ts";
import { LONG_MS } from "./long-turns.ts";
import { NestedTurns } from "./mailbox.ts";
import { fencedTurn, lostLease, notForgotten, promiseOf, reminderVoid, replyOf } from "./reply.ts";
import type { Turn } from "./turn.ts";

const KEEP: StateWrite = { kind: "keep" };

export class Incarnation extends LifeContext {
  /** A call has been answered in this life. */
  served = false;
  #ref = 0;
  #epoch = 0;
  #version = 0;
  /** Calls that will run inside the running turn, one by one. */
  #inside: NestedTurns | undefined;
  #enteringInside = false;

  async take(): Promise<void> {
    const { type, id } = this.activation;
    const taken = await this.deps.store.take(type.name, id);
    this.#ref = taken.ref;
    this.#epoch = taken.epoch;
    this.#version = taken.version;
    this.buffer = new StateBuffer(taken.state, () => this.instance.initial!());
  }

  get epoch(): number | undefined {
    return this.#epoch === 0 ? undefined : this.#epoch;
  }

  get version(): number | undefined {
    return this.#epoch === 0 ? undefined : this.#version;
  }

  get timerNames(): string[] {
    return this.services?.timerNames ?? [];
  }

  /** A hook runs as a turn of its own: its changes are committed, or undone if it throws. */
  runHook(hook: "onActivate", timeoutMs: number): Promise<unknown>;
  runHook(hook: "onDeactivate", timeoutMs: number, reason: DeactivationReason): Promise<unknown>;
  runHook(hook: "onActivate" | "onDeactivate", timeoutMs: number, reason?: DeactivationReason): Promise<unknown> {
    const turn = this.activation.ownTurn(hook, timeoutMs, () => this.instance[hook](reason!));
    this.run(turn, turn.queuedAt);
    return turn.promise(undefined);
  }

  end(reason: EndReason): void {
    this.isOver = true;
    if (this.running !== undefined) this.#noteLong(this.running);
    this.services?.end(reason);
    this.#inside?.end(reason);
  }

  #noteLong(turn: Turn): void {
    const now = this.deps.clock.monotonic();
    if (now - turn.startedAt >= LONG_MS) this.deps.longTurns.ended(turn.label, turn.startedAt, now);
  }

  // ——— Turns.

  run(turn: Turn, now: number): void {
    const { type } = this.activation;
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
    return runningCode.run(turn, () => this.#execute(turn));
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
    return this.isOver || this.deps.routing.mayCommit();
  }

  #ifKept(goOn: () => void): void {
    this.deps.routing.confirmLease((isKept) => {
      if (isKept) goOn();
      else if (!this.isOver) this.activation.cutOff("lease", lostLease);
    });
  }

  #execute(turn: Turn): unknown {
    if (turn.work !== undefined) return turn.work();
    const instance = this.instance;
    if (turn.method === REMIND) return handleTick(instance, turn.args as RemindArguments, this.typeName);
    return this.activation.type.methodOf(instance, turn.method).apply(instance, turn.args as unknown[]);
  }

  /** The code has ended while turns inside it still run; the turn ends after them. */
  #returnLater(turn: Turn, value: unknown): void {
    turn.ended = () => this.#returned(turn, value);
  }

  /** Results of an ended life are ignored. */
  #returned(turn: Turn, value: unknown): void {
    if (this.isOver) return;
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
      if (turn.outer === undefined) write = this.buffer?.prepare();
    } catch (error) {
      this.#threw(turn, error);
      return;
    }
    const effects = turn.outer === undefined ? this.services?.takeEffects() : undefined;
    if (write === undefined && effects === undefined) this.#succeeded(turn, turn.method === REMIND ? UNSETTLED : reply);
    else if (this.buffer === undefined) this.#write(turn, effects!, reply);
    else this.#commit(turn, write ?? KEEP, effects, reply);
  }

  #write(turn: Turn, effects: TurnEffects, reply: unknown): void {
    turn.phase = "committing";
    this.services!.write(effects).then(
      () => this.#succeeded(turn, turn.method === REMIND ? UNSETTLED : reply),
      (error: unknown) => this.lost(turn, "store", error),
    );
  }

  #threw(turn: Turn, error: unknown): void {
    if (this.isOver) return;
    if (this.running === turn) this.#failed(turn, turn.method === REMIND ? ownError(error) : error);
    else turn.ended = () => this.#threw(turn, error);
  }

  #failed(turn: Turn, error: unknown): void {
    const { type, id, phase } = this.activation;
    if (this.passivating === turn) this.passivating = undefined;
    type.instruments.failed.add(1);
    this.deps.log.debug("turn.failed", { type: type.name, id, method: turn.method, err: error });
    const restored = this.#takeBack(turn, error);
    if (!(error instanceof MissingMethod) || !this.deps.routing.askElsewhere(turn, error)) turn.fail(error);
    // A failed hook ends this life anyway.
    if (restored || phase !== "active") {
      this.#turnOver(turn);
    } else {
      this.running = undefined;
      void this.activation.reload();
    }
  }

  /** False: the turn's changes are still in memory, so the state must be read again. */
  #takeBack(turn: Turn, error: unknown): boolean {
    this.services?.rollback(turn.outer === undefined ? 0 : turn.outboxSavepoint);
    try {
      if (turn.outer === undefined) return this.buffer?.abandon() ?? true;
      if (this.buffer?.rollback(turn.savepoint) === false) turn.outer.doomed = error;
    } catch (err) {
      this.deps.log.error("turn.rollback-failed", { type: this.typeName, id: this.id, err });
      if (turn.outer === undefined) return false;
      turn.outer.doomed = error;
    }
    return true;
  }

  #commit(turn: Turn, write: StateWrite, effects: TurnEffects | undefined, reply: unknown): void {
    if (!this.deps.routing.mayCommit()) {
      this.deps.routing.confirmLease((isKept) => {
        if (this.isOver) return;
        if (isKept) this.#commit(turn, write, effects, reply);
        else this.lost(turn, "lease", lostLease(turn));
      });
      return;
    }
    turn.phase = "committing";
    // A handled reminder is settled in the same commit as its handler's changes.
    const settle = turn.method === REMIND ? [settlementOf(turn.args as RemindArguments)] : undefined;
    const sent = effects?.reminders && this.deps.features.reminders!.send(effects.reminders);
    const extras =
      settle === undefined && effects === undefined ? undefined : { settle, ...effects, reminders: sent?.writes };
    const caller = new Committing(this, turn, settle === undefined ? reply : SETTLED, effects, sent);
    this.deps.store.commit(this.#ref, this.#epoch, this.#version, write, extras, caller);
  }

  committed(turn: Turn, outcome: CommitVerdict, reply: unknown, effects: TurnEffects | undefined): void {
    if (outcome === "fenced") {
      const { type, label } = this.activation;
      type.instruments.fenced.add(1);
      this.lost(turn, "fenced", fencedTurn(label));
      return;
    }
    if (outcome === "void") {
      this.#rejected(turn);
      return;
    }
    this.#version++;
    this.buffer!.committed();
    if (effects?.starts !== undefined || effects?.messages !== undefined) this.deps.features.workflows!.written();
    this.#succeeded(turn, reply);
  }

  /** The settlement of the tick was rejected, so the turn does not count and is undone. */
  #rejected(turn: Turn): void {
    const [name] = turn.args as RemindArguments;
    const error = reminderVoid(name, this.activation.label);
    if (this.isOver) turn.fail(error);
    else this.#failed(turn, error);
  }

  /** The state in memory may differ from the stored state: no more code of this life runs. */
  lost(turn: Turn, reason: EndReason, error: unknown): void {
    this.activation.type.instruments.failed.add(1);
    turn.fail(error);
    if (!this.isOver) this.activation.end(reason, this.deps.clock.monotonic() - turn.startedAt);
  }

  #succeeded(turn: Turn, reply: unknown): void {
    if (this.passivating !== turn || !this.#passivate(turn, reply)) this.#conclude(turn, reply);
  }

  /** The actor leaves memory. True: the reply waits until the actor is no longer remembered. */
  #passivate(turn: Turn, reply: unknown): boolean {
    // A nested turn counts only after its outer turn has succeeded.
    this.passivating = turn.outer;
    if (turn.outer !== undefined || this.isOver) return false;
    this.activation.deactivate("explicit");
    const forgotten = this.activation.forget();
    if (forgotten === undefined) return false;
    turn.phase = "committing";
    forgotten.then(
      () => this.#conclude(turn, reply),
      (error: unknown) => this.lost(turn, "store", notForgotten(turn, error)),
    );
    return true;
  }

  #conclude(turn: Turn, reply: unknown): void {
    this.activation.type.instruments.succeeded.add(1);
    turn.succeed(reply);
    if (!this.isOver) this.#turnOver(turn);
  }

  #turnOver(turn: Turn): void {
    const now = this.deps.clock.monotonic();
    const tookMs = now - turn.startedAt;
    this.activation.type.instruments.turnSeconds.observe(tookMs / 1_000);
    if (tookMs >= LONG_MS) this.deps.longTurns.ended(turn.label, turn.startedAt, now);
    this.running = turn.outer;
    if (turn.work === undefined) this.served = true;
    if (turn.outer === undefined) this.activation.turnOver(turn, now);
    else this.#nextInside(turn.outer);
  }

  // ——— Reentrancy: turns inside the running turn.

  enter(turn: Turn): void {
    invariant(this.running !== undefined, "a turn enters a running one");
    turn.outer = this.running;
    turn.savepoint = this.buffer?.savepoint() ?? 0;
    turn.outboxSavepoint = this.services?.savepoint() ?? 0;
    this.run(turn, this.deps.clock.monotonic());
  }

  waitInside(turn: Turn): void {
    this.#inside ??= new NestedTurns();
    if (this.#inside.size < this.activation.type.options.mailboxLimit) {
      this.#inside.add(turn);
    } else {
      const message = `too many calls wait inside the running turn of ${this.activation.label}`;
      turn.fail(new LimpetError("MAILBOX_FULL", message));
    }
  }

  /** False: the turn does not wait here. */
  withdraw(turn: Turn): boolean {
    return this.#inside?.withdraw(turn) === true;
  }

  #nextInside(outer: Turn): void {
    // A turn that ends at once re-enters this method while the loop below still runs; the loop continues by
    // itself.
    if (this.#enteringInside) return;
    this.#enteringInside = true;
    while (this.running === outer) {
      const next = this.#inside?.takeCausedBy(outer);
      if (next === undefined) break;
      this.enter(next);
    }
    this.#enteringInside = false;
    if (this.running === outer && outer.ended !== undefined) {
      const finish = outer.ended;
      outer.ended = undefined;
      finish();
    }
  }
}
