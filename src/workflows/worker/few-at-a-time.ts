// Lets a few through at a time: what thousands ask at once is asked of the store bit by bit. Those with the same name at the same time share
// one answer.
export class FewAtATime {
  readonly #most: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #shared = new Map<string, Promise<unknown>>();

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(fn: () => Promise<T>): Promise<T> {
    if (this.#running < this.#most) this.#running++;
    // Whoever leaves hands on its place.
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await fn();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  /** Whoever asks while nobody has begun to answer gets the answer of the one before. */
  share<T>(name: string, fn: () => Promise<T>): Promise<T> {
    const known = this.#shared.get(name) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const answer = this.run(() => {
      this.#shared.delete(name);
      return fn();
    });
    this.#shared.set(name, answer);
    return answer;
  }
}
