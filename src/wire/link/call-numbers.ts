// Which call is meant by a number: on the side that calls, and on the side that serves. Numbers are small and used again,
// so both are plain arrays.

/** The calls that were sent and whose last word is not in. */
export class SentCalls<T> {
  readonly #calls: (T | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#calls.length - this.#free.length;
  }

  /** Its number, until the last word on it. */
  add(call: T): number {
    const number = this.#free.pop();
    if (number === undefined) return this.#calls.push(call) - 1;
    this.#calls[number] = call;
    return number;
  }

  /** Undefined: there is none of that number. */
  get(number: number): T | undefined {
    return number < this.#calls.length ? this.#calls[number] : undefined;
  }

  /** The last word on it is in. */
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

/** The calls that have arrived and got no last word. The other side chooses their numbers, below a limit. */
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

  /** False: the number is in use, or none that may be used. */
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
