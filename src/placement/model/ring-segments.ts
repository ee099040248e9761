// The points of a ring, cut into segments of equal width by the upper bits of the hash. A change copies only
// the segments it touches and shares the others with the previous ring: at 1,000 hosts, one more host touches
// a twentieth.
import { type HostNames, splicePoints, WORDS } from "./ring-points.ts";

export type Segments = readonly Uint32Array[];

/** Target size of a segment: small enough to copy at once, large enough to be worth an array of its own. */
const POINTS_PER_SEGMENT = 64;
/** The number of segments stays until they hold this many times more or fewer points than the target. */
const TOLERANCE = 4;

const NONE = new Uint32Array(0);

/**
 * Number of bits to shift the upper half of a hash to get its segment. There are at least two segments, for a
 * shift below 32.
 */
export const shiftFor = (segments: Segments): number => Math.clz32(segments.length) + 1;

/** Cuts sorted points into a suitable number of segments. */
export function cut(points: Uint32Array): Segments {
  const count = points.length / WORDS;
  const segments: Uint32Array[] = new Array(2 ** bitsFor(count)).fill(NONE);
  const shift = shiftFor(segments);
  for (let start = 0; start < count; ) {
    const segment = points[start * WORDS]! >>> shift;
    const end = endOf(points, start, segment, shift);
    segments[segment] = points.slice(start * WORDS, end * WORDS);
    start = end;
  }
  return segments;
}

/** Reports whether this many points fit so many segments; if not, they should be cut anew. */
export function suits(segments: Segments, count: number): boolean {
  const ideal = 2 ** bitsFor(count);
  return ideal <= segments.length * TOLERANCE && ideal * TOLERANCE >= segments.length;
}

/**
 * Removes the points of `leaving`, all of which are present, and adds the points of `joining`; both are
 * sorted.
 */
export function spliceSegments(
  segments: Segments,
  leaving: Uint32Array,
  joining: Uint32Array,
  names: HostNames,
): Segments {
  const result = [...segments];
  const shift = shiftFor(segments);
  let left = 0;
  let joined = 0;
  while (left * WORDS < leaving.length || joined * WORDS < joining.length) {
    const segment = Math.min(segmentAt(leaving, left, shift), segmentAt(joining, joined, shift));
    const leavers = { points: leaving, start: left, end: endOf(leaving, left, segment, shift) };
    const joiners = { points: joining, start: joined, end: endOf(joining, joined, segment, shift) };
    result[segment] = splicePoints(segments[segment]!, leavers, joiners, names);
    left = leavers.end;
    joined = joiners.end;
  }
  return result;
}

/**
 * Index in words of the first point of a segment at or after the hash; the length when there is none. Hashes
 * are spread evenly, so a guess is close, and its error estimates the remaining distance. The final walk is
 * correct from every guess.
 */
export function firstAt(points: Uint32Array, hi: number, lo: number, shift: number): number {
  if (points.length === 0) return 0;
  const count = points.length / WORDS;
  const density = count / 2 ** shift;
  let guess = Math.trunc((hi % 2 ** shift) * density);
  guess += Math.trunc((hi - points[guess * WORDS]!) * density);
  let at = Math.max(0, Math.min(count - 1, guess)) * WORDS;
  while (at < points.length && isBelow(points, at, hi, lo)) at += WORDS;
  while (at > 0 && !isBelow(points, at - WORDS, hi, lo)) at -= WORDS;
  return at;
}

const isBelow = (points: Uint32Array, at: number, hi: number, lo: number): boolean =>
  points[at]! < hi || (points[at] === hi && points[at + 1]! < lo);

function bitsFor(count: number): number {
  return Math.max(1, 31 - Math.clz32(count / POINTS_PER_SEGMENT));
}

/** Infinite past the end: beyond every segment. */
function segmentAt(points: Uint32Array, index: number, shift: number): number {
  const at = index * WORDS;
  return at < points.length ? points[at]! >>> shift : Number.POSITIVE_INFINITY;
}

/** The first point from `start` on that is beyond the segment. */
function endOf(points: Uint32Array, start: number, segment: number, shift: number): number {
  let end = start;
  while (segmentAt(points, end, shift) <= segment) end++;
  return end;
}
