// How many calls are on their way in each lane, and to where. A lane is a shard of a type, or, where nobody here knows its shards, an actor.
//
// Lanes have numbers, and what is usual is kept in arrays by number: between a call's leaving and its coming back so much else happens that
// an object for each lane would be out of the processor's reach both times, which would cost more than all the rest of finding the way.

export class InFlightByShard {
  readonly type: string;
  readonly areShards: boolean = true;
  /** Where those are that left last, and how many there are. */
  readonly #addresses: string[] = [];
  readonly #counts: number[] = [];
  /** Those that left before, for other addresses: there are some for a moment after a move. None of these is empty. */
  readonly #before = new Map<number, Map<string, number>>();
  /** Lanes and addresses that have sent one back while others were on their way there, which will come back, too. */
  readonly #refusing = new Set<string>();
  /** Somebody waits until all of some address have come back. */
  readonly #awaited = new Set<number>();

  constructor(type: string) {
    this.type = type;
  }

  isEmpty(lane: number): boolean {
    return !(this.#counts[lane]! > 0) && !this.#before.has(lane);
  }

  /** Nobody is on the way to anywhere else, or to where it will be sent back. */
  isFree(lane: number, to: string | undefined): boolean {
    if (lane >= this.#counts.length) this.#grow(lane);
    if (this.#refusing.size > 0 && this.#refusing.has(keyOf(lane, to))) return false;
    if (this.#counts[lane] !== 0 && this.#addresses[lane] !== to) return false;
    return this.#before.size === 0 || !this.#before.has(lane);
  }

  /** Without a gap, so that they stay what arrays are fast for. */
  #grow(lane: number): void {
    while (this.#counts.length <= lane) {
      this.#counts.push(0);
      this.#addresses.push("");
    }
  }

  /** One was sent back from there. */
  refused(lane: number, by: string): void {
    const isCurrent = this.#addresses[lane] === by && this.#counts[lane]! > 0;
    if (isCurrent || this.#before.get(lane)?.has(by)) this.#refusing.add(keyOf(lane, by));
  }

  enter(lane: number, to: string): void {
    if (lane >= this.#counts.length) this.#grow(lane);
    if (this.#addresses[lane] !== to) this.#turn(lane, to);
    this.#counts[lane]!++;
  }

  /** From now on they leave for another address. */
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

  /** True: nobody else is on the way there any more. */
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

  /** Was it waited for? From now on it is not. */
  told(lane: number): boolean {
    return this.#awaited.size > 0 && this.#awaited.delete(lane);
  }
}

const keyOf = (lane: number, address: string | undefined): string => `${lane} ${address}`;

/** Lanes of actors, which are many: each has a number for as long as calls to it are on their way. */
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
