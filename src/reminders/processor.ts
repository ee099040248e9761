// Moves claimed reminders through their states (`claimed.ts`): claim, wait, check, delivery, settlement. Any
// number of processes do this on one store; the first claim wins.
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
import type { Timer } from "../ports/clock.ts";
import type { ClaimedReminder, OwnLease, ReminderKey, Tick, TickOutcome } from "../ports/store/reminders.ts";
import { ClaimLoop } from "./claim-loop.ts";
import type { ClaimSettings } from "./claim-plan.ts";
import { ClaimedEntries, type ClaimedEntry, type ReminderClaim } from "./claimed.ts";
import { type Deliver, Deliverer } from "./delivery.ts";
import { DueTimer } from "./due-timer.ts";
import { FairCapacity } from "./fair-capacity.ts";
import { Leases, RENEWALS_PER_LEASE } from "./leases.ts";
import type { ReminderPorts } from "./reminder-ports.ts";
import { Settler } from "./settler.ts";

export interface ProcessorSettings extends ClaimSettings {
  /** Concurrent deliveries. */
  readonly concurrency: number;
}

export interface ProcessorDeps extends ReminderPorts {
  /** Types whose reminders this process can deliver now. */
  types(): readonly string[];
  /** Whether this process can deliver the type now. */
  delivers(type: string): boolean;
  readonly deliver: Deliver;
}

/** More reminders are claimed than run at once, so that the next ones are ready when one ends. */
const BATCHES = 4;
/** But not many times as many: reminders that cannot begin here may begin elsewhere. */
const SPARE = 2;
/** The share of a lease that must be left to begin a delivery. */
const MARGIN = 0.2;
/** The lease is verified this long before the due time, early enough for a punctual delivery. */
const CHECK_AHEAD_MS = 25;
/** A verification counts for this long. */
const VERIFIED_MS = 1_000;

const RELEASE: TickOutcome = { kind: "release" };

export class Processor {
  readonly #settings: ProcessorSettings;
  readonly #deps: ProcessorDeps;
  readonly #claims: ClaimLoop;
  readonly #leases: Leases;
  readonly #settler: Settler;
  readonly #deliverer: Deliverer;
  readonly #timer: DueTimer;
  readonly #entries = new ClaimedEntries();
  /** Claimed reminders and reserved places. */
  readonly #capacity: FairCapacity;
  /** Concurrent checks and deliveries. */
  readonly #slots: FairCapacity;
  /**
   * Tokens of rows that are written with a lease: one for each, of a random text and a number. A store
   * restored from a backup assigns generations again, so with one token for all an old claim would settle
   * another reminder.
   */
  readonly #ownToken: string;
  #ownLeases = 0;
  #isAlone = true;
  #renewal: Timer | undefined;
  #isStopped = false;
  #whenIdle: (() => void) | undefined;

