// A host's lease, as the host itself counts it. The host counts from the moment it *sent* a renewal that was
// answered; the leader counts from its answer. So the lease ends on the host before it ends on the leader,
// for any setting of their clocks.
//
//   0 ─────────────── 70 % ─────────── 85 % ─────── 100 %
//   turns begin        none begins      nothing left  the leader may give its actors to others
//
// The lease uses two clocks. The monotonic clock never jumps, but it stands still while the machine sleeps.
// The wall clock shows the sleep, but it may be set. The clock that shows more elapsed time decides. Pure.

/** Fraction of the lease after which no turn begins. */
const LAST_BEGINNING = 0.7;
/** Fraction of the lease after which no actor is left in memory. */
const LAST_MOMENT = 0.85;
/** Number of renewals within one lease. */
const RENEWALS = 5;
/** Renewals in flight; answers to older ones are ignored. */
const REMEMBERED = 16;

interface Moment {
  readonly mono: number;
  readonly wall: number;
}

export class HostLease {
  #leaseMs = 0;
  #lastSequence = 0;
  readonly #sent = new Map<number, Moment>();
  /** Time at which the last answered renewal was sent; undefined: there is no lease. */
  #since: Moment | undefined;
  // Computed in advance, because every turn compares them.
  #beginMono = Number.NEGATIVE_INFINITY;
  #beginWall = Number.NEGATIVE_INFINITY;
  #endMono = Number.NEGATIVE_INFINITY;
  #endWall = Number.NEGATIVE_INFINITY;

  get renewEveryMs(): number {
    return this.#leaseMs / RENEWALS;
  }

  /** Sets the length of leases, as the leader announced it. A lease that is already held keeps its end. */
  length(leaseMs: number): void {
    this.#leaseMs = leaseMs;
  }

  /** Records a renewal that is about to be sent; its answer carries the returned number. */
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

  /** The host has let go of everything; only a renewal sent from now on counts. */
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

  /** Returns false when the actors in memory must go. */
  lasts(mono: number, wall: number): boolean {
    return mono < this.#endMono && wall < this.#endWall;
  }

  /** Time of the next check, on the monotonic clock. */
  get endsAt(): number {
    return this.#endMono;
  }
}
