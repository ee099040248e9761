// Delivers claimed reminders: holds them until they are due, calls their handlers, and writes the outcome to
// the store. Any number of processes do this on one store; the first claim wins.
//
// - Claims are for types that this process has handlers of; all others stay in the store.
// - Every claimed reminder has a lease, which is renewed. Before a delivery the store verifies it, because
//   the reminder may have been replaced or cancelled meanwhile. Without a verification the processor delivers
//   nothing.
// - A type with many slow deliveries gets its share of the capacity and no more, so that others are not
//   delayed.
// - A processor that cannot keep up returns late reminders and claims fewer for a while, because other
//   processes may be idle.
// - The store holds the truth: if the process ends, its leases expire, and another process continues.

import { KeyedBatcher } from "../kernel/batch/keyed-batcher.ts";
import { isLimpetError } from "../kernel/errors.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type {
  ClaimedReminder,
  OwnLease,
  ReminderFate,
  ReminderKey,
  Reminders,
  Settlement,
  Tick,
} from "../ports/store/reminders.ts";
import { type ClaimedEntry, heldOf, keyText, type ReminderClaim } from "./claimed.ts";
import { Claimer, type ClaimerSettings } from "./claimer.ts";
import { afterTick, type Decision, decide, isNobodysFault, textOf } from "./decision.ts";
import { DueQueue } from "./due-queue.ts";
import { FairCapacity } from "./fair-capacity.ts";
import type { ReminderInstruments } from "./instruments.ts";
import { Leases } from "./leases.ts";
import { pauseAfter } from "./schedule/failure-policy.ts";
import type { Plan } from "./schedule/plan.ts";
import type { StoreClock } from "./store-clock.ts";

export interface ProcessorSettings extends ClaimerSettings {
  /** Concurrent deliveries. */
  readonly concurrency: number;
}

export interface ProcessorDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Reminders;
  readonly storeClock: StoreClock;
  readonly instruments: ReminderInstruments;
  /** Types whose reminders this process can deliver now. */
  types(): readonly string[];
  /** Whether this process can deliver the type now. */
  delivers(type: string): boolean;
  /**
   * Resolves when the tick was handled; true: its outcome is stored already. Rejects when the handler failed.
   */
  deliver(reminder: Delivery): Promise<boolean>;
}

/** One tick on its way to its actor. */
export interface Delivery {
  readonly reminder: ClaimedReminder;
  readonly tick: Tick;
  readonly plan: Plan;
  /** The settlement after a success: stored with the changes of the turn, or afterwards. */
  readonly settlement: Settlement;
}

/** More reminders are claimed than run at once, so that the next ones are ready when one ends. */
const BATCHES = 4;
/** But not many times as many: reminders that cannot begin here may begin elsewhere. */
const SPARE = 2;
/** Renewals within one lease. */
const RENEWALS = 3;
/** The share of a lease that must be left to begin a delivery. */
const MARGIN = 0.2;
/** The lease is verified this long before the due time, early enough for a punctual delivery. */
const CHECK_AHEAD_MS = 25;
/** A verification counts for this long. */
const SURE_MS = 1_000;
/** Deliveries in one turn of the event loop. */
const BURST = 1_000;
/** The pause before a tick that did not reach its actor is free for any process. */
const PASS_MS = 1_000;

export class Processor {
  readonly #settings: ProcessorSettings;
  readonly #deps: ProcessorDeps;
  readonly #claimer: Claimer;
  readonly #leases: Leases;
  readonly #settling: KeyedBatcher<Settlement, boolean>;
  readonly #held = new Map<number, ClaimedEntry>();
  /** The newest entry of each key, by the text of the key. */
  readonly #byKey = new Map<string, ClaimedEntry>();
  readonly #queue = new DueQueue<ClaimedEntry>();
  readonly #room: FairCapacity;
  /** Concurrent checks and deliveries. */
  readonly #slots: FairCapacity;
  #running = 0;
  /**
   * Tokens of rows that are written with a lease: one for each, of a random text and a number. A store
   * restored from a backup assigns generations again, so with one token for all an old claim would settle
   * another reminder.
   */
  readonly #ownToken: string;
  #ownLeases = 0;
  #isAlone = true;
  #alarm: Timer | undefined;
  #alarmAt = Number.POSITIVE_INFINITY;
  #isAtOnce = false;
  #renewal: Timer | undefined;
  #isStopped = false;
  /** The stop no longer waits for deliveries in progress. */
  #isOver = false;
  #whenIdle: (() => void) | undefined;

