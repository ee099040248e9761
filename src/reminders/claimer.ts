// Decides when to claim due reminders, and of which types.
//
// - Claims run when a reminder is known to be due soon, when the store notifies of writes by others, when
//   this process gains types, and periodically.
// - While a claim is full, the next one follows at once; types that filled a claim let the others go first.
// - Types with enough claimed reminders are left out until some of them are done.
// - When half of the capacity is in use, only reminders due very soon are claimed. Others would occupy it
//   until their due time, and reminders that are set later and due earlier would find no capacity.
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import { type ClaimedReminder, type Reminders, TOLD_AHEAD_MS } from "../ports/store/reminders.ts";
import type { FairCapacity } from "./fair-capacity.ts";
import type { StoreClock } from "./store-clock.ts";

export interface ClaimerSettings {
  readonly namespace: string;
  /** The longest pause between two claims. */
  readonly pollMs: number;
  /** Reminders due within this are claimed. */
  readonly aheadMs: number;
  /** Reminders in one claim. */
  readonly batchSize: number;
  readonly leaseMs: number;
}

export interface ClaimerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Reminders;
  readonly storeClock: StoreClock;
  /** The capacity for claimed reminders. */
  readonly room: FairCapacity;
  /** Types whose reminders this process can deliver now. */
  types(): readonly string[];
  /** `leaseUntil` is on the monotonic clock. */
  claimed(reminder: ClaimedReminder, token: string, leaseUntil: number): void;
}

const FIRST_PAUSE_MS = 50;
/** The pause between a write and the next claim. */
const SOON_MS = 1;

/** The share of the capacity that is reserved for reminders due within NEAR_MS. */
const KEPT = 0.5;
/** Long enough for a busy process to claim in time. */
const NEAR_MS = 250;

const NONE: ReadonlySet<string> = new Set();

export class Claimer {
  readonly #settings: ClaimerSettings;
  readonly #deps: ClaimerDeps;
  #polling: Promise<void> | undefined;
  #again = false;
  #leftOut = NONE;
  #failures = 0;
  /** The pause between claims when no reminder is due. */
  #restMs: number;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  /** The time of the next claim, on the monotonic clock. */
  #askAt = Number.POSITIVE_INFINITY;
  /** The types of the last claim. */
  #asked = "";
  /**
   * Whether this process has at most one type. It is read for every reminder that ends, so the types are not
   * computed each time.
   */
  #isAlone = true;
  /** The last claim was limited to near reminders for lack of capacity. */
  #wasNear = false;
  #unwatch: (() => void) | undefined;
  #isRunning = false;

  constructor(settings: ClaimerSettings, deps: ClaimerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#restMs = settings.pollMs;
  }

  /** The claim horizon: reminders due within this time may be claimed now. */
  get horizonMs(): number {
    const { aheadMs } = this.#settings;
    return this.#isNarrow ? Math.min(aheadMs, NEAR_MS) : aheadMs;
  }

