// An actor's place in memory: from the first call that needs it to the last trace of it. What lives in it, one life after
// another, is an incarnation (incarnation.ts).
//
//   cold → activating → active → deactivating → cold
//
// Calls are accepted in every phase. They run in the order they came, one at a time, while the phase is `active`; what waits
// when it turns cold wakes it up again. An actor that has to live on another host lets its running turn end; what waits goes
// there. After a life that was fenced the place stays `fenced` for a moment before the actor is taken back, so that two hosts
// that both get calls for it do not snatch it from each other before either can commit.
import { formatDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { Timer } from "../../ports/clock.ts";
import type { ActivationDeps } from "../activation-deps.ts";
import type { DeactivationReason } from "../actor.ts";
import type { ActorType } from "../actor-type.ts";
import { REMIND } from "../outbox/remind.ts";
import { Incarnation, lostLease } from "./incarnation.ts";
import { Mailbox } from "./mailbox.ts";
import { type Admission, admit } from "./reentry.ts";
import { type Place, Turn, type Work } from "./turn.ts";

export type ActivationPhase = "cold" | "activating" | "active" | "deactivating" | "fenced";

/** Why a life ended, as the metrics count it. */
export type EndReason = DeactivationReason | "fenced" | "store" | "failed" | "lease";

/** A host stands back from an actor another one has taken about as long as that one needs to commit what it began. */
const SHORTEST_STAND_BACK_MS = 1;
const SHORTEST_SPREAD_MS = 9;
const LONGEST_SPREAD_MS = 1_000;
/** A host that is not the home of a shard any more hears so about as soon. */
const NOT_HOME_MS = 200;

export class Activation implements Place {
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
  /** It is sure that it is brought back to life when it stops. Whoever starts it because it is remembered knows. */
  isRemembered = false;
  /** Called when it is gone from memory. */
  onGone: (() => void) | undefined;

  constructor(type: ActorType, id: string, deps: ActivationDeps) {
    this.type = type;
    this.id = id;
    this.#deps = deps;
  }

  /** For people: `Cart/alice`. */
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

  /** Something the actor itself has to do: a hook, the tick of a timer. */
  ownTurn(name: string, timeoutMs: number, work: Work): Turn {
    const { clock, deadlines } = this.#deps;
    const turn = new Turn(this.type, this.id, name, [], undefined, timeoutMs, clock.monotonic(), deadlines, work);
    turn.activation = this;
    return turn;
  }

  submit(turn: Turn): void {
    turn.activation = this;
    turn.place = this;
    if (turn.parent !== undefined) {
      const admission = admit(turn, this.running, this.type.options.reentrant);
      if (admission !== "queue") {
        this.#comeBack(turn, admission);
        return;
      }
    }
    if (this.phase === "active" && this.#mailbox === undefined && this.life!.running === undefined) {
      const now = turn.waited ? this.#deps.clock.monotonic() : turn.queuedAt;
      if (this.#deps.mayBegin(now)) this.life!.run(turn, now);
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

  #comeBack(turn: Turn, admission: Exclude<Admission, "queue">): void {
    if (admission === "enter") this.life!.enter(turn);
    else if (admission === "wait") this.life!.waitInside(turn);
    else this.#refuse(turn, admission);
  }

  /** A call that never got in must not leave an empty place behind. */
  #refuse(turn: Turn, error: LimpetError): void {
    turn.fail(error);
    if (this.phase === "cold" && this.waiting === 0) this.#deps.gone(this, undefined);
  }

  /** Takes a turn that has not begun out of wherever it waits. */
  withdraw(turn: Turn): void {
    if (!this.life?.withdraw(turn)) this.#mailbox?.remove(turn);
  }

  /**
   * A reminder whose handler never began has not failed, so the deliverer must not count it as an attempt. Undefined: the handler began,
   * an earlier attempt at the same reminder blocks it, or this is a call, which simply times out.
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

  /** It lives elsewhere from now on: what has not begun goes there, what runs may end. */
  moveAway(): void {
    if (this.#leaving === "moved") return;
    this.#leaving = "moved";
    this.#handBackAll();
    this.#next();
  }

  /** Nothing more of it counts from this moment on. `error` is for those whose turns run. */
  cutOff(reason: "moved" | "lease" | "stop", error: (turn: Turn) => LimpetError): void {
    this.#leaving = "moved";
    this.#handBackAll();
    // A turn whose commit is under way hears how that ended.
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

  /** A tick of a timer dies with the life it belongs to; a call finds its way again. */
  #handBack(turn: Turn): void {
    turn.activation = undefined;
    turn.place = undefined;
    if (turn.work === undefined) this.#deps.reroute(turn);
    else turn.fail(new LimpetError("LEASE_LOST", `${this.label} does not run here at the moment`));
  }

  // ——— Waking up and going to sleep.

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
        // Its shard lives elsewhere by now, which this host is about to hear.
        this.end("fenced", NOT_HOME_MS);
        return;
      }
      this.activeSince = this.#deps.clock.monotonic();
      this.lastUsed = this.activeSince;
      type.instruments.activations.add(1);
      if (type.options.sticky !== undefined) type.instruments.stickyActivations.add(1);
      if (type.hasOnActivate) {
        // The store may have taken longer than the lease of this host lasts.
        if (!this.#deps.mayBegin(this.activeSince)) {
          this.cutOff("lease", lostLease);
          return;
        }
        await life.runHook("onActivate", type.options.callTimeoutMs);
      }
      if (this.life !== life) return;
      type.instruments.activationSeconds.observe((this.#deps.clock.monotonic() - begun) / 1_000);
    } catch (error) {
      // A hook that was fenced or whose commit got lost has already ended this life, and the next may have begun.
      if (this.life === life) this.#failActivation(error);
      return;
    }
    this.phase = "active";
    this.#next();
  }

  /** Before anything of it runs. Undefined: it is remembered already. */
  #remember(): Promise<boolean> | undefined {
    if (this.isRemembered) return undefined;
    return this.#deps.remembering?.keep(this.type, this.id).then((isKept) => {
      this.isRemembered = isKept;
      return isKept;
    });
  }

  /** It is not to be brought back to life. Undefined: it would not be. */
  forget(): Promise<void> | undefined {
    if (!this.isRemembered) return undefined;
    this.isRemembered = false;
    return this.#deps.remembering?.forget(this.type, this.id);
  }

  /** Everybody who waited is told why; the next call tries again. */
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
        this.#deps.log.warn("onDeactivate failed", { type: this.type.name, id: this.id, err });
      }
    }
    if (this.life === life) this.end(reason);
  }

  /** Ends the life that is in it. What waits begins the next one. `lostMs`: how long the turn took that was fenced. */
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

  // ——— What its incarnation tells it.

  /** No turn runs any more. */
  turnOver(turn: Turn, now: number): void {
    // Hooks and timers are the actor's own doing: they do not keep it in memory.
    if (turn.work === undefined) {
      this.lastUsed = now;
      this.type.useOrder.touch(this);
    }
    this.#next();
  }

  /** What a failed turn did to the state could not be taken back in memory, so it is read again. */
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
      if (this.#deps.mayBegin(now)) this.life!.run(turn, now);
      else this.#handBack(turn);
    }
    this.#looping = false;
  }

  /**
   * Who has to leave because the process stops first answers everybody that waits; and nobody leaves a life in which it
   * served no one while somebody waits, or it could come and go for ever.
   */
  #mayLeave(): boolean {
    if (this.#deps.stopping) this.#leaving ??= "stop";
    if (this.#leaving === undefined || this.waiting === 0) return this.#leaving !== undefined;
    return this.#leaving !== "stop" && this.life!.served;
  }
}
