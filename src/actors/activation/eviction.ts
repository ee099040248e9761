// Who has to leave memory when a host has as many actors as it may have.

import type { ActorType } from "../actor-type.ts";
import type { Activation } from "./activation.ts";

/** How many busy actors a search looks past. */
const SEARCH = 64;

/** Lets the least recently used idle actor go; one that would be brought back only if there is no other. False: there is none. */
export function evict(types: readonly ActorType[]): boolean {
  const victim =
    leastUsed(types.filter(({ isRemembered }) => !isRemembered)) ??
    leastUsed(types.filter(({ isRemembered }) => isRemembered));
  victim?.deactivate("memory");
  return victim !== undefined;
}

/** Of those that are idle. */
function leastUsed(types: readonly ActorType[]): Activation | undefined {
  let found: Activation | undefined;
  for (const { useOrder } of types) {
    let candidate = useOrder.oldest;
    // Who is busy is in use, so it moves to the other end and is not met again soon.
    for (let i = 0; i < SEARCH && candidate !== undefined && !candidate.idle; i++) {
      const next: Activation | undefined = candidate.newer;
      useOrder.touch(candidate);
      candidate = next;
    }
    if (candidate?.idle && (found === undefined || candidate.lastUsed < found.lastUsed)) found = candidate;
  }
  return found;
}