  /** Only the reserved capacity is left. */
  get #isNarrow(): boolean {
    return this.#deps.room.left <= this.#kept;
  }

  /** The reserved capacity. */
  get #kept(): number {
    return Math.floor(this.#deps.room.all * KEPT);
  }

  start(): void {
    const { namespace, pollMs, aheadMs, leaseMs } = this.#settings;
    this.#isRunning = true;
    this.#unwatch = this.#deps.store.watch(namespace, () => this.#pollIn(0));
    // A store with notifications is polled as well: a notification may get lost, and rows written with a
    // lease cause none. One poll per lease finds expired leases in time.
    const restMs = Math.min((TOLD_AHEAD_MS - aheadMs) / 2, leaseMs);
    if (this.#unwatch !== undefined) this.#restMs = Math.max(pollMs, restMs);
    this.#pollIn(0);
  }

  /** Resolves when no claim is in progress any more. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#unwatch?.();
    await this.#polling;
  }

  /** A reminder without a lease is due at that time of the store's clock. */
  expect(at: number): void {
    const ms = at - this.horizonMs - this.#deps.storeClock.now();
    // Later reminders are found by the next poll.
    if (ms <= this.#restMs) this.#pollIn(Math.max(ms, SOON_MS));
  }

  /** A claimed reminder is done. */
  roomMade(): void {
    if (this.#leftOut.size === 0 && !this.#wasNear) return;
    const isAlone = this.#isAlone;
    // Not for every single one: a claim should fetch several reminders.
    const { all } = this.#deps.room;
    const enough = Math.ceil(Math.min(this.#settings.batchSize, all / 4) / (isAlone ? 1 : 2));
    if (this.#wasNear && this.#deps.room.left >= this.#kept + enough) {
      this.#wasNear = false;
      this.#pollIn(0);
      return;
    }
    for (const type of this.#leftOut) {
      if (this.#deps.room.roomFor(type, isAlone) < enough) continue;
      this.#leftOut = NONE;
      this.#pollIn(0);
      return;
    }
  }

  #pollIn(ms: number): void {
    this.#askAt = Math.min(this.#askAt, this.#deps.clock.monotonic() + ms);
    this.#arm();
  }

  /**
   * Types change without a notification, so they are checked as often as a store without notifications is
   * polled.
   */
  #arm(): void {
    const { clock } = this.#deps;
    const at = Math.min(this.#askAt, clock.monotonic() + this.#settings.pollMs);
    if (!this.#isRunning || at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    const ms = at - clock.monotonic();
    this.#timer = ms > 0 ? clock.after(ms, () => this.#look(), "background") : undefined;
    // Even the shortest timer takes a millisecond.
    if (ms <= 0) clock.soon(() => this.#look());
  }

  #look(): void {
    if (!this.#isRunning) return;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const isTime = this.#deps.clock.monotonic() >= this.#askAt;
    if (!isTime && this.#deps.types().join() === this.#asked) {
      this.#arm();
      return;
    }
    this.#askAt = Number.POSITIVE_INFINITY;
    if (this.#polling !== undefined) {
      this.#again = true;
      return;
    }
    this.#polling = this.#claimAll().finally(() => {
      this.#polling = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.#pollIn(0);
    });
  }

  async #claimAll(): Promise<void> {
    const { log, random } = this.#deps;
    const { pollMs } = this.#settings;
    try {
      this.#pollIn(await this.#claimWhileFull());
      this.#failures = 0;
    } catch (err) {
      log[this.#failures === 0 ? "warn" : "debug"]("reminder.claim.failed", { err });
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, pollMs);
      this.#pollIn(pause * (0.5 + random.number()));
    }
  }

  /** Returns the time until more reminders may be due. */
  async #claimWhileFull(): Promise<number> {
    const { pollMs, batchSize, namespace, leaseMs } = this.#settings;
    const { store, storeClock, clock, room, claimed } = this.#deps;
    let filled = NONE;
    while (this.#isRunning) {
      const all = this.#hungry();
      if (all.length === 0) return this.#asked === "" ? this.askTime() : pollMs;
      const others = all.filter((type) => !filled.has(type));
      const types = others.length > 0 ? others : all;
      const aheadMs = this.horizonMs;
      this.#wasNear = this.#isNarrow;
      const limit = Math.min(batchSize, this.#wasNear ? room.left : room.left - this.#kept);
      // A new token for each claim: a late write for an earlier claim of the row must not count for this one.
      const token = `${this.#deps.random.id()}${store.tokenMark?.() ?? ""}`;
      const askedAt = clock.monotonic();
      const { now, reminders, next } = await store.claim({ namespace, types, limit, aheadMs, leaseMs, token });
      storeClock.heard(now, askedAt);
      for (const reminder of reminders) claimed(reminder, token, askedAt + leaseMs);
      const isFull = reminders.length === limit;
      filled = isFull ? new Set(reminders.map(({ key }) => key.type)) : NONE;
      if (isFull || types.length < all.length) continue;
      const rest = this.#leftOut.size > 0 ? pollMs : this.#restMs;
      return Math.max(Math.min(rest, (next ?? Number.POSITIVE_INFINITY) - now), SOON_MS);
    }
    return pollMs;
  }

  /** Learns the store's time, by which reminders are due, in a process that delivers none. */
  async askTime(): Promise<number> {
    const { namespace, aheadMs, leaseMs } = this.#settings;
    const { store, storeClock, clock, random } = this.#deps;
    const askedAt = clock.monotonic();
    const nothing = { types: [], limit: 1, token: random.id() };
    const { now } = await store.claim({ namespace, aheadMs, leaseMs, ...nothing });
    storeClock.heard(now, askedAt);
    return this.#restMs;
  }

  /** Types with free capacity. */
  #hungry(): readonly string[] {
    const types = this.#deps.types();
    this.#asked = types.join();
    this.#isAlone = types.length < 2;
    const isHungry = (type: string): boolean => this.#deps.room.roomFor(type, this.#isAlone) > 0;
    const hungry = types.filter(isHungry);
    this.#leftOut = hungry.length < types.length ? new Set(types.filter((type) => !hungry.includes(type))) : NONE;
    return hungry;
  }
}
