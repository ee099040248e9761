// Changes about shards as sets: for a store that writes all of them at once and may touch no row twice.
import type { Member } from "../ports/coordination.ts";
import type { RememberedChange, ShardHomeChange, ShardKey } from "../ports/shards.ts";

/**
 * A member hosts the type, other than those that have ended. Rows that operators have written about a type are kept under its name, a slash,
 * and a word (sharding/steering-rows.ts).
 */
export function isHosted(
  members: Iterable<Pick<Member, "namespace" | "incarnation" | "types">>,
  namespace: string,
  name: string,
  ended: readonly string[],
): boolean {
  const [type] = name.split("/") as [string];
  for (const member of members) {
    if (member.namespace === namespace && member.types.includes(type) && !ended.includes(member.incarnation))
      return true;
  }
  return false;
}

/** One change for each shard, the last one, in an order that is the same for all who write. */
export const lastOfShards = (changes: readonly ShardHomeChange[]): ShardHomeChange[] => lastOf(changes, byShard);

/** One change for each actor, the last one, in an order that is the same for all who write. */
export const lastOfActors = (changes: readonly RememberedChange[]): RememberedChange[] =>
  lastOf(changes, (a, b) => byShard(a, b) || compare(a.id, b.id));

/** Sorting leaves those about the same thing in their order. */
function lastOf<T>(changes: readonly T[], by: (a: T, b: T) => number): T[] {
  const sorted = changes.toSorted(by);
  return sorted.filter((change, i) => i + 1 === sorted.length || by(change, sorted[i + 1]!) !== 0);
}

const byShard = (a: ShardKey, b: ShardKey): number =>
  compare(a.namespace, b.namespace) || compare(a.type, b.type) || a.shard - b.shard;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
