// Evicts an actor when a host has as many actors in memory as it may have.

import type { ActorType } from "../actor-type.ts";
import type { Activation } from "./activation.ts";

/** Busy actors that one search skips, at most. */
const SEARCH = 64;

/**
 * Deactivates the least recently used idle actor; a remembered one only if there is no other. False: no actor
 * is idle.
 */
export function evict(types: readonly ActorType[]): boolean {
  const victim =
    leastUsed(types.filter(({ isRemembered }) => !isRemembered)) ??
    leastUsed(types.filter(({ isRemembered }) => isRemembered));
  victim?.deactivate("memory");
  return victim !== undefined;
}

/** The least recently used idle activation. */
function leastUsed(types: readonly ActorType[]): Activation | undefined {
  let found: Activation | undefined;
  for (const { useOrder } of types) {
    let candidate = useOrder.oldest;
    // A busy actor is in use: at the other end of the order the next searches do not meet it again soon.
    for (let i = 0; i < SEARCH && candidate !== undefined && !candidate.idle; i++) {
      const next: Activation | undefined = candidate.newer;
      useOrder.touch(candidate);
      candidate = next;
    }
    if (candidate?.idle && (found === undefined || candidate.lastUsed < found.lastUsed)) found = candidate;
  }
  return found;
}
