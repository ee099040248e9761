// From a row to a call: claims reminders that are due soon, holds them until their moment, has them delivered, and tells the store what
// became of them. Any number of processes do this on one store; who claims first delivers.
//
// - Claims are for types that this process has handlers of; what nobody has stays in the store.
// - What is held has a lease, renewed while it lasts. Whoever finds that the lease may be over delivers nothing.
// - A type with many slow deliveries gets its share of the room and no more, so that others are not kept waiting.
// - Nothing here is the truth: if the process ends, the leases do, and somebody else goes on.
import { isLimpetError, type LimpetError } from "../kernel/errors.ts";
import { Heap } from "../kernel/heap.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import {
  type ClaimedReminder,
  type OwnLease,
  type ReminderFate,
  type Reminders,
  type Settlement,
  type Tick,
  TOLD_AHEAD_MS,
} from "../ports/reminders.ts";
import { Batcher } from "./batcher.ts";
import { pauseAfter } from "./failure-policy.ts";
import type { ReminderInstruments } from "./instruments.ts";
import { decodePlan, type Plan } from "./plan.ts";
import type { StoreClock } from "./store-clock.ts";
import { tickAfter, tickInstead } from "./ticks.ts";

export interface ProcessorSettings {
  readonly namespace: string;
  /** How often the store is asked at least. */
  readonly pollMs: number;
  /** Reminders due within this are claimed. */
  readonly aheadMs: number;
  /** So many at a time. */
  readonly batchSize: number;
  readonly leaseMs: number;
  /** Deliveries under way at once. */
  readonly concurrency: number;
}

export interface ProcessorWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Reminders;
  readonly storeClock: StoreClock;
  readonly instruments: ReminderInstruments;
  /** Types whose reminders can be delivered from here now. */
  types(): readonly string[];
  /** Resolves when it has been handled; rejects when that failed. `isSettled` in the answer: what became of it is stored already. */
  deliver(reminder: Delivery): Promise<{ readonly isSettled: boolean }>;
}

/** One tick on its way to its actor. */
export interface Delivery {
  readonly reminder: ClaimedReminder;
  readonly tick: Tick;
  readonly plan: Plan;
  /** What is to be stored when it succeeds: with the changes of its turn, or afterwards. */
  readonly settlement: Settlement;
}

interface Held {
  readonly reminder: ClaimedReminder;
  readonly token: string;
  tick: Tick;
  /** On the monotonic clock. */
  leaseUntil: number;
  state: "queued" | "running" | "over";
}

/** Held at once, in batches: more than are delivered at a time, so that the next ones are there when one ends. */
const ROOM = 4;
/** How often leases are renewed while they last. */
const RENEWALS = 3;
/** Of a lease: whoever has less left does not begin. */
const MARGIN = 0.2;
const FIRST_PAUSE_MS = 50;
/** Ticks that are late by no more than this were not missed. */
const GRACE_MS = 1_000;
/** Delivered in one go; then others get their turn. */
const BURST = 1_000;
/** How soon after something was written claims are made. */
const SOON_MS = 1;

export class Processor {
  readonly #settings: ProcessorSettings;
  readonly #world: ProcessorWorld;
  readonly #settling: Batcher<Settlement, boolean>;
  readonly #held = new Map<number, Held>();
  readonly #heldOf = new Map<string, number>();
  readonly #queue = new Heap<Held>((a, b) => a.tick.at < b.tick.at);
  #running = 0;
  #token: string;
  #polling: Promise<void> | undefined;
  #again = false;
  /** There may be more in the store than there is room for. */
  #isFull = false;
  #failures = 0;
  /** How often the store is asked when there is nothing to do. */
  #restMs: number;
  #poll: Timer | undefined;
  #pollAt = Number.POSITIVE_INFINITY;
  #alarm: Timer | undefined;
  #alarmAt = Number.POSITIVE_INFINITY;
  #renewal: Timer | undefined;
  #unwatch: (() => void) | undefined;
  #isStopped = false;
  #whenIdle: (() => void) | undefined;

  constructor(settings: ProcessorSettings, world: ProcessorWorld) {
    this.#settings = settings;
    this.#world = world;
    const { clock, store } = world;
    this.#settling = new Batcher({ clock, send: (batch) => store.settle(batch) });
    this.#token = world.random.id();
    this.#restMs = settings.pollMs;
  }

