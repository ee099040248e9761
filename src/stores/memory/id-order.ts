// Keeps ids in code point order, for a store in memory. Ids are in small sorted chunks, so adding one,
// removing one and reading a page cost about the same for ten ids and for a million.
import { byCodePoint } from "./code-points.ts";

/** A chunk that grows beyond this becomes two. */
const CHUNK = 512;

export class IdOrder {
  /** No chunk is empty. */
  readonly #chunks: string[][] = [];

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  add(id: string): void {
    const at = Math.min(this.#chunkOf(id), this.#chunks.length - 1);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([id]);
      return;
    }
    const place = placeIn(chunk, id);
    if (chunk[place] === id) return;
    chunk.splice(place, 0, id);
    if (chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2));
  }

  remove(id: string): void {
    const at = this.#chunkOf(id);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    const place = placeIn(chunk, id);
    if (chunk[place] !== id) return;
    chunk.splice(place, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** `limit` at most; from the beginning if `after` is undefined. */
  behind(after: string | undefined, limit: number): string[] {
    const page: string[] = [];
    let at = after === undefined ? 0 : this.#chunkOf(after);
    let place = 0;
    const first = this.#chunks[at];
    if (after !== undefined && first !== undefined) {
      place = placeIn(first, after);
      if (first[place] === after) place++;
    }
    for (; at < this.#chunks.length && page.length < limit; at++, place = 0) {
      for (const id of this.#chunks[at]!.slice(place, place + limit - page.length)) page.push(id);
    }
    return page;
  }

  /** The first chunk that does not end before `id`. */
  #chunkOf(id: string): number {
    return firstWhere(this.#chunks.length, (at) => byCodePoint(this.#chunks[at]!.at(-1)!, id) >= 0);
  }
}

const placeIn = (chunk: readonly string[], id: string): number =>
  firstWhere(chunk.length, (at) => byCodePoint(chunk[at]!, id) >= 0);

/**
 * The first place for which `isThere` is true, when it is true for all places behind it as well; `length`
 * when there is none.
 */
function firstWhere(length: number, isThere: (at: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isThere(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
