// Points of a ring, flat in one array: three words each (upper and lower half of the hash, number of the
// host). They ascend by hash. Equal hashes ascend by the address of the host, so the order of joins has no
// effect. Indices count points, not words.
import { invariant } from "../../kernel/errors.ts";

export const WORDS = 3;

/** Number of the host → its address; undefined for an unused number. */
export type HostNames = readonly (string | undefined)[];

/** A range of points of an array: from `start` on, before `end`. */
export interface Span {
  readonly points: Uint32Array;
  readonly start: number;
  readonly end: number;
}

/** Shorter spans are copied word by word, because `set` costs more to call than they cost to copy. */
const SHORT_SPAN = 32;

/**
 * Bucket sort. Hashes are spread evenly, so with as many buckets as points hardly any two points share one,
 * and a few swaps finish the order.
 */
export function sortPoints(points: Uint32Array, names: HostNames): Uint32Array {
  const count = points.length / WORDS;
  const bits = Math.min(20, Math.max(1, 31 - Math.clz32(count)));
  const shift = 32 - bits;
  // starts[b + 1] first counts bucket b; summed up, starts[b] is the place of the next point of bucket b.
  const starts = new Uint32Array((1 << bits) + 1);
  for (let at = 0; at < points.length; at += WORDS) starts[(points[at]! >>> shift) + 1]!++;
  for (let bucket = 1; bucket < starts.length; bucket++) starts[bucket]! += starts[bucket - 1]!;
  const sorted = new Uint32Array(points.length);
  for (let at = 0; at < points.length; at += WORDS) {
    const to = starts[points[at]! >>> shift]!++ * WORDS;
    sorted[to] = points[at]!;
    sorted[to + 1] = points[at + 1]!;
    sorted[to + 2] = points[at + 2]!;
  }
  for (let index = 1; index < count; index++) sink(sorted, index, names);
  return sorted;
}

/** Moves a point down to its place among the sorted points below it. */
function sink(points: Uint32Array, index: number, names: HostNames): void {
  for (let below = index - 1; below >= 0 && isBefore(points, below + 1, points, below, names); below--) {
    for (let at = below * WORDS; at < (below + 1) * WORDS; at++) {
      const word = points[at]!;
      points[at] = points[at + WORDS]!;
      points[at + WORDS] = word;
    }
  }
}

/**
 * Removes the points of `leaving`, all of which are present, and adds the points of `joining`. Copies the
 * spans between.
 */
export function splicePoints(points: Uint32Array, leaving: Span, joining: Span, names: HostNames): Uint32Array {
  const result = new Uint32Array(points.length + (joining.end - joining.start - (leaving.end - leaving.start)) * WORDS);
  let left = leaving.start;
  let joined = joining.start;
  // Points below `done` are in the result or have left; `filled` points are in the result.
  let done = 0;
  let filled = 0;
  while (left < leaving.end || joined < joining.end) {
    const leaves =
      joined === joining.end || (left < leaving.end && isBefore(leaving.points, left, joining.points, joined, names));
    const next = leaves
      ? seek(points, done, leaving.points, left, names)
      : seek(points, done, joining.points, joined, names);
    filled = copySpan(points, done, next, result, filled);
    done = next;
    if (leaves) {
      const same = points[done * WORDS + 2] === leaving.points[left * WORDS + 2];
      invariant(same, "the points of a leaving host are on the ring");
      done++;
      left++;
    } else {
      filled = copySpan(joining.points, joined, joined + 1, result, filled);
      joined++;
    }
  }
  copySpan(points, done, points.length / WORDS, result, filled);
  return result;
}

/** The first point from `from` on that is not before the given one. */
function seek(points: Uint32Array, from: number, other: Uint32Array, index: number, names: HostNames): number {
  let low = from;
  let high = points.length / WORDS;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(points, middle, other, index, names)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore(a: Uint32Array, i: number, b: Uint32Array, j: number, names: HostNames): boolean {
  const x = i * WORDS;
  const y = j * WORDS;
  if (a[x] !== b[y]) return a[x]! < b[y]!;
  if (a[x + 1] !== b[y + 1]) return a[x + 1]! < b[y + 1]!;
  return a[x + 2] !== b[y + 2] && names[a[x + 2]!]! < names[b[y + 2]!]!;
}

/** Returns the place of the next span. */
function copySpan(from: Uint32Array, start: number, end: number, to: Uint32Array, at: number): number {
  if (end - start >= SHORT_SPAN) {
    to.set(from.subarray(start * WORDS, end * WORDS), at * WORDS);
  } else {
    for (let read = start * WORDS, write = at * WORDS; read < end * WORDS; ) to[write++] = from[read++]!;
  }
  return at + end - start;
}
