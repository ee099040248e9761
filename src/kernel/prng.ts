// Reproducible random numbers: the same seed gives the same numbers everywhere (sfc32). Each part of a world
// draws from its own child, so that one more draw in one place does not change all the others.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** 22 letters of 6 bits hold 128 bits. */
const ID_LENGTH = 22;
/** Draws after which the seed has spread through the whole state. */
const WARM_UP = 15;

export class Prng {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string | number) {
    this.#seed = String(seed);
    const mixed = mixText(this.#seed);
    this.#a = mixed;
    this.#b = mixText(`${this.#seed}:b`);
    this.#c = Math.imul(mixed, 0x9e3779b1) | 0;
    for (let i = 0; i < WARM_UP; i++) this.#next();
  }

  /** A new generator that depends only on the seed and the name, not on earlier draws. */
  child(name: string): Prng {
    return new Prng(`${this.#seed}/${name}`);
  }

  #next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** In [0, 1). */
  number(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number {
    return Math.floor(this.number() * end);
  }

  /** In [from, to). */
  between(from: number, to: number): number {
    return from + this.number() * (to - from);
  }

  chance(probability: number): boolean {
    return this.number() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** Mostly short, sometimes very long. */
  exponential(mean: number): number {
    return -Math.log(1 - this.number()) * mean;
  }

  shuffle<T>(items: readonly T[]): T[] {
    const shuffled = items.slice();
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
    }
    return shuffled;
  }

  id(): string {
    let id = "";
    for (let i = 0; i < ID_LENGTH; i++) id += LETTERS[this.#next() >>> 26];
    return id;
  }
}

/** FNV-1a over the code units, mixed once more so that similar names lie far apart. */
function mixText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
