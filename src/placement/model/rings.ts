// Shares one ring among types with the same hosts: when a host joins or leaves, the ring changes once and not
// once per type. References are weak, so a ring that no type uses takes no memory.
import { LIMITS } from "../../kernel/limits.ts";
import { inOrder, sameList } from "./address-lists.ts";
import { Ring } from "./ring.ts";
import { type PointSource, VIRTUAL_NODES } from "./virtual-nodes.ts";

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