  start(): void {
    const { store } = this.#world;
    this.#unwatch = store.watch(this.#settings.namespace, () => this.#pollIn(0));
    // A store that tells is asked all the same, now and then: what it says may get lost.
    const { pollMs, aheadMs } = this.#settings;
    if (this.#unwatch !== undefined) this.#restMs = Math.max(pollMs, (TOLD_AHEAD_MS - aheadMs) / 2);
    this.#renewLater();
    this.#pollIn(0);
  }

  /** Held, and of those on their way; for figures. */
  get size(): { readonly held: number; readonly running: number } {
    return { held: this.#held.size, running: this.#running };
  }

  /** This process has written reminders that are due by then: they need not wait for the next poll. */
  wrote(at: number): void {
    if (at <= this.#world.storeClock.now() + this.#settings.aheadMs) this.#pollIn(SOON_MS);
  }

  /** A lease for one that is due then, if that is soon and there is room for it. */
  ownLease(at: number): OwnLease | undefined {
    const { aheadMs, leaseMs, batchSize } = this.#settings;
    const isSoon = at <= this.#world.storeClock.now() + aheadMs;
    const hasRoom = !this.#isStopped && this.#held.size < batchSize * ROOM;
    return isSoon && hasRoom ? { token: this.#token, leaseMs } : undefined;
  }

  /** It was stored with such a lease, just now. */
  adopt(reminder: ClaimedReminder): void {
    const { clock, instruments } = this.#world;
    if (this.#isStopped) return;
    instruments.claimed(1);
    // From when it was written; that was a moment ago, and the margin of a lease is much longer.
    this.#hold(reminder, clock.monotonic() + this.#settings.leaseMs * (1 - MARGIN));
  }

  // ——— Claiming.

  #pollIn(ms: number): void {
    if (this.#isStopped) return;
    const at = this.#world.clock.monotonic() + ms;
    if (at >= this.#pollAt) return;
    this.#poll?.cancel();
    this.#pollAt = at;
    this.#poll = this.#world.clock.after(ms, () => this.#pollNow(), "background");
  }

  #pollNow(): void {
    this.#pollAt = Number.POSITIVE_INFINITY;
    if (this.#polling !== undefined) {
      this.#again = true;
      return;
    }
    this.#polling = this.#claimAll().finally(() => {
      this.#polling = undefined;
      if (this.#again) {
        this.#again = false;
        this.#pollIn(0);
      }
    });
  }

  async #claimAll(): Promise<void> {
    const { pollMs, aheadMs, batchSize, namespace, leaseMs } = this.#settings;
    const { store, storeClock, clock, instruments, log, random } = this.#world;
    try {
      for (;;) {
        const room = batchSize * ROOM - this.#held.size;
        const all = this.#world.types();
        const types = all.filter((type) => (this.#heldOf.get(type) ?? 0) < this.#share(all.length));
        if (this.#isStopped) return;
        // Whatever ends makes room, and asks again.
        if (room <= 0 || types.length < all.length) this.#isFull = true;
        if (room <= 0 || types.length === 0) return this.#pollIn(pollMs);
        const limit = Math.min(batchSize, room);
        const askedAt = clock.monotonic();
        const claim = await store.claim({ namespace, types, limit, aheadMs, leaseMs, token: this.#token });
        this.#failures = 0;
        storeClock.heard(claim.now);
        for (const reminder of claim.reminders) this.#hold(reminder, askedAt + leaseMs);
        if (claim.reminders.length > 0) instruments.claimed(claim.reminders.length);
        if (claim.reminders.length === limit) continue;
        const next = (claim.next ?? Number.POSITIVE_INFINITY) - aheadMs - claim.now;
        return this.#pollIn(Math.max(Math.min(this.#restMs, next), SOON_MS));
      }
    } catch (err) {
      log[this.#failures === 0 ? "warn" : "debug"]("reminders cannot be claimed", { err });
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, pollMs);
      this.#pollIn(pause * (0.5 + random.number()));
    }
  }

  /** What one type may have of the room: half of it, when there are others. */
  #share(types: number): number {
    return (this.#settings.batchSize * ROOM) / (types > 1 ? 2 : 1);
  }

  #hold(reminder: ClaimedReminder, leaseUntil: number): void {
    const { generation, key, tick } = reminder;
    const before = this.#held.get(generation);
    // A row that comes a second time was ours all along: its first claim was answered late, or its lease ran out unnoticed.
    if (before !== undefined) {
      before.leaseUntil = leaseUntil;
      return;
    }
    const held: Held = { reminder, token: this.#token, tick, leaseUntil, state: "queued" };
    this.#held.set(generation, held);
    this.#heldOf.set(key.type, (this.#heldOf.get(key.type) ?? 0) + 1);
    this.#queue.push(held);
    this.#ring();
  }

  #drop(held: Held): void {
    if (held.state === "over") return;
    held.state = "over";
    const { generation, key } = held.reminder;
    this.#held.delete(generation);
    const left = (this.#heldOf.get(key.type) ?? 1) - 1;
    if (left > 0) this.#heldOf.set(key.type, left);
    else this.#heldOf.delete(key.type);
    if (this.#held.size === 0) this.#whenIdle?.();
  }

  // ——— Waiting for their moment.

  /** One timer, for the first of them. */
  #ring(): void {
    const { clock, storeClock } = this.#world;
    const first = this.#queue.peek();
    if (first === undefined || this.#isStopped || this.#running >= this.#settings.concurrency) return;
    const ms = Math.max(Math.ceil(first.tick.at - storeClock.now()), 0);
    const at = clock.monotonic() + ms;
    if (at >= this.#alarmAt) return;
    this.#alarm?.cancel();
    this.#alarmAt = at;
    this.#alarm = clock.after(ms, () => this.#due());
  }

  #due(): void {
    this.#alarmAt = Number.POSITIVE_INFINITY;
    const now = this.#world.storeClock.now();
    for (let count = 0; count < BURST && this.#running < this.#settings.concurrency; count++) {
      const first = this.#queue.peek();
      if (first === undefined || first.tick.at > now || this.#isStopped) break;
      this.#queue.pop();
      if (first.state === "queued") this.#begin(first, now);
    }
    this.#ring();
  }

  #begin(held: Held, now: number): void {
    const { clock, instruments, log } = this.#world;
    const { leaseMs } = this.#settings;
    if (clock.monotonic() > held.leaseUntil - leaseMs * MARGIN) {
      instruments.leaseLost(1);
      this.#drop(held);
      return;
    }
    let plan: Plan;
    try {
      plan = decodePlan(held.reminder.schedule);
    } catch (err) {
      log.error("a reminder cannot be read", { ...held.reminder.key, err });
      this.#settle(held, { kind: "dead", error: String((err as Error).message) });
      return;
    }
    const instead = held.tick.attempt > 0 ? held.tick : tickInstead(plan.schedule, held.tick, now, GRACE_MS);
    if (instead === undefined) {
      this.#settle(held, { kind: "done" });
    } else if (instead.due > now) {
      this.#goOn(held, { at: instead.due, due: instead.due, number: instead.number, attempt: 0 });
    } else {
      const { due, number } = instead;
      this.#deliver(held, plan, { at: held.tick.at, due, number, attempt: held.tick.attempt + 1 }, now);
    }
  }

  // ——— Delivering.

  #deliver(held: Held, plan: Plan, tick: Tick, now: number): void {
    const { instruments, deliver } = this.#world;
    held.state = "running";
    this.#running++;
    instruments.late((now - tick.due) / 1_000);
    const { reminder, token } = held;
    const fate = this.#afterSuccess(plan, tick, now);
    const settlement = { generation: reminder.generation, token, ...fate };
    deliver({ reminder, tick, plan, settlement }).then(
      ({ isSettled }) => {
        this.#ended();
        instruments.fired(1);
        if (isSettled) this.#drop(held);
        else if (fate.kind === "next") this.#goOn(held, fate.tick);
        else this.#settle(held, fate);
      },
      (error: unknown) => {
        this.#ended();
        this.#failed(held, plan, tick, error as LimpetError);
      },
    );
  }

  #ended(): void {
    this.#running--;
    if (this.#running === this.#settings.concurrency - 1) this.#ring();
  }

  #afterSuccess(plan: Plan, tick: Tick, now: number): ReminderFate {
    const next = tickAfter(plan.schedule, tick, now);
    if (next === undefined) return { kind: "done" };
    return { kind: "next", tick: { at: next.due, due: next.due, number: next.number, attempt: 0 }, leaseMs: undefined };
  }

  #failed(held: Held, plan: Plan, tick: Tick, error: LimpetError): void {
    const { storeClock, random, instruments, log } = this.#world;
    const { key } = held.reminder;
    if (isNobodysFault(error)) {
      // It did not get there: that is no attempt. Somebody else may have more luck.
      instruments.retried(1);
      const at = storeClock.now() + plan.policy.pauseMs * (0.5 + random.number());
      this.#goOn(held, { ...tick, at: Math.ceil(at), attempt: tick.attempt - 1 });
      return;
    }
    const pause = pauseAfter(tick.attempt, plan.policy, random.number());
    log.warn("a reminder failed", { ...key, attempt: tick.attempt, again: pause !== undefined, err: error });
    if (pause !== undefined) {
      instruments.retried(1);
      this.#goOn(held, { ...tick, at: Math.ceil(storeClock.now() + pause) });
      return;
    }
    instruments.failed(1);
    if (plan.policy.giveUp === "keep") {
      this.#settle(held, { kind: "dead", error: `${error?.name}: ${error?.message}` });
      return;
    }
    const after = this.#afterSuccess(plan, tick, storeClock.now());
    if (after.kind === "next") this.#goOn(held, after.tick);
    else this.#settle(held, after);
  }

  /** The next tick, or another try. If it is soon it stays here. */
  #goOn(held: Held, tick: Tick): void {
    const { storeClock, clock } = this.#world;
    const { aheadMs, leaseMs } = this.#settings;
    const isSoon = tick.at <= storeClock.now() + aheadMs && !this.#isStopped && held.state !== "over";
    const askedAt = clock.monotonic();
    const fate: ReminderFate = { kind: "next", tick, leaseMs: isSoon ? leaseMs : undefined };
    this.#say(held, fate, (counted) => {
      if (!isSoon || counted !== true || held.state === "over") {
        this.#drop(held);
        return;
      }
      held.tick = tick;
      held.leaseUntil = askedAt + leaseMs;
      held.state = "queued";
      this.#queue.push(held);
      this.#ring();
    });
  }

  #settle(held: Held, fate: ReminderFate): void {
    this.#say(held, fate, () => this.#drop(held));
  }

  #say(held: Held, fate: ReminderFate, then: (counted: boolean | undefined) => void): void {
    const { instruments, log } = this.#world;
    const { generation } = held.reminder;
    const settlement = { generation, token: held.token, ...fate };
    const said = (counted: boolean | undefined): void => {
      if (counted === false) instruments.replaced(1);
      then(counted);
      if (this.#isFull && this.#hasRoomFor(held.reminder.key.type)) {
        this.#isFull = false;
        this.#pollIn(0);
      }
    };
    this.#settling.ask(settlement, held.leaseUntil).then(said, (err: unknown) => {
      log.warn("the store was not told what became of a reminder; it may come again", { ...held.reminder.key, err });
      said(undefined);
    });
  }

  /** For a batch, so that it is worth asking. */
  #hasRoomFor(type: string): boolean {
    const { batchSize } = this.#settings;
    const isBelow = (this.#heldOf.get(type) ?? 0) <= this.#share(this.#world.types().length) - batchSize;
    return isBelow && this.#held.size <= batchSize * (ROOM - 1);
  }

  // ——— Leases.

  #renewLater(): void {
    const { leaseMs } = this.#settings;
    this.#renewal = this.#world.clock.after(leaseMs / RENEWALS, () => void this.#renew(), "background");
  }

  async #renew(): Promise<void> {
    const { store, clock, instruments, log } = this.#world;
    const { leaseMs } = this.#settings;
    const askedAt = clock.monotonic();
    const mine = [...this.#held.values()].filter(({ leaseUntil }) => leaseUntil < askedAt + leaseMs / 2);
    try {
      if (mine.length > 0) {
        const generations = mine.map(({ reminder }) => reminder.generation);
        const lost = new Set(await store.renew(generations, this.#token, leaseMs));
        for (const held of mine) {
          if (!lost.has(held.reminder.generation)) held.leaseUntil = Math.max(held.leaseUntil, askedAt + leaseMs);
          // One that runs comes to its end; what it says then does not count.
          else if (held.state === "queued") this.#drop(held);
        }
        if (lost.size > 0) instruments.leaseLost(lost.size);
      }
    } catch (err) {
      log.debug("leases of reminders cannot be renewed", { err });
    }
    if (!this.#isStopped) this.#renewLater();
  }

  // ——— The end.

  /** Gives back what has not begun and waits for the rest, bounded by the time given. */
  async stop(ms: number): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const timer of [this.#poll, this.#alarm]) timer?.cancel();
    this.#unwatch?.();
    await this.#polling;
    for (const held of [...this.#held.values()]) {
      if (held.state === "queued") this.#settle(held, { kind: "release" });
    }
    if (this.#held.size > 0) {
      await new Promise<void>((resolve) => {
        const late = this.#world.clock.after(ms, resolve);
        this.#whenIdle = () => {
          late.cancel();
          resolve();
        };
      });
    }
    this.#renewal?.cancel();
  }
}

/** The tick never reached its actor, and nothing is wrong with it. */
const isNobodysFault = (error: unknown): boolean =>
  isLimpetError(error) && ["NO_HOST", "STOPPING", "NOT_READY", "NOT_SETTLED", "OWNER_AWAY"].includes(error.code);
