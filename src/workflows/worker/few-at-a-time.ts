// Limits concurrent requests, so that thousands at once do not flood the store. Waiting requests of the same
// name share one result.

/** Concurrent requests. */
const MOST = 8;

export class FewAtATime {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #shared = new Map<string, Promise<unknown>>();

  async run<T>(fn: () => Promise<T>): Promise<T> {
    if (this.#running < MOST) this.#running++;
    // A finished request passes its place to the next.
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await fn();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  /** A request that has not begun also serves later callers of the same name. */
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
