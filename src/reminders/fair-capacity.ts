// Shares a number of places between types. A type never takes more than it leaves to the others, so many slow
// deliveries of one type cannot block another: a type without places always finds one. The number shrinks for
// a while when deliveries do not keep up.

export class FairCapacity {
  readonly #most: number;
  #all: number;
  readonly #of = new Map<string, number>();
  #taken = 0;

  constructor(all: number) {
    this.#most = all;
    this.#all = all;
  }

  get all(): number {
    return this.#all;
  }

  get taken(): number {
    return this.#taken;
  }

  get left(): number {
    return this.#all - this.#taken;
  }

  /** Places in use stay in use; no more are given until there are fewer than this. */
  narrow(all: number): void {
    this.#all = Math.min(all, this.#most);
  }

  widen(): void {
    this.#all = Math.min(this.#all * 2, this.#most);
  }

  /** The number of places that this type may still take. `isAlone`: there are no other types. */
  freeFor(type: string, isAlone: boolean): number {
    if (isAlone) return Math.max(this.left, 0);
    return Math.max(Math.ceil((this.left - (this.#of.get(type) ?? 0)) / 2), 0);
  }

  take(type: string): void {
    this.#taken++;
    this.#of.set(type, (this.#of.get(type) ?? 0) + 1);
  }

  free(type: string): void {
    const left = (this.#of.get(type) ?? 1) - 1;
    this.#taken--;
    if (left > 0) this.#of.set(type, left);
    else this.#of.delete(type);
  }
}
