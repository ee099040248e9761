// Decides which reminders a process claims: of which types, how many, how far ahead, and when. Pure: the
// claim loop has the timer and sends the claims.
//
// - While a claim is full, the next one follows at once; types that filled a claim let the others go first.
// - Types with enough claimed reminders are left out until some of them are done.
// - When half of the capacity is in use, only reminders due very soon are claimed. Others would occupy it
//   until their due time, and reminders that are set later and due earlier would find no capacity.
import { type ClaimedReminder, NOTIFY_AHEAD_MS } from "../ports/store/reminders.ts";
import type { FairCapacity } from "./fair-capacity.ts";

export interface ClaimSettings {
  readonly namespace: string;
  /** The longest pause between two claims. */
  readonly pollMs: number;
  /** Reminders due within this are claimed. */
  readonly aheadMs: number;
  /** Reminders in one claim. */
  readonly batchSize: number;
  readonly leaseMs: number;
}

/** The scope of one claim. */
export interface ClaimScope {
  readonly types: readonly string[];
  readonly limit: number;
  readonly aheadMs: number;
}

/** The pause between a write and the next claim. */
const SOON_MS = 1;
/** The share of the capacity that is reserved for reminders due within NEAR_MS. */
const RESERVED = 0.5;
/** Long enough for a busy process to claim in time. */
const NEAR_MS = 250;

const NONE: ReadonlySet<string> = new Set();

export class ClaimPlan {
  readonly #settings: ClaimSettings;
  readonly #capacity: FairCapacity;
  /** The pause between claims when no reminder is due. */
  #restMs: number;
  /** Types of the last claim, if it was full. */
  #filled = NONE;
  /** Types without free capacity at the last claim. */
  #leftOut = NONE;
  /** The last claim left out types that had filled the claim before. */
  #isPartial = false;
  /** The last claim was limited to near reminders for lack of capacity. */
  #wasNear = false;
  /**
   * Whether this process has at most one type. It is read for every reminder that ends, so the types are not
   * computed each time.
   */
  #isAlone = true;

  constructor(settings: ClaimSettings, capacity: FairCapacity) {
    this.#settings = settings;
    this.#capacity = capacity;
    this.#restMs = settings.pollMs;
  }

  get restMs(): number {
    return this.#restMs;
  }

  /** The claim horizon: reminders due within this time may be claimed now. */
  get horizonMs(): number {
    const { aheadMs } = this.#settings;
    return this.#isNarrow ? Math.min(aheadMs, NEAR_MS) : aheadMs;
  }

  /** Only the reserved capacity is left. */
  get #isNarrow(): boolean {
    return this.#capacity.left <= this.#reserved;
  }

  get #reserved(): number {
    return Math.floor(this.#capacity.all * RESERVED);
  }

  /**
   * The store notifies of writes. It is polled as well: a notification may get lost, and rows written with a
   * lease cause none. One poll per lease finds expired leases in time.
   */
  notified(): void {
    const { pollMs, aheadMs, leaseMs } = this.#settings;
    this.#restMs = Math.max(pollMs, Math.min((NOTIFY_AHEAD_MS - aheadMs) / 2, leaseMs));
  }

  /** The scope of the next claim; undefined: no type has free capacity. */
  next(types: readonly string[]): ClaimScope | undefined {
    this.#isAlone = types.length < 2;
    const open = types.filter((type) => this.#capacity.freeFor(type, this.#isAlone) > 0);
    this.#leftOut = open.length < types.length ? new Set(types.filter((type) => !open.includes(type))) : NONE;
    if (open.length === 0) return undefined;
    const others = open.filter((type) => !this.#filled.has(type));
    this.#isPartial = others.length > 0 && others.length < open.length;
    this.#wasNear = this.#isNarrow;
    const free = this.#wasNear ? this.#capacity.left : this.#capacity.left - this.#reserved;
    const limit = Math.min(this.#settings.batchSize, free);
    return { types: others.length > 0 ? others : open, limit, aheadMs: this.horizonMs };
  }

  /** Takes the result of a claim. True: another claim follows at once. */
  claimed({ limit }: ClaimScope, reminders: readonly ClaimedReminder[]): boolean {
    const isFull = reminders.length === limit;
    this.#filled = isFull ? new Set(reminders.map(({ key }) => key.type)) : NONE;
    return isFull || this.#isPartial;
  }

  /** The series of claims is over. */
  ended(): void {
    this.#filled = NONE;
  }

  /** The pause before the next claim. `nextIn`: the time until the next stored reminder may be claimed. */
  pauseMs(nextIn: number): number {
    const rest = this.#leftOut.size > 0 ? this.#settings.pollMs : this.#restMs;
    return Math.max(Math.min(rest, nextIn), SOON_MS);
  }

  /** The pause before a claim of a reminder that is due in `ms`; undefined: the next poll finds it. */
  pauseUntilDue(ms: number): number | undefined {
    const pauseMs = ms - this.horizonMs;
    return pauseMs <= this.#restMs ? Math.max(pauseMs, SOON_MS) : undefined;
  }

  /** A claimed reminder is done. True: the free capacity is worth a claim. */
  capacityFreed(): boolean {
    if (this.#leftOut.size === 0 && !this.#wasNear) return false;
    const { all, left } = this.#capacity;
    // Not for every single one: a claim should fetch several reminders.
    const enough = Math.ceil(Math.min(this.#settings.batchSize, all / 4) / (this.#isAlone ? 1 : 2));
    if (this.#wasNear && left >= this.#reserved + enough) {
      this.#wasNear = false;
      return true;
    }
    for (const type of this.#leftOut) {
      if (this.#capacity.freeFor(type, this.#isAlone) < enough) continue;
      this.#leftOut = NONE;
      return true;
    }
    return false;
  }
}
