// A limit on how many actors of one type a host has in memory. Who was used least recently gives way. Those that are busy are spared, so there
// may be more for a while: they go when they are idle and somebody comes, or it is swept.

import type { ActorType } from "../actor-type.ts";
import type { Activation } from "./activation.ts";

/** How many busy actors a search for somebody to let go looks past. */
const SEARCH = 64;

export class ActiveLimit {
  readonly #most: number;
  /** On their way out. */
  readonly #dismissed = new Set<Activation>();

  constructor(most: number) {
    this.#most = most;
  }

  /** So many more are about to come. */
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
        // Who is busy is in use, so it moves to the other end and is not met again soon.
        useOrder.touch(at);
      }
      at = newer;
    }
  }

  /** Who was called meanwhile has stayed, or has come back. Those that were told first are done first. */
  #leaving(): number {
    for (const one of this.#dismissed) {
      if (one.phase === "deactivating") break;
      this.#dismissed.delete(one);
    }
    return this.#dismissed.size;
  }
}
