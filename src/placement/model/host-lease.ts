// A host's lease, as the host itself counts it. It counts from the moment it *sent* a renewal that was answered, the leader
// from the moment it answered: so the host's idea of the end is always the earlier one, whatever their clocks show.
//
//   0 ─────────────── 70 % ─────────── 85 % ─────── 100 %
//   turns begin        none begins      nothing left  the leader may give its actors to others
//
// Two clocks are asked. The monotonic one never jumps, but it stands still while the machine sleeps; the wall clock shows
// the sleep, but may be set. Whichever says that more time has passed is believed. Pure.

/** Of the lease: after this, no turn begins. */
const LAST_BEGINNING = 0.7;
/** After this, nothing is left in memory. */
const LAST_MOMENT = 0.85;
/** How often it is renewed within a lease. */
const RENEWALS = 5;
/** Renewals under way whose answers still count. */
const REMEMBERED = 16;

interface Moment {
  readonly mono: number;
  readonly wall: number;
}

export class HostLease {
  #leaseMs = 0;
  #lastSequence = 0;
  readonly #sent = new Map<number, Moment>();
  /** When the renewal was sent that counts; undefined: there is no lease. */
  #since: Moment | undefined;
  // Kept ready, because they are compared before every turn.
  #beginMono = Number.NEGATIVE_INFINITY;
  #beginWall = Number.NEGATIVE_INFINITY;
  #endMono = Number.NEGATIVE_INFINITY;
  #endWall = Number.NEGATIVE_INFINITY;

  get renewEveryMs(): number {
    return this.#leaseMs / RENEWALS;
  }

  /** The leader says how long leases are. What is held already keeps its end. */
  length(leaseMs: number): void {
    this.#leaseMs = leaseMs;
  }

  /** A renewal is about to be sent; its answer will carry this number. */
  renewing(mono: number, wall: number): number {
    const sequence = ++this.#lastSequence;
    this.#sent.set(sequence, { mono, wall });
    if (this.#sent.size > REMEMBERED) this.#sent.delete(sequence - REMEMBERED);
    return sequence;
  }

  renewed(sequence: number): void {
    const sent = this.#sent.get(sequence);
    if (sent === undefined) return;
    for (const earlier of this.#sent.keys()) if (earlier <= sequence) this.#sent.delete(earlier);
    if (this.#since !== undefined && sent.mono <= this.#since.mono) return;
    this.#since = sent;
    this.#beginMono = sent.mono + this.#leaseMs * LAST_BEGINNING;
    this.#beginWall = sent.wall + this.#leaseMs * LAST_BEGINNING;
    this.#endMono = sent.mono + this.#leaseMs * LAST_MOMENT;
    this.#endWall = sent.wall + this.#leaseMs * LAST_MOMENT;
  }

  /** Everything has been let go; only a renewal sent from now on counts. */
  lost(): void {
    this.#sent.clear();
    this.#since = undefined;
    this.#beginMono = Number.NEGATIVE_INFINITY;
    this.#endMono = Number.NEGATIVE_INFINITY;
  }

  get held(): boolean {
    return this.#since !== undefined;
  }

  mayBegin(mono: number, wall: number): boolean {
    return mono < this.#beginMono && wall < this.#beginWall;
  }

  /** False: what is in memory must go. */
  lasts(mono: number, wall: number): boolean {
    return mono < this.#endMono && wall < this.#endWall;
  }

  /** When to look next, on the monotonic clock. */
  get endsAt(): number {
    return this.#endMono;
  }
}
