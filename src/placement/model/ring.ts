// Finds the owner of an id: Dapr's consistent-hash ring, bit for bit. Each host has virtual nodes on it. An
// id belongs to the first virtual node at or after its own hash, and past the last one to the first. Where
// two hosts share a hash, the smaller address wins. A ring is immutable: a change returns a new ring that
// shares the untouched segments.
//
// A host keeps its number as long as it is on the ring, so a change leaves the points of other hosts as they
// are.
import { invariant } from "../../kernel/errors.ts";
import { hash64 } from "../../kernel/hashes.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { differences, indexOfAddress, inOrder, sameList } from "./address-lists.ts";
import { type HostNames, sortPoints, WORDS } from "./ring-points.ts";
import { cut, firstAt, type Segments, shiftFor, spliceSegments, suits } from "./ring-segments.ts";
import { type PointSource, VIRTUAL_NODES } from "./virtual-nodes.ts";

interface Contents {
  readonly replicationFactor: number;
  readonly source: PointSource;
  readonly addresses: readonly string[];
  /** The number of each host, in the order of addresses. */
  readonly numbers: readonly number[];
  readonly names: HostNames;
  readonly segments: Segments;
}

/** The hash of the id being looked up. */
const looked = new Uint32Array(2);

export class Ring {
  readonly #contents: Contents;
  // Copied from `#contents` for fast lookups.
  readonly #names: HostNames;
  readonly #segments: Segments;
  readonly #shift: number;

  private constructor(contents: Contents) {
    this.#contents = contents;
    this.#names = contents.names;
    this.#segments = contents.segments;
    this.#shift = shiftFor(contents.segments);
  }

  /** Addresses may come in any order, and twice. */
  static of(addresses: readonly string[], replicationFactor: number, source: PointSource = VIRTUAL_NODES): Ring {
    invariant(
      Number.isInteger(replicationFactor) && replicationFactor > 0 && replicationFactor <= LIMITS.replicationFactor,
      `a replication factor from 1 to ${LIMITS.replicationFactor}, not ${replicationFactor}`,
    );
    return Ring.#built(inOrder(addresses), replicationFactor, source);
  }

  static #built(addresses: readonly string[], replicationFactor: number, source: PointSource): Ring {
    const numbers = [...addresses.keys()];
    const points = pointsOf(numbers, addresses, replicationFactor, source);
    return new Ring({ replicationFactor, source, addresses, numbers, names: addresses, segments: cut(points) });
  }

  /** In order, each once. */
  get addresses(): readonly string[] {
    return this.#contents.addresses;
  }

  get replicationFactor(): number {
    return this.#contents.replicationFactor;
  }

  /** Number of hosts. */
  get size(): number {
    return this.#contents.addresses.length;
  }

  /** Undefined when the ring is empty. */
  owner(id: string): string | undefined {
    hash64(id, looked);
    return this.ownerOfHash(looked[0]!, looked[1]!);
  }

  /** Finds the owner by the unsigned halves of the hash of an id. */
  ownerOfHash(hi: number, lo: number): string | undefined {
    const segments = this.#segments;
    let segment = hi >>> this.#shift;
    let points = segments[segment]!;
    let at = firstAt(points, hi, lo, this.#shift);
    if (at === points.length) {
      if (this.size === 0) return undefined;
      at = 0;
      do {
        segment = segment + 1 === segments.length ? 0 : segment + 1;
        points = segments[segment]!;
      } while (points.length === 0);
    }
    return this.#names[points[at + 2]!];
  }

  with(address: string): Ring {
    const at = indexOfAddress(address, this.addresses);
    return this.addresses[at] === address ? this : this.#to(this.addresses.toSpliced(at, 0, address));
  }

  without(address: string): Ring {
    const at = indexOfAddress(address, this.addresses);
    return this.addresses[at] === address ? this.#to(this.addresses.toSpliced(at, 1)) : this;
  }

  /** The ring of exactly these hosts; this ring if they are the same. */
  to(addresses: readonly string[]): Ring {
    return this.#to(inOrder(addresses));
  }

  /** For tests and display: host numbers, used or free, and segments. */
  view(): { readonly numbers: number; readonly segments: number } {
    return { numbers: this.#names.length, segments: this.#segments.length };
  }

  #to(addresses: readonly string[]): Ring {
    const { replicationFactor, source, numbers: had, names: knew, segments } = this.#contents;
    const { joining, leaving } = differences(this.addresses, addresses);
    if (joining.length === 0 && leaving.length === 0) return this;
    const kept = addresses.length - joining.length;
    // When few hosts stay, a new ring is cheaper, and it gives up unused numbers.
    if (kept * 2 < knew.length || !suits(segments, addresses.length * replicationFactor)) {
      return Ring.#built(addresses, replicationFactor, source);
    }
    const names = [...knew];
    const arrivals = freeNumbers(names, joining.length);
    for (const [index, at] of joining.entries()) names[arrivals[index]!] = addresses[at];
    const departures = leaving.map((at) => had[at]!);
    const numbers = [...had];
    // From the last to the first, so that lower indices stay valid.
    for (const at of leaving.toReversed()) numbers.splice(at, 1);
    for (const [index, at] of joining.entries()) numbers.splice(at, 0, arrivals[index]!);
    const changed = spliceSegments(
      segments,
      pointsOf(departures, names, replicationFactor, source),
      pointsOf(arrivals, names, replicationFactor, source),
      names,
    );
    // Only after the splice, which compares equal hashes of leaving and joining hosts by name.
    for (const number of departures) names[number] = undefined;
    return new Ring({ replicationFactor, source, addresses, numbers, names, segments: changed });
  }
}

/** The points of some hosts together, sorted. */
function pointsOf(numbers: readonly number[], names: HostNames, each: number, source: PointSource): Uint32Array {
  const points = new Uint32Array(numbers.length * each * WORDS);
  let start = 0;
  for (const number of numbers) {
    points.set(source.pointsOf(names[number]!, each), start);
    const end = start + each * WORDS;
    for (let at = start + 2; at < end; at += WORDS) points[at] = number;
    start = end;
  }
  return numbers.length > 1 ? sortPoints(points, names) : points;
}

/** Unused numbers: first the ones given up, then new ones. */
function freeNumbers(names: HostNames, count: number): number[] {
  const free: number[] = [];
  for (let number = 0; free.length < count; number++) if (names[number] === undefined) free.push(number);
  return free;
}

/**
 * Shares one ring among types with the same hosts: when a host joins or leaves, the ring changes once and not
 * once per type. References are weak, so a ring that no type uses takes no memory.
 */
export class Rings {
  readonly #source: PointSource;
  /** Latest first. */
  #recent: WeakRef<Ring>[] = [];

  constructor(source: PointSource = VIRTUAL_NODES) {
    this.#source = source;
  }

  /** The ring of these hosts. `from` is the type's current ring; the change from there is small as a rule. */
  of(addresses: readonly string[], replicationFactor: number, from?: Ring): Ring {
    const wanted = inOrder(addresses);
    const rings = this.#recent.map((ring) => ring.deref()).filter((ring) => ring !== undefined);
    const known = [...(from ? [from] : []), ...rings].filter((ring) => ring.replicationFactor === replicationFactor);
    const same = known.find((ring) => sameList(ring.addresses, wanted));
    const ring = same ?? known[0]?.to(wanted) ?? Ring.of(wanted, replicationFactor, this.#source);
    this.#recent = [ring, ...rings.filter((other) => other !== ring)]
      .slice(0, LIMITS.ringsRemembered)
      .map((each) => new WeakRef(each));
    return ring;
  }
}
