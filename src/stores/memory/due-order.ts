// Keeps rows in the order in which they are due, for a store in memory. Rows are in small sorted chunks. So
// adding one, removing one and reading the first few cost about the same for ten rows and for a million.

/** Neither field changes while the row is in a DueOrder. */
export interface Due {
  readonly at: number;
  /** Unique; decides between rows of the same moment. */
  readonly generation: number;
}

/** A chunk that grows beyond this becomes two. */
const CHUNK = 512;

const isBefore = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.generation < b.generation);

export class DueOrder<T extends Due> {
  /** No chunk is empty. */
  readonly #chunks: T[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(row: T): void {
    this.#size++;
    const last = this.#chunks.length - 1;
    const at = Math.min(this.#chunkOf(row), last);
    if (at < 0) {
      this.#chunks.push([row]);
      return;
    }
    const chunk = this.#chunks[at] as T[];
    chunk.splice(placeIn(chunk, row), 0, row);
    if (chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2));
  }

  /** False when the row is not here. */
  remove(row: T): boolean {
    const at = this.#chunkOf(row);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return false;
    const place = placeIn(chunk, row);
    if (chunk[place]?.generation !== row.generation) return false;
    chunk.splice(place, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    this.#size--;
    return true;
  }

  /** Earliest first. Nothing may be added or removed meanwhile. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (const chunk of this.#chunks) yield* chunk;
  }

  /** The first chunk that does not end before this row; behind the last one when all do. */
  #chunkOf(row: Due): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore((this.#chunks[middle] as T[]).at(-1) as T, row)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The place where the row is, or would be. */
function placeIn(chunk: readonly Due[], row: Due): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(chunk[middle] as Due, row)) low = middle + 1;
    else high = middle;
  }
  return low;
}
