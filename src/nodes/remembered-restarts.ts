// Actors of one type that have stopped and are to be started again, each when its time has come. All wait equally long, so who stopped first
// is first.

export interface Restart {
  /** On the monotonic clock. */
  readonly at: number;
  /** How many times the host had become the home of its shard when it stopped. Undefined: nobody has said that it is. */
  readonly tenure: number | undefined;
}

export class RememberedRestarts {
  readonly #waiting = new Map<string, Restart>();

  get size(): number {
    return this.#waiting.size;
  }

  get first(): (Restart & { readonly id: string }) | undefined {
    const [first] = this.#waiting;
    return first && { id: first[0], ...first[1] };
  }

  get(id: string): Restart | undefined {
    return this.#waiting.get(id);
  }

  /** It goes to the end of the line, also if it waits already. */
  add(id: string, restart: Restart): void {
    this.#waiting.delete(id);
    this.#waiting.set(id, restart);
  }

  delete(id: string): void {
    this.#waiting.delete(id);
  }

  clear(): void {
    this.#waiting.clear();
  }
}
