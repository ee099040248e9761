// What strangers may make a door hold in memory at once, all of them together.

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

  /** Takes them whether they are there or not. */
  force(bytes: number): void {
    this.#left -= bytes;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}
