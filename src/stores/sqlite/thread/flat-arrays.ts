// Two flat arrays, one of numbers and one of strings: the form in which batches cross between the store and
// its worker thread. A reader must read the same values in the order in which they were written.

export interface Packed {
  readonly count: number;
  readonly numbers: readonly number[];
  readonly strings: readonly string[];
}

export class FlatWriter {
  readonly #numbers: number[] = [];
  readonly #strings: string[] = [];
  #count = 0;

  /** Counts one more item. */
  next(): this {
    this.#count++;
    return this;
  }

  numbers(...values: number[]): this {
    for (const value of values) this.#numbers.push(value);
    return this;
  }

  strings(...values: string[]): this {
    for (const value of values) this.#strings.push(value);
    return this;
  }

  packed(): Packed {
    return { count: this.#count, numbers: this.#numbers, strings: this.#strings };
  }
}

export class FlatReader {
  readonly #packed: Packed;
  #number = 0;
  #string = 0;

  constructor(packed: Packed) {
    this.#packed = packed;
  }

  number(): number {
    return this.#packed.numbers[this.#number++] as number;
  }

  string(): string {
    return this.#packed.strings[this.#string++] as string;
  }

  /** As many items as were counted. */
  all<T>(one: (from: this, place: number) => T): T[] {
    return Array.from({ length: this.#packed.count }, (_, place) => one(this, place));
  }
}

/** Splits a list from its beginning. */
export class Portions<T> {
  readonly #all: readonly T[];
  #next = 0;

  constructor(all: readonly T[]) {
    this.#all = all;
  }

  take(count: number): readonly T[] {
    if (count === 0) return [];
    this.#next += count;
    return this.#all.slice(this.#next - count, this.#next);
  }
}