  constructor(settings: ProcessorSettings, deps: ProcessorDeps) {
    this.#settings = settings;
    this.#deps = deps;
    const { clock, random, log, store, storeClock, instruments } = deps;
    this.#ownToken = random.id();
    this.#room = new FairCapacity(Math.min(settings.batchSize * BATCHES, settings.concurrency * SPARE));
    this.#slots = new FairCapacity(settings.concurrency);
    this.#settling = new KeyedBatcher({ clock, send: (batch) => store.settle(batch) });
    this.#leases = new Leases(settings.leaseMs, { clock, store });
    this.#claimer = new Claimer(settings, {
      clock,
      random,
      log,
      store,
      storeClock,
      room: this.#room,
      types: () => this.#types(),
      claimed: (reminder, token, leaseUntil) => {
        instruments.claimed(1);
        this.#hold({ reminder, token, leaseUntil });
      },
    });
  }

  start(): void {
    this.#renewLater();
    this.#claimer.start();
  }

  /** Claimed reminders, and the running ones among them; for metrics. */
  get size(): { readonly held: number; readonly running: number } {
    return { held: this.#held.size, running: this.#running };
  }

  /** A reminder without a lease is due at that time. */
  wrote(at: number): void {
    this.#claimer.expect(at);
  }

  /** This process replaced or cancelled the reminder: its claimed entry may be outdated. */
  changed(key: ReminderKey): void {
    const held = this.#held.size === 0 ? undefined : this.#byKey.get(keyText({ key }));
    if (held === undefined) return;
    held.doubts++;
    held.sureUntil = Number.NEGATIVE_INFINITY;
  }

  /** Learns the store's time. */
  async askTime(): Promise<void> {
    await this.#claimer.askTime();
  }

  /**
   * A lease for a reminder that is due soon, if there is capacity. The place is reserved until `answered`.
   */
  ownLease(type: string, at: number): OwnLease | undefined {
    const { leaseMs } = this.#settings;
    const isSoon = at <= this.#deps.storeClock.now() + this.#claimer.horizonMs;
    const hasRoom = !this.#isStopped && this.#room.roomFor(type, this.#isAlone) > 0;
    if (!isSoon || !hasRoom) return undefined;
    this.#room.take(type);
    const mark = this.#deps.store.tokenMark?.() ?? "";
    return { token: `${this.#ownToken}.${(++this.#ownLeases).toString(36)}${mark}`, leaseMs };
  }

  /** The write with such a lease succeeded or failed. */
  answered(type: string): void {
    this.#room.free(type);
    this.#claimer.roomMade();
  }

  /** The reminder was written with such a lease, at `askedAt` of the monotonic clock or later. */
  adopt(reminder: ClaimedReminder, { token, leaseMs }: OwnLease, askedAt: number): void {
    // The answer was late, and the reminder was claimed or found since. A restored store assigns generations
    // again, so an entry of the same generation may be another reminder.
    if (this.#held.get(reminder.generation)?.text === keyText(reminder)) return;
    this.#deps.instruments.claimed(1);
    const held = this.#hold({ reminder, token, leaseUntil: askedAt + leaseMs });
    if (this.#isStopped && held !== undefined) this.#settle(held, { kind: "release" });
  }

  #types(): readonly string[] {
    const types = this.#deps.types();
    this.#isAlone = types.length < 2;
    return types;
  }

  // ——— Claimed entries.

  /** `isFresh`: the store has just confirmed the claim. */
  #hold(claim: ReminderClaim, isFresh = true): ClaimedEntry | undefined {
    const { reminder, token, leaseUntil } = claim;
    const { generation, key, tick } = reminder;
    const before = this.#held.get(generation);
    if (before !== undefined && !this.#isReplaced(before, claim)) return undefined;
    const held = heldOf(reminder, token, tick, leaseUntil);
    this.#held.set(generation, held);
    this.#byKey.set(held.text, held);
    this.#room.take(key.type);
    if (isFresh) this.#isOurs(held);
    this.#wait(held);
    return held;
  }

  /**
   * A second claim of a row of this process. Its lease expired unnoticed, and another process may have
   * settled it meanwhile. Or it was free again before the acknowledgement of its settlement arrived. A
   * running delivery ends first, and its outcome may not count.
   */
  #isReplaced(before: ClaimedEntry, claim: ReminderClaim): boolean {
    if (before.state === "waiting" || before.state === "checking") {
      this.#drop(before);
      return true;
    }
    before.again = claim;
    return false;
  }

  #drop(held: ClaimedEntry): void {
    if (held.state === "over") return;
    held.state = "over";
    const { text, reminder } = held;
    const { generation, key } = reminder;
    this.#held.delete(generation);
    if (this.#byKey.get(text) === held) this.#byKey.delete(text);
    this.#room.free(key.type);
    if (held.again !== undefined) this.#goOnWith(held.again);
    this.#claimer.roomMade();
    if (this.#held.size === 0) this.#whenIdle?.();
  }

  #goOnWith(claim: ReminderClaim): void {
    const held = this.#hold(claim, false);
    if (held !== undefined && this.#isStopped) this.#settle(held, { kind: "release" });
  }

  /** The store has just confirmed the claim. */
  #isOurs(held: ClaimedEntry): void {
    const { clock, storeClock } = this.#deps;
    const isSoon = storeClock.now() >= held.tick.at - CHECK_AHEAD_MS;
    held.sureUntil = isSoon ? clock.monotonic() + SURE_MS : Number.NEGATIVE_INFINITY;
  }

  #isSure({ sureUntil, leaseUntil }: ClaimedEntry): boolean {
    return this.#deps.clock.monotonic() <= Math.min(sureUntil, leaseUntil - this.#settings.leaseMs * MARGIN);
  }

  // ——— Waiting.

  #wait(held: ClaimedEntry): void {
    held.state = "waiting";
    held.wakeAt = this.#isSure(held) ? held.tick.at : held.tick.at - CHECK_AHEAD_MS;
    this.#queue.push(held.reminder.key.type, held);
    this.#ring();
  }

  readonly #mayBegin = (type: string): boolean => this.#slots.roomFor(type, this.#isAlone) > 0;

  /** One timer, for the earliest entry. */
  #ring(): void {
    // The alarm is immediate already; with a backlog this is called for each entry.
    if (this.#isAtOnce) return;
    const { clock, storeClock } = this.#deps;
    const first = this.#isStopped ? undefined : this.#queue.first(this.#mayBegin);
    if (first === undefined) return;
    const ms = Math.max(Math.ceil(first.wakeAt - storeClock.now()), 0);
    const at = clock.monotonic() + ms;
    if (at >= this.#alarmAt) return;
    this.#alarm?.cancel();
    this.#alarmAt = at;
    this.#isAtOnce = ms === 0;
    this.#alarm = ms > 0 ? clock.after(ms, () => this.#due()) : undefined;
    // Even the shortest timer takes a millisecond.
    if (ms === 0) clock.soon(() => this.#due());
  }

  #due(): void {
    this.#alarmAt = Number.POSITIVE_INFINITY;
    this.#isAtOnce = false;
    const now = this.#deps.storeClock.now();
    for (let count = 0; count < BURST && !this.#isStopped; count++) {
      const first = this.#queue.first(this.#mayBegin);
      if (first === undefined || first.wakeAt > now) break;
      this.#queue.pop(first.reminder.key.type);
      if (first.state === "waiting") this.#wake(first, now);
    }
    this.#ring();
  }

  #wake(held: ClaimedEntry, now: number): void {
    if (!this.#deps.delivers(held.reminder.key.type)) this.#settle(held, { kind: "release" });
    else if (!this.#isSure(held)) this.#check(held);
    else this.#begin(held, now);
  }

  #check(held: ClaimedEntry): void {
    const { instruments, log } = this.#deps;
    const { type } = held.reminder.key;
    const { doubts } = held;
    held.state = "checking";
    this.#slots.take(type);
    const checked = (leaseUntil: number | undefined): void => {
      this.#slots.free(type);
      if (held.state === "over" || leaseUntil === undefined) {
        this.#drop(held);
        this.#ring();
        return;
      }
      held.leaseUntil = leaseUntil;
      if (held.doubts === doubts) this.#isOurs(held);
      if (this.#isStopped) this.#settle(held, { kind: "release" });
      else this.#wait(held);
    };
    this.#leases.check(held).then(
      (leaseUntil) => {
        if (leaseUntil === undefined) instruments.replaced(1);
        checked(leaseUntil);
      },
      (err: unknown) => {
        log.debug("reminder.check.failed", { ...held.reminder.key, err });
        instruments.leaseLost(1);
        checked(undefined);
      },
    );
  }

  // ——— Delivering.

  #begin(held: ClaimedEntry, now: number): void {
    const { log, instruments } = this.#deps;
    const { key } = held.reminder;
    let decided: Decision;
    try {
      decided = decide(held, now);
    } catch (err) {
      // A damaged row must not end the process that reads it.
      log.error("reminder.damaged", { ...key, err });
      instruments.failed(1);
      decided = { kind: "settle", fate: { kind: "dead", tick: held.tick, error: textOf(err) } };
    }
    if (decided.kind === "settle") this.#settle(held, decided.fate);
    else if (decided.kind === "later") this.#goOn(held, decided.tick);
    else this.#deliver(held, decided, now);
  }

  #deliver(held: ClaimedEntry, { plan, tick, fate }: Extract<Decision, { kind: "deliver" }>, now: number): void {
    const { instruments, deliver } = this.#deps;
    const { reminder, token } = held;
    const { type } = reminder.key;
    held.state = "running";
    this.#running++;
    this.#slots.take(type);
    // A failing handler is no measure of punctuality, so only first attempts are measured.
    if (tick.attempt === 1) instruments.late((now - tick.due) / 1_000);
    const ended = (): void => {
      this.#running--;
      this.#slots.free(type);
    };
    deliver({ reminder, tick, plan, settlement: { generation: reminder.generation, token, ...fate } }).then(
      (isSettled) => {
        ended();
        instruments.fired(1);
        if (isSettled) this.#isSettled(held, fate);
        else if (fate.kind === "next") this.#goOn(held, fate.tick);
        else this.#settle(held, fate);
        this.#ring();
      },
      (error: unknown) => {
        ended();
        this.#failed(held, plan, tick, error);
        this.#ring();
      },
    );
  }

  /** The outcome was stored with the changes of the handler, and the next claim gets the next tick. */
  #isSettled(held: ClaimedEntry, fate: ReminderFate): void {
    this.#drop(held);
    if (fate.kind === "next") this.#claimer.expect(fate.tick.at);
  }

  #failed(held: ClaimedEntry, plan: Plan, tick: Tick, error: unknown): void {
    const { storeClock, random, instruments, log } = this.#deps;
    const { key } = held.reminder;
    if (isLimpetError(error, "REMINDER_VOID")) {
      // The store rejected the changes of the handler. The current claim or the replacement continues the
      // reminder.
      log.debug("reminder.void", { ...key, attempt: tick.attempt });
      instruments.replaced(1);
      this.#drop(held);
      return;
    }
    if (isLimpetError(error, "REMINDER_DAMAGED")) {
      log.error("reminder.damaged", { ...key, err: error });
      instruments.failed(1);
      this.#settle(held, { kind: "dead", tick, error: textOf(error) });
      return;
    }
    if (isNobodysFault(error)) {
      // The tick did not reach its actor, so the attempt does not count. Another process may reach it.
      instruments.retried(1);
      const at = Math.ceil(storeClock.now() + PASS_MS * (0.5 + random.number()));
      this.#goOn(held, { ...tick, at, attempt: tick.attempt - 1 }, false);
      return;
    }
    const pause = pauseAfter(tick.attempt, plan.policy, random.number());
    log.warn("reminder.failed", { ...key, attempt: tick.attempt, again: pause !== undefined, err: error });
    if (pause !== undefined) {
      instruments.retried(1);
      this.#goOn(held, { ...tick, at: Math.ceil(storeClock.now() + pause) });
      return;
    }
    instruments.failed(1);
    if (plan.policy.giveUp === "keep") {
      this.#settle(held, { kind: "dead", tick, error: textOf(error) });
      return;
    }
    const after = afterTick(plan, tick, storeClock.now());
    if (after.kind === "next") this.#goOn(held, after.tick);
    else this.#settle(held, after);
  }

  // ——— Settling.

  /**
   * Writes the next tick or a retry. If it is soon, the entry stays here, unless other processes should have
   * it.
   */
  #goOn(held: ClaimedEntry, tick: Tick, mayStay = true): void {
    const { storeClock, clock } = this.#deps;
    const { aheadMs, leaseMs } = this.#settings;
    // Without capacity for its type, a frequent reminder must not keep its place: the earliest due reminder
    // gets it.
    const hasRoom = this.#room.roomFor(held.reminder.key.type, this.#isAlone) > 0;
    const stays = mayStay && hasRoom && tick.at <= storeClock.now() + aheadMs && !this.#isStopped;
    const askedAt = clock.monotonic();
    this.#say(held, { kind: "next", tick, leaseMs: stays ? leaseMs : undefined }, (counted) => {
      const isOurs = stays && counted === true && held.again === undefined;
      if (isOurs && !this.#isStopped) {
        held.tick = tick;
        held.leaseUntil = askedAt + leaseMs;
        this.#isOurs(held);
        this.#wait(held);
        return;
      }
      if (isOurs) this.#settle(held, { kind: "release" });
      else this.#drop(held);
      // A process that could not deliver the tick claims it again only at its due time: until then it is for
      // others.
      if (counted !== false) this.#claimer.expect(mayStay ? tick.at : tick.at + aheadMs);
    });
  }

  #settle(held: ClaimedEntry, fate: ReminderFate): void {
    this.#say(held, fate, () => this.#drop(held));
  }

  #say(held: ClaimedEntry, fate: ReminderFate, then: (counted: boolean | undefined) => void): void {
    const { clock, instruments, log } = this.#deps;
    const { generation, key } = held.reminder;
    held.state = "settling";
    const until = this.#isOver ? clock.monotonic() : held.leaseUntil;
    this.#settling.ask({ generation, token: held.token, ...fate }, until).then(
      (counted) => {
        if (!counted) instruments.replaced(1);
        then(counted);
      },
      (err: unknown) => {
        log.warn("reminder.settle.failed", { ...key, err });
        then(undefined);
      },
    );
  }

  // ——— Leases.

  #renewLater(): void {
    const { leaseMs } = this.#settings;
    this.#renewal = this.#deps.clock.after(leaseMs / RENEWALS, () => void this.#renew(), "background");
  }

  async #renew(): Promise<void> {
    const { clock, instruments, log } = this.#deps;
    const { leaseMs } = this.#settings;
    const soon = clock.monotonic() + leaseMs * (1 - 1 / RENEWALS);
    this.#giveBackLate();
    const mine = [...this.#held.values()].filter(
      ({ leaseUntil, isLost, state }) => leaseUntil < soon && !isLost && (state === "waiting" || state === "running"),
    );
    try {
      const untils = mine.length === 0 ? [] : await this.#leases.renew(mine);
      for (const [i, held] of mine.entries()) {
        const until = untils[i];
        if (until !== undefined) held.leaseUntil = Math.max(held.leaseUntil, until);
        else {
          held.isLost = true;
          instruments.leaseLost(1);
        }
        // A running delivery ends; its outcome does not count.
        if (until === undefined && held.state === "waiting") this.#drop(held);
      }
    } catch (err) {
      log.debug("reminder.renewal.failed", { err });
    }
    if (this.#renewal !== undefined) this.#renewLater();
  }

  /** Entries that were due at the previous renewal or earlier, and could not begin since. */
  #giveBackLate(): void {
    const since = this.#deps.storeClock.now() - this.#settings.leaseMs / RENEWALS;
    const late = [...this.#held.values()].filter(({ state, tick }) => state === "waiting" && tick.at < since);
    if (late.length > 0) this.#room.narrow(Math.max(this.#room.taken - late.length, this.#settings.concurrency));
    else this.#room.widen();
    for (const held of late) this.#settle(held, { kind: "release" });
  }

  // ——— Stop.

  /** Returns reminders that have not begun and waits for the rest, for at most this time. */
  async stop(ms: number): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#alarm?.cancel();
    const { clock } = this.#deps;
    const late = Promise.withResolvers<void>();
    const timer = clock.after(ms, late.resolve);
    await Promise.race([late.promise, this.#empty()]);
    this.#isOver = true;
    this.#settling.end();
    this.#leases.end();
    timer.cancel();
    this.#renewal?.cancel();
    this.#renewal = undefined;
  }

  async #empty(): Promise<void> {
    await this.#claimer.stop();
    for (const held of [...this.#held.values()]) {
      if (held.state === "waiting") this.#settle(held, { kind: "release" });
    }
    if (this.#held.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
  }
}
