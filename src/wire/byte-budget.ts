// Memory budget of one server for the data of all of its clients together.

export class ByteBudget {
  #left: number;
  readonly size: number;

  constructor(bytes: number) {
    this.#left = bytes;
    this.size = bytes;
  }

  get left(): number {
    return this.#left;
  }

  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  /** Takes the bytes even when the budget is exceeded. */
  force(bytes: number): void {
    this.#left -= bytes;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}
