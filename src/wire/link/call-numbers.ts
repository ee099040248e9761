// Maps call numbers to calls, on the calling side and on the serving side. Numbers are small and reused, so
// both sides use plain arrays.

/** Calls that were sent and have no final answer. */
export class SentCalls<T> {
  readonly #calls: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#calls.length - this.#free.length;
  }

  /** Returns the number of the call, which is valid until its final answer. */
  add(call: T): number {
    const number = this.#free.pop();
    if (number === undefined) return this.#calls.push(call) - 1;
    this.#calls[number] = call;
    return number;
  }

  /** Undefined: no call has this number. */
  get(number: number): T | undefined {
    return number < this.#calls.length ? this.#calls[number] : undefined;
  }

  /** Frees the number after the final answer. */
  remove(number: number): void {
    if (this.get(number) === undefined) return;
    this.#calls[number] = undefined;
    this.#free.push(number);
  }

  takeAll(): T[] {
    const calls = this.#calls.filter((call) => call !== undefined);
    this.#calls.length = 0;
    this.#free.length = 0;
    return calls;
  }
}

/** Received calls without a final answer. The caller chooses their numbers, below a limit. */
export class ServedCalls<T> {
  readonly #limit: number;
  readonly #calls: (T | undefined)[] = [];
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  isNumber(number: number): boolean {
    return number < this.#limit;
  }

  /** Returns false when the number is in use or above the limit. */
  put(number: number, call: T): boolean {
    const calls = this.#calls;
    if (number >= this.#limit || this.get(number) !== undefined) return false;
    while (calls.length <= number) calls.push(undefined);
    calls[number] = call;
    this.#size++;
    return true;
  }

  get(number: number): T | undefined {
    return number < this.#calls.length ? this.#calls[number] : undefined;
  }

  remove(number: number): void {
    if (this.get(number) === undefined) return;
    this.#calls[number] = undefined;
    this.#size--;
  }

  takeAll(): T[] {
    const calls = this.#calls.filter((call) => call !== undefined);
    this.#calls.length = 0;
    this.#size = 0;
    return calls;
  }
}
