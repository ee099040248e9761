// Selects the types a host runs: a type with a role runs only on hosts with that role. A host without the
// role still has the class, so it can compute the shard of an actor and route calls to it. A process outside
// a cluster runs all its types.
import type { ActorTypeInfo } from "../../ports/actor-host.ts";

export function mayHost({ options }: ActorTypeInfo, roles: readonly string[]): boolean {
  const role = options.sharded?.role;
  return role === undefined || roles.includes(role);
}

/** Names of the types that this host runs. */
export function hostedTypes(types: Iterable<ActorTypeInfo>, roles: readonly string[]): string[] {
  return [...types].filter((type) => mayHost(type, roles)).map(({ name }) => name);
}
