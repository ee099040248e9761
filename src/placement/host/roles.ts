// Which of its types a host runs: those that ask for a role only if it has that role. Of the others it has the class, so it knows which shard
// an actor is in and sends calls to where it lives. A process that is in no cluster is alone with its actors, and runs all of them.
import type { ActorType } from "../../actors/actor-type.ts";

export function mayHost({ options }: ActorType, roles: readonly string[]): boolean {
  const role = options.sharded?.role;
  return role === undefined || roles.includes(role);
}

/** Their names. */
export function hostedTypes(types: Iterable<ActorType>, roles: readonly string[]): string[] {
  return [...types].filter((type) => mayHost(type, roles)).map(({ name }) => name);
}
