// Who has how many of a number of places. A type never takes more than it leaves to others, so that one with many slow deliveries
// cannot keep another one waiting: there is always a place for a type that has none. There are fewer places for a while when what has
// one does not get on.

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

  /** Those that are taken stay so; no more are given until there are fewer than that. */
  narrow(all: number): void {
    this.#all = Math.min(all, this.#most);
  }

  widen(): void {
    this.#all = Math.min(this.#all * 2, this.#most);
  }

  /** How many more this type may take. `isAlone`: there are no others. */
  roomFor(type: string, isAlone: boolean): number {
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
