// Limits how many actors of one type a host keeps in memory. The least recently used actors leave first. Busy
// actors stay, so the limit can be exceeded for a while; the next activation or sweep removes the excess.

import type { ActorType } from "../actor-type.ts";
import type { Activation } from "./activation.ts";

/** Busy actors that one search skips, at most. */
const SEARCH = 64;

export class ActiveLimit {
  readonly #most: number;
  /** Activations that are about to leave. */
  readonly #dismissed = new Set<Activation>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Makes room for this many new actors. */
  makeRoom({ activations, useOrder }: ActorType, coming: number): void {
    let excess = activations.size + coming - this.#most - this.#leaving();
    let at = useOrder.oldest;
    for (let looked = 0; looked < SEARCH && at !== undefined && excess > 0; looked++) {
      const newer: Activation | undefined = at.newer;
      if (at.idle) {
        this.#dismissed.add(at);
        at.deactivate("memory");
        excess--;
      } else if (at.phase !== "deactivating") {
        // A busy actor is in use: at the other end of the order the next searches do not meet it again soon.
        useOrder.touch(at);
      }
      at = newer;
    }
  }

  /**
   * Counts the dismissed activations that are still leaving. A call may have kept one, or brought it back.
   * The first ones dismissed leave first.
   */
  #leaving(): number {
    for (const one of this.#dismissed) {
      if (one.phase === "deactivating") break;
      this.#dismissed.delete(one);
    }
    return this.#dismissed.size;
  }
}
