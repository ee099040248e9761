// The position of a host on a ring: the sorted hashes of its virtual nodes. They depend only on its address
// and the replication factor. So they are computed once per host for all its types, and cached within a
// bound.
import { hash64 } from "../../kernel/hashes.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { sortPoints, WORDS } from "./ring-points.ts";

/** Source of a host's points for rings; a test may place hosts by hand. */
export interface PointSource {
  /** In order, with 0 for the number of the host. Callers must not change the array. */
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

/** One cache for the process: its contents depend on no ring. */
export const VIRTUAL_NODES = new VirtualNodes();

/**
 * The hash of the address followed by the number of the virtual node, with nothing in between, as Dapr does
 * it.
 */
function virtualNodes(address: string, replicationFactor: number): Uint32Array {
  const points = new Uint32Array(replicationFactor * WORDS);
  for (let index = 0; index < replicationFactor; index++) hash64(address + index, points, index * WORDS);
  return sortPoints(points, [address]);
}