  constructor(settings: ProcessorSettings, deps: ProcessorDeps) {
    this.#settings = settings;
    this.#deps = deps;
    const { random, instruments } = deps;
    this.#ownToken = random.id();
    this.#capacity = new FairCapacity(Math.min(settings.batchSize * BATCHES, settings.concurrency * SPARE));
    this.#slots = new FairCapacity(settings.concurrency);
    this.#settler = new Settler(deps);
    this.#leases = new Leases(settings.leaseMs, deps);
    this.#timer = new DueTimer({
      ...deps,
      mayBegin: (type) => this.#slots.freeFor(type, this.#isAlone) > 0,
      wake: (entry, now) => this.#wake(entry, now),
    });
    this.#deliverer = new Deliverer({
      ...deps,
      slots: this.#slots,
      results: {
        settle: (entry, outcome) => this.#settle(entry, outcome),
        proceed: (entry, tick, mayStay) => this.#proceed(entry, tick, mayStay),
        drop: (entry, next) => {
          this.#drop(entry);
          if (next !== undefined) this.#claims.expect(next.at);
        },
        slotFreed: () => this.#timer.arm(),
      },
    });
    this.#claims = new ClaimLoop(settings, {
      ...deps,
      capacity: this.#capacity,
      types: () => this.#types(),
      claimed: (reminder, token, leaseUntil) => {
        instruments.claimed(1);
        this.#add({ reminder, token, leaseUntil });
      },
    });
  }

  start(): void {
    this.#renewLater();
    this.#claims.start();
  }

  /** Claimed reminders, and the running ones among them; for metrics. */
  get size(): { readonly claimed: number; readonly running: number } {
    return { claimed: this.#entries.size, running: this.#deliverer.running };
  }

  /** A reminder without a lease is due at that time. */
  expect(at: number): void {
    this.#claims.expect(at);
  }

  /** This process replaced or cancelled the reminder: its claimed entry may be outdated. */
  invalidate(key: ReminderKey): void {
    const entry = this.#entries.ofKey(key);
    if (entry === undefined) return;
    entry.invalidations++;
    entry.verifiedUntil = Number.NEGATIVE_INFINITY;
  }

  /** Learns the store's time. */
  async askTime(): Promise<void> {
    await this.#claims.askTime();
  }

  /**
   * A lease for a reminder that is due soon, if there is capacity. The place is reserved until `unreserve`.
   */
  ownLease(type: string, at: number): OwnLease | undefined {
    const isSoon = at <= this.#deps.storeClock.now() + this.#claims.horizonMs;
    const hasCapacity = !this.#isStopped && this.#capacity.freeFor(type, this.#isAlone) > 0;
    if (!isSoon || !hasCapacity) return undefined;
    this.#capacity.take(type);
    const mark = this.#deps.store.tokenMark?.() ?? "";
    const token = `${this.#ownToken}.${(++this.#ownLeases).toString(36)}${mark}`;
    return { token, leaseMs: this.#settings.leaseMs };
  }

  /** The write with such a lease succeeded or failed. */
  unreserve(type: string): void {
    this.#capacity.free(type);
    this.#claims.capacityFreed();
  }

  /** The reminder was written with such a lease, at `askedAt` of the monotonic clock or later. */
  adopt(reminder: ClaimedReminder, { token, leaseMs }: OwnLease, askedAt: number): void {
    // The answer was late, and the reminder was claimed or found since.
    if (this.#entries.has(reminder)) return;
    this.#deps.instruments.claimed(1);
    const entry = this.#add({ reminder, token, leaseUntil: askedAt + leaseMs });
    if (this.#isStopped && entry !== undefined) this.#settle(entry, RELEASE);
  }

  #types(): readonly string[] {
    const types = this.#deps.types();
    this.#isAlone = types.length < 2;
    return types;
  }

  // ——— Claimed entries.

  /** `isFresh`: the store has just confirmed the claim. */
  #add(claim: ReminderClaim, isFresh = true): ClaimedEntry | undefined {
    const before = this.#entries.ofGeneration(claim.reminder.generation);
    if (before !== undefined && !this.#isReplaced(before, claim)) return undefined;
    const entry = this.#entries.add(claim);
    this.#capacity.take(claim.reminder.key.type);
    if (isFresh) this.#verified(entry);
    this.#wait(entry);
    return entry;
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

  #drop(entry: ClaimedEntry): void {
    if (entry.state === "over") return;
    entry.state = "over";
    this.#entries.remove(entry);
    this.#capacity.free(entry.reminder.key.type);
    if (entry.again !== undefined) this.#addAgain(entry.again);
    this.#claims.capacityFreed();
    if (this.#entries.size === 0) this.#whenIdle?.();
  }

  #addAgain(claim: ReminderClaim): void {
    const entry = this.#add(claim, false);
    if (entry !== undefined && this.#isStopped) this.#settle(entry, RELEASE);
  }

  /** The store has just confirmed the claim. */
  #verified(entry: ClaimedEntry): void {
    const { clock, storeClock } = this.#deps;
    const isSoon = storeClock.now() >= entry.tick.at - CHECK_AHEAD_MS;
    entry.verifiedUntil = isSoon ? clock.monotonic() + VERIFIED_MS : Number.NEGATIVE_INFINITY;
  }

  #isVerified({ verifiedUntil, leaseUntil }: ClaimedEntry): boolean {
    return this.#deps.clock.monotonic() <= Math.min(verifiedUntil, leaseUntil - this.#settings.leaseMs * MARGIN);
  }

  // ——— Waiting and checking.

  #wait(entry: ClaimedEntry): void {
    entry.state = "waiting";
    entry.wakeAt = this.#isVerified(entry) ? entry.tick.at : entry.tick.at - CHECK_AHEAD_MS;
    this.#timer.add(entry);
  }

  #wake(entry: ClaimedEntry, now: number): void {
    if (!this.#deps.delivers(entry.reminder.key.type)) this.#settle(entry, RELEASE);
    else if (!this.#isVerified(entry)) this.#check(entry);
    else this.#deliverer.begin(entry, now);
  }

  #check(entry: ClaimedEntry): void {
    const { instruments, log } = this.#deps;
    const { type } = entry.reminder.key;
    const { invalidations } = entry;
    entry.state = "checking";
    this.#slots.take(type);
    const checked = (leaseUntil: number | undefined): void => {
      this.#slots.free(type);
      if (entry.state === "over" || leaseUntil === undefined) {
        this.#drop(entry);
        this.#timer.arm();
        return;
      }
      entry.leaseUntil = leaseUntil;
      if (entry.invalidations === invalidations) this.#verified(entry);
      if (this.#isStopped) this.#settle(entry, RELEASE);
      else this.#wait(entry);
    };
    this.#leases.check(entry).then(
      (leaseUntil) => {
        if (leaseUntil === undefined) instruments.replaced(1);
        checked(leaseUntil);
      },
      (err: unknown) => {
        log.debug("reminder.check.failed", { ...entry.reminder.key, err });
        instruments.leaseLost(1);
        checked(undefined);
      },
    );
  }

  // ——— Settling.

  /**
   * Writes the next tick or a retry. If it is soon, the entry stays here, unless other processes should have
   * it.
   */
  #proceed(entry: ClaimedEntry, tick: Tick, mayStay = true): void {
    const { storeClock, clock } = this.#deps;
    const { aheadMs, leaseMs } = this.#settings;
    // Without capacity for its type, a frequent reminder must not keep its place: the earliest due reminder
    // gets it.
    const hasCapacity = this.#capacity.freeFor(entry.reminder.key.type, this.#isAlone) > 0;
    const stays = mayStay && hasCapacity && tick.at <= storeClock.now() + aheadMs && !this.#isStopped;
    const askedAt = clock.monotonic();
    this.#settler.settle(entry, { kind: "next", tick, leaseMs: stays ? leaseMs : undefined }, (counted) => {
      const isOurs = stays && counted === true && entry.again === undefined;
      if (isOurs && !this.#isStopped) {
        entry.tick = tick;
        entry.leaseUntil = askedAt + leaseMs;
        this.#verified(entry);
        this.#wait(entry);
        return;
      }
      if (isOurs) this.#settle(entry, RELEASE);
      else this.#drop(entry);
      // A process that could not deliver the tick claims it again only at its due time: until then it is for
      // others.
      if (counted !== false) this.#claims.expect(mayStay ? tick.at : tick.at + aheadMs);
    });
  }

  #settle(entry: ClaimedEntry, outcome: TickOutcome): void {
    this.#settler.settle(entry, outcome, () => this.#drop(entry));
  }

  // ——— Leases.

  #renewLater(): void {
    const { leaseMs } = this.#settings;
    this.#renewal = this.#deps.clock.after(leaseMs / RENEWALS_PER_LEASE, () => void this.#renew(), "background");
  }

  async #renew(): Promise<void> {
    this.#releaseLate();
    await this.#leases.renewAll(this.#entries.values(), (entry) => this.#drop(entry));
    if (this.#renewal !== undefined) this.#renewLater();
  }

  /** Releases entries that were due at the previous renewal or earlier, and could not begin since. */
  #releaseLate(): void {
    const { concurrency, leaseMs } = this.#settings;
    const since = this.#deps.storeClock.now() - leaseMs / RENEWALS_PER_LEASE;
    const late = this.#entries.values().filter(({ state, tick }) => state === "waiting" && tick.at < since);
    if (late.length > 0) this.#capacity.narrow(Math.max(this.#capacity.taken - late.length, concurrency));
    else this.#capacity.widen();
    for (const entry of late) this.#settle(entry, RELEASE);
  }

  // ——— Stop.

  /** Returns reminders that have not begun and waits for the rest, for at most this time. */
  async stop(ms: number): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#timer.stop();
    const late = Promise.withResolvers<void>();
    const timeout = this.#deps.clock.after(ms, late.resolve);
    await Promise.race([late.promise, this.#empty()]);
    this.#settler.end();
    this.#leases.end();
    timeout.cancel();
    this.#renewal?.cancel();
    this.#renewal = undefined;
  }

  async #empty(): Promise<void> {
    await this.#claims.stop();
    for (const entry of this.#entries.values()) if (entry.state === "waiting") this.#settle(entry, RELEASE);
    if (this.#entries.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
  }
}
