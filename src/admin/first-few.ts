// Keeps the first few of many items, in order, without sorting all of them: an item behind the kept ones
// costs one comparison.

export class FirstFew<T> {
  readonly #count: number;
  readonly #compare: (a: T, b: T) => number;
  /** At most twice the wanted number. */
  #items: T[] = [];
  /** The last wanted item, as far as it is known: items behind it are not kept. */
  #last: T | undefined;

  constructor(count: number, compare: (a: T, b: T) => number) {
    this.#count = count;
    this.#compare = compare;
  }

  add(item: T): void {
    if (this.#last !== undefined && this.#compare(item, this.#last) >= 0) return;
    this.#items.push(item);
    if (this.#items.length >= 2 * this.#count) this.#cut();
  }

  sorted(): readonly T[] {
    this.#cut();
    return this.#items;
  }

  #cut(): void {
    this.#items = this.#items.sort(this.#compare).slice(0, this.#count);
    if (this.#items.length === this.#count) this.#last = this.#items.at(-1);
  }
}
