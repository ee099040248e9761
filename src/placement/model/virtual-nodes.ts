// Where a host stands on a ring: the sorted hashes of its virtual nodes. They depend on nothing but its address and the
// replication factor, so they are computed once per host, whatever types it hosts, and remembered within a bound.
import { hash64 } from "../../kernel/hashes.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { sortPoints, WORDS } from "./ring-points.ts";

/** Who knows a host's points. Rings take them from here; a test may place hosts by hand. */
export interface PointSource {
  /** In order, with 0 for the number of the host. Never changed by whoever gets them. */
  pointsOf(address: string, replicationFactor: number): Uint32Array;
}

export class VirtualNodes implements PointSource {
  readonly #capacity: number;
  /** Least recently used first. */
  readonly #known = new Map<string, Uint32Array>();
  #points = 0;

  constructor(capacity: number = LIMITS.pointsRemembered) {
    this.#capacity = capacity;
  }

  pointsOf(address: string, replicationFactor: number): Uint32Array {
    const key = `${replicationFactor} ${address}`;
    const known = this.#known.get(key);
    if (known !== undefined) {
      this.#known.delete(key);
      this.#known.set(key, known);
      return known;
    }
    const points = virtualNodes(address, replicationFactor);
    this.#known.set(key, points);
    this.#points += replicationFactor;
    this.#forget();
    return points;
  }

  view(): { readonly hosts: number; readonly points: number } {
    return { hosts: this.#known.size, points: this.#points };
  }

  #forget(): void {
    for (const [key, points] of this.#known) {
      if (this.#points <= this.#capacity) return;
      this.#known.delete(key);
      this.#points -= points.length / WORDS;
    }
  }
}

/** One for the process: what it remembers is true for everybody. */
export const VIRTUAL_NODES = new VirtualNodes();

/** The hash of the address followed by the number of the virtual node, with nothing in between, as Dapr does it. */
function virtualNodes(address: string, replicationFactor: number): Uint32Array {
  const points = new Uint32Array(replicationFactor * WORDS);
  for (let index = 0; index < replicationFactor; index++) hash64(address + index, points, index * WORDS);
  return sortPoints(points, [address]);
}
