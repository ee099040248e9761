// When the store is asked for reminders that are due soon, and for which types.
//
// - It is asked when something is known to be due soon, when the store tells that others have written something, when this process can
//   deliver types that it could not before, and now and then.
// - While there is more than fits into one claim, it is asked again at once; types that have filled a claim let the others go first.
// - Types of which enough are held are left out until some of them are done.
// - When half of the room is taken, only what is due very soon is taken on: whatever is not would wait there for its moment, and others
//   that are set later and due earlier would find no room.
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import { type ClaimedReminder, type Reminders, TOLD_AHEAD_MS } from "../ports/store/reminders.ts";
import type { FairCapacity } from "./fair-capacity.ts";
import type { StoreClock } from "./store-clock.ts";

export interface ClaimerSettings {
  readonly namespace: string;
  /** How often the store is asked at least. */
  readonly pollMs: number;
  /** Reminders due within this are claimed. */
  readonly aheadMs: number;
  /** So many at a time. */
  readonly batchSize: number;
  readonly leaseMs: number;
}

export interface ClaimerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Reminders;
  readonly storeClock: StoreClock;
  /** Of the room for what is held. */
  readonly room: FairCapacity;
  /** Types whose reminders can be delivered from here now. */
  types(): readonly string[];
  /** `leaseUntil` is on the monotonic clock. */
  claimed(reminder: ClaimedReminder, token: string, leaseUntil: number): void;
}

const FIRST_PAUSE_MS = 50;
/** How soon after something was written claims are made. */
const SOON_MS = 1;

/** Of the room, for what is due within NEAR_MS. */
const KEPT = 0.5;
/** Long enough to be claimed in time by who is busy. */
const NEAR_MS = 250;

const NONE: ReadonlySet<string> = new Set();

export class Claimer {
  readonly #settings: ClaimerSettings;
  readonly #deps: ClaimerDeps;
  #polling: Promise<void> | undefined;
  #again = false;
  #leftOut = NONE;
  #failures = 0;
  /** How often the store is asked when there is nothing to do. */
  #restMs: number;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  /** When the store is to be asked, on the monotonic clock. */
  #askAt = Number.POSITIVE_INFINITY;
  /** For which it was asked. */
  #asked = "";
  /** Whether that was no more than one type. This is called for every reminder that ends, so types are not asked for each time. */
  #isAlone = true;
  /** Only for what is near, for want of room. */
  #wasNear = false;
  #unwatch: (() => void) | undefined;
  #isRunning = false;

  constructor(settings: ClaimerSettings, deps: ClaimerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#restMs = settings.pollMs;
  }

  /** Reminders due within this may be taken on now. */
  get horizonMs(): number {
    const { aheadMs } = this.#settings;
    return this.#isNarrow ? Math.min(aheadMs, NEAR_MS) : aheadMs;
  }

  /** There is only the room that is kept. */
  get #isNarrow(): boolean {
    return this.#deps.room.left <= this.#kept;
  }

  /** So much of the room is kept. */
  get #kept(): number {
    return Math.floor(this.#deps.room.all * KEPT);
  }

  start(): void {
    const { namespace, pollMs, aheadMs, leaseMs } = this.#settings;
    this.#isRunning = true;
    this.#unwatch = this.#deps.store.watch(namespace, () => this.#pollIn(0));
    // A store that tells is asked all the same, now and then: what it says may get lost, and what others take on themselves it does not
    // say. Who looks once within a lease knows in time when it ends.
    const restMs = Math.min((TOLD_AHEAD_MS - aheadMs) / 2, leaseMs);
    if (this.#unwatch !== undefined) this.#restMs = Math.max(pollMs, restMs);
    this.#pollIn(0);
  }

  /** Resolves when nothing is claimed any more. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#unwatch?.();
    await this.#polling;
  }

  /** Something is due at that moment of the store's clock, and free to be claimed. */
  expect(at: number): void {
    const ms = at - this.horizonMs - this.#deps.storeClock.now();
    // What is farther away is found by the next look.
    if (ms <= this.#restMs) this.#pollIn(Math.max(ms, SOON_MS));
  }

  /** Something that was held is not any more. */
  roomMade(): void {
    if (this.#leftOut.size === 0 && !this.#wasNear) return;
    const isAlone = this.#isAlone;
    // Not for every single one: a claim should be worth it.
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

  /** Types come and go without a word, so they are looked at as often as a store is asked that does not tell. */
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
      log[this.#failures === 0 ? "warn" : "debug"]("reminders cannot be claimed", { err });
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, pollMs);
      this.#pollIn(pause * (0.5 + random.number()));
    }
  }

  /** How long it takes until there may be more. */
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
      // A new one each time: what was said of a row while it was ours before must not be taken for a word about this claim.
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

  /** What is set where nothing can be delivered is due by the store's clock as well, whatever our own says. */
  async askTime(): Promise<number> {
    const { namespace, aheadMs, leaseMs } = this.#settings;
    const { store, storeClock, clock, random } = this.#deps;
    const askedAt = clock.monotonic();
    const nothing = { types: [], limit: 1, token: random.id() };
    const { now } = await store.claim({ namespace, aheadMs, leaseMs, ...nothing });
    storeClock.heard(now, askedAt);
    return this.#restMs;
  }

  /** Types of which there is not enough here yet. */
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
