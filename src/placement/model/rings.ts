// Types with the same hosts share one ring: when a host comes or goes, the ring is changed once and not once per type.
// Rings are remembered weakly, so one that no type uses any more takes no memory.
import { LIMITS } from "../../kernel/limits.ts";
import { inOrder, sameList } from "./address-lists.ts";
import { Ring } from "./ring.ts";
import { type PointSource, VIRTUAL_NODES } from "./virtual-nodes.ts";

export class Rings {
  readonly #source: PointSource;
  /** The latest first. */
  #recent: WeakRef<Ring>[] = [];

  constructor(source: PointSource = VIRTUAL_NODES) {
    this.#source = source;
  }

  /** The ring of these hosts. `from`: what the type had so far; the way from there is short as a rule. */
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
