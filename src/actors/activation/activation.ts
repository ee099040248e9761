// An actor's place in memory, from the first call that needs it until it is removed. Its lives follow one
// another as incarnations (incarnation.ts).
//
//   cold → activating → active → deactivating → cold
//
// Every phase accepts calls. They run in order of arrival, one at a time, while the phase is `active`. Calls
// that still wait when the phase becomes cold activate the actor again. An actor that moves to another host
// lets its running turn end, and waiting calls go to the new host. After a fenced life the phase stays
// `fenced` for a moment before the host takes the actor again. Otherwise two hosts that both get calls for it
// would take it from each other before either commits.
import { formatDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { ActivationPhase, ActiveActor, DeactivationReason, EndReason } from "../../ports/actor-host.ts";
import type { Timer } from "../../ports/clock.ts";
import type { ActivationDeps } from "../activation-deps.ts";
import type { ActorType } from "../actor-type.ts";
import { REMIND } from "../outbox/remind.ts";
import { Incarnation } from "./incarnation.ts";
import { Mailbox } from "./mailbox.ts";
import { admit, type ReentryDecision } from "./reentry.ts";
import { lostLease } from "./reply.ts";
import { Turn, type TurnHolder, type Work } from "./turn.ts";

/** A fenced host backs off about as long as the new owner needs to commit its first turn. */
const SHORTEST_STAND_BACK_MS = 1;
const SHORTEST_SPREAD_MS = 9;
const LONGEST_SPREAD_MS = 1_000;
/** About the time until the leader notifies a host that it is no longer the home of a shard. */
const NOT_HOME_MS = 200;

export class Activation implements ActiveActor, TurnHolder {
  readonly type: ActorType;
  readonly id: string;
  readonly #deps: ActivationDeps;
  phase: ActivationPhase = "cold";
  life: Incarnation | undefined;
  /** On the monotonic clock. */
  activeSince = 0;
  lastUsed = 0;
  older: Activation | undefined;
  newer: Activation | undefined;
  #mailbox: Mailbox | undefined;
  #leaving: DeactivationReason | undefined;
  #standingBack: Timer | undefined;
  #looping = false;
  /** True: the actor is started again when it stops. The starter of remembered actors sets it as well. */
  isRemembered = false;
  /** Called when the activation has left memory. */
  onGone: (() => void) | undefined;

  constructor(type: ActorType, id: string, deps: ActivationDeps) {
    this.type = type;
    this.id = id;
    this.#deps = deps;
  }

  /** For display: `Cart/alice`. */
  get label(): string {
    return `${this.type.name}/${this.id}`;
  }

  /** The innermost running turn. */
  get running(): Turn | undefined {
    return this.life?.running;
  }

  get waiting(): number {
    return this.#mailbox?.length ?? 0;
  }

  get queued(): Iterable<Turn> {
    return this.#mailbox ?? [];
  }

  /** Active, with nothing to do. */
  get idle(): boolean {
    return this.phase === "active" && this.running === undefined && this.waiting === 0;
  }

  /** A turn of the actor itself: a hook, the tick of a timer. */
  ownTurn(name: string, timeoutMs: number, work: Work): Turn {
    const { clock, deadlines } = this.#deps;
    const { type, id } = this;
    const now = clock.monotonic();
    const turn = new Turn({ type, id, method: name, args: [], parent: undefined, timeoutMs, now, deadlines, work });
    turn.activation = this;
    return turn;
  }

  submit(turn: Turn): void {
    turn.activation = this;
    turn.holder = this;
    if (turn.parent !== undefined) {
      const admission = admit(turn, this.running, this.type.options.reentrant);
      if (admission !== "queue") {
        this.#comeBack(turn, admission);
        return;
      }
    }
    if (this.phase === "active" && this.#mailbox === undefined && this.life!.running === undefined) {
      const now = turn.route?.waited ? this.#deps.clock.monotonic() : turn.queuedAt;
      if (this.#deps.routing.mayBegin(now)) this.life!.run(turn, now);
      else this.#handBack(turn);
      return;
    }
    if (this.#leaving === "moved") {
      this.#handBack(turn);
      return;
    }
    const { mailboxLimit } = this.type.options;
    if (this.waiting >= mailboxLimit) {
      this.#refuse(turn, new LimpetError("MAILBOX_FULL", `${mailboxLimit} calls already wait for ${this.label}`));
      return;
    }
    this.#mailbox ??= new Mailbox();
    this.#mailbox.push(turn);
    if (this.phase === "cold") void this.#activate();
  }

  #comeBack(turn: Turn, admission: Exclude<ReentryDecision, "queue">): void {
    if (admission === "enter") this.life!.enter(turn);
    else if (admission === "wait") this.life!.waitInside(turn);
    else this.#refuse(turn, admission);
  }

  /** A rejected call must not leave an empty activation behind. */
  #refuse(turn: Turn, error: LimpetError): void {
    turn.fail(error);
    if (this.phase === "cold" && this.waiting === 0) this.#deps.gone(this, undefined);
  }

  /** Removes a queued turn from its queue. */
  withdraw(turn: Turn): void {
    if (!this.life?.withdraw(turn)) this.#mailbox?.remove(turn);
  }

  /**
   * Error for a reminder that timed out in the mailbox. Its handler never began, so the deliverer must not
   * count an attempt. Undefined: the handler began, an earlier attempt at the same reminder blocks it, or
   * this is a call, which simply times out.
   */
  late(turn: Turn): LimpetError | undefined {
    if (turn.method !== REMIND || turn.phase !== "queued" || this.#isHandling(turn)) return undefined;
    const waited = formatDuration(Math.round(turn.deadlineAt - turn.queuedAt));
    return new LimpetError("NOT_READY", `${this.label} was busy for ${waited}; its reminder was not handled`);
  }

  #isHandling({ args: [name] }: Turn): boolean {
    for (let turn = this.running; turn !== undefined; turn = turn.outer) {
      if (turn.method === REMIND && turn.args[0] === name) return true;
    }
    return false;
  }

  /** Leaves memory as soon as no turn runs. */
  deactivate(reason: DeactivationReason): void {
    this.#leaving ??= reason;
    this.#next();
  }

  /** The actor lives on another host from now on: queued turns go there, the running turn may end. */
  moveAway(): void {
    if (this.#leaving === "moved") return;
    this.#leaving = "moved";
    this.#handBackAll();
    this.#next();
  }

  /** Nothing of this life counts from now on. `error` makes the answer for the running turns. */
  cutOff(reason: "moved" | "lease" | "stop", error: (turn: Turn) => LimpetError): void {
    this.#leaving = "moved";
    this.#handBackAll();
    // A turn with a commit in progress gets the outcome of its commit instead.
    for (let turn = this.running; turn !== undefined; turn = turn.outer) {
      if (turn.phase === "running") turn.cancel(error(turn));
    }
    this.#standingBack?.cancel();
    this.end(reason);
  }

  #handBackAll(): void {
    const waiting = this.#mailbox?.takeAll() ?? [];
    this.#mailbox = undefined;
    for (const turn of waiting) this.#handBack(turn);
  }

  /** The tick of a timer ends with its life; a call is routed again. */
  #handBack(turn: Turn): void {
    turn.activation = undefined;
    turn.holder = undefined;
    if (turn.work === undefined) this.#deps.routing.reroute(turn);
    else turn.fail(new LimpetError("LEASE_LOST", `${this.label} does not run here at the moment`));
  }

  // ——— Activation and deactivation.

  async #activate(): Promise<void> {
    this.phase = "activating";
    const { type } = this;
    let life: Incarnation | undefined;
    try {
      life = new Incarnation(this, this.#deps);
      this.life = life;
      const begun = this.#deps.clock.monotonic();
      const kept = type.isRemembered ? this.#remember() : undefined;
      const taken = type.stateful ? life.take() : undefined;
      if (kept !== undefined) await Promise.allSettled([kept, taken]);
      if (taken !== undefined) await taken;
      const isHome = kept === undefined || (await kept);
      if (this.life !== life) return;
      if (!isHome) {
        // The shard has another home by now, and the leader is about to notify this host.
        this.end("fenced", NOT_HOME_MS);
        return;
      }
      this.activeSince = this.#deps.clock.monotonic();
      this.lastUsed = this.activeSince;
      type.instruments.activations.add(1);
      if (type.options.sticky !== undefined) type.instruments.stickyActivations.add(1);
      if (type.hasOnActivate) {
        // The take may have outlasted the lease of this host.
        if (!this.#deps.routing.mayBegin(this.activeSince)) {
          this.cutOff("lease", lostLease);
          return;
        }
        await life.runHook("onActivate", type.options.callTimeoutMs);
      }
      if (this.life !== life) return;
      type.instruments.activationSeconds.observe((this.#deps.clock.monotonic() - begun) / 1_000);
    } catch (error) {
      // A fenced hook, or one with a lost commit, has already ended this life, and the next one may have
      // begun.
      if (this.life === life) this.#failActivation(error);
      return;
    }
    this.phase = "active";
    this.#next();
  }

  /** Runs before any code of the actor. Undefined: the actor is remembered already. */
  #remember(): Promise<boolean> | undefined {
    if (this.isRemembered) return undefined;
    return this.#deps.features.remembering?.keep(this.type, this.id).then((isKept) => {
      this.isRemembered = isKept;
      return isKept;
    });
  }

  /** Removes the actor from the remembered ones. Undefined: it is not remembered. */
  forget(): Promise<void> | undefined {
    if (!this.isRemembered) return undefined;
    this.isRemembered = false;
    return this.#deps.features.remembering?.forget(this.type, this.id);
  }

  /** Rejects every waiting call with the cause; the next call activates again. */
  #failActivation(error: unknown): void {
    const waiting = this.#mailbox?.takeAll() ?? [];
    this.#mailbox = undefined;
    this.end("failed");
    for (const turn of waiting) turn.fail(error);
  }

  async #deactivate(): Promise<void> {
    const reason = this.#leaving!;
    const life = this.life;
    this.phase = "deactivating";
    if (this.type.hasOnDeactivate) {
      try {
        await life!.runHook("onDeactivate", this.#deps.hookTimeoutMs, reason);
      } catch (err) {
        this.#deps.log.warn("actor.deactivation-failed", { type: this.type.name, id: this.id, err });
      }
    }
    if (this.life === life) this.end(reason);
  }

  /** Ends the current life; waiting calls begin the next one. `lostMs`: duration of the fenced turn. */
  end(reason: EndReason, lostMs = 0): void {
    this.life?.end(reason);
    this.life = undefined;
    this.type.instruments.deactivated(reason);
    if (reason === "fenced") this.#standBack(lostMs);
    else this.#rest(reason);
  }

  #standBack(lostMs: number): void {
    this.phase = "fenced";
    const { clock, random } = this.#deps;
    const spread = Math.min(Math.max(lostMs, SHORTEST_SPREAD_MS), LONGEST_SPREAD_MS);
    this.#standingBack = clock.after(SHORTEST_STAND_BACK_MS + random.number() * spread, () => this.#rest("fenced"));
  }

  #rest(reason: EndReason): void {
    this.phase = "cold";
    this.#leaving = undefined;
    if (this.waiting > 0) void this.#activate();
    else this.#deps.gone(this, reason);
  }

  // ——— Callbacks of the incarnation.

  /** No turn runs any more. */
  turnOver(turn: Turn, now: number): void {
    // Hooks and timers do not count as use, so they do not keep the actor in memory.
    if (turn.work === undefined) {
      this.lastUsed = now;
      this.type.useOrder.touch(this);
    }
    this.#next();
  }

  /** The failed turn's changes could not be undone in memory, so the state is read from the store again. */
  async reload(): Promise<void> {
    this.phase = "activating";
    const life = this.life;
    try {
      await life!.take();
    } catch (error) {
      if (this.life === life) this.#failActivation(error);
      return;
    }
    if (this.life !== life) return;
    this.phase = "active";
    this.#next();
  }

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
      const now = this.#deps.clock.monotonic();
      if (this.#deps.routing.mayBegin(now)) this.life!.run(turn, now);
      else this.#handBack(turn);
    }
    this.#looping = false;
  }

  /**
   * A stopping process first answers all waiting calls. A life that has served no call stays while calls
   * wait; otherwise the actor could activate and deactivate forever.
   */
  #mayLeave(): boolean {
    if (this.#deps.stopping) this.#leaving ??= "stop";
    if (this.#leaving === undefined || this.waiting === 0) return this.#leaving !== undefined;
    return this.#leaving !== "stop" && this.life!.served;
  }
}
