// Counts the calls in flight per lane and destination. A lane is a shard of a type, or an actor if this host
// cannot compute its shard.
//
// Lanes have numbers, and the common case is kept in arrays by number. Much memory is touched between the
// departure of a call and its return. An object per lane would be out of the CPU cache both times, which
// would cost more than the rest of routing.

export class InFlightByShard {
  readonly type: string;
  readonly areShards: boolean = true;
  /** Destination of the latest calls in each lane, and their number. */
  readonly #addresses: string[] = [];
  readonly #counts: number[] = [];
  /** Earlier calls to other destinations, which exist for a moment after a move. No inner map is empty. */
  readonly #before = new Map<number, Map<string, number>>();
  /**
   * Lanes and destinations that rejected a call while others were in flight there: those will be rejected
   * too.
   */
  readonly #refusing = new Set<string>();
  /** Lanes with calls that wait until all calls to some destination have returned. */
  readonly #awaited = new Set<number>();

  constructor(type: string) {
    this.type = type;
  }

  isEmpty(lane: number): boolean {
    return !(this.#counts[lane]! > 0) && !this.#before.has(lane);
  }

  /** True: no call is in flight to another destination, or to one that will reject it. */
  isFree(lane: number, to: string | undefined): boolean {
    if (lane >= this.#counts.length) this.#grow(lane);
    if (this.#refusing.size > 0 && this.#refusing.has(keyOf(lane, to))) return false;
    if (this.#counts[lane] !== 0 && this.#addresses[lane] !== to) return false;
    return this.#before.size === 0 || !this.#before.has(lane);
  }

  /** Fills the arrays without holes, which keeps them fast. */
  #grow(lane: number): void {
    while (this.#counts.length <= lane) {
      this.#counts.push(0);
      this.#addresses.push("");
    }
  }

  /** The destination rejected a call. */
  refused(lane: number, by: string): void {
    const isCurrent = this.#addresses[lane] === by && this.#counts[lane]! > 0;
    if (isCurrent || this.#before.get(lane)?.has(by)) this.#refusing.add(keyOf(lane, by));
  }

  enter(lane: number, to: string): void {
    if (lane >= this.#counts.length) this.#grow(lane);
    if (this.#addresses[lane] !== to) this.#turn(lane, to);
    this.#counts[lane]!++;
  }

  /** Later calls in this lane go to another destination. */
  #turn(lane: number, to: string): void {
    if (!this.isEmpty(lane)) {
      const before = this.#before.get(lane) ?? new Map<string, number>();
      if (this.#counts[lane]! > 0) before.set(this.#addresses[lane]!, this.#counts[lane]!);
      this.#counts[lane] = before.get(to) ?? 0;
      before.delete(to);
      this.#keep(lane, before);
    }
    this.#addresses[lane] = to;
  }

  #keep(lane: number, before: Map<string, number>): void {
    if (before.size > 0) this.#before.set(lane, before);
    else this.#before.delete(lane);
  }

  /** True: no other call is in flight to that destination. */
  leave(lane: number, to: string): boolean {
    const isLast = this.#leave(lane, to);
    if (isLast && this.#refusing.size > 0) this.#refusing.delete(keyOf(lane, to));
    return isLast;
  }

  #leave(lane: number, to: string): boolean {
    if (this.#addresses[lane] === to) return --this.#counts[lane]! === 0;
    const before = this.#before.get(lane)!;
    const left = before.get(to)! - 1;
    if (left > 0) before.set(to, left);
    else before.delete(to);
    this.#keep(lane, before);
    return left === 0;
  }

  await(lane: number): void {
    this.#awaited.add(lane);
  }

  /** True: calls wait for this lane. Resets it. */
  takeAwaited(lane: number): boolean {
    return this.#awaited.size > 0 && this.#awaited.delete(lane);
  }
}

const keyOf = (lane: number, address: string | undefined): string => `${lane} ${address}`;

/** Lanes of single actors. There are many, so an actor has a number only while calls to it are in flight. */
export class InFlightByActor extends InFlightByShard {
  override readonly areShards = false;
  readonly #numbers = new Map<string, number>();
  readonly #free: number[] = [];

  known(id: string): number | undefined {
    return this.#numbers.get(id);
  }

  numberOf(id: string): number {
    let number = this.#numbers.get(id);
    if (number === undefined) {
      number = this.#free.pop() ?? this.#numbers.size;
      this.#numbers.set(id, number);
    }
    return number;
  }

  forget(id: string): void {
    const number = this.#numbers.get(id);
    if (number !== undefined && this.#numbers.delete(id)) this.#free.push(number);
  }
}
