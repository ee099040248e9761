// Merges changes of shards into sets, for a store that writes all of them at once and may touch no row twice.
import type { Member } from "../ports/store/coordination.ts";
import type { RememberedChange, ShardHomeChange, ShardKey } from "../ports/store/shards.ts";

/**
 * True if a member that is not in `ended` hosts the type. Rows that operators write about a type have a name
 * made of the type, a slash and a word (sharding/model/steering-rows.ts).
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

/** The last change for each shard, in an order that is the same for all writers. */
export const lastOfShards = (changes: readonly ShardHomeChange[]): ShardHomeChange[] => lastOf(changes, byShard);

/** The last change for each actor, in an order that is the same for all writers. */
export const lastOfActors = (changes: readonly RememberedChange[]): RememberedChange[] =>
  lastOf(changes, (a, b) => byShard(a, b) || compare(a.id, b.id));

/** The sort is stable: changes of the same key stay in their order. */
function lastOf<T>(changes: readonly T[], by: (a: T, b: T) => number): T[] {
  const sorted = changes.toSorted(by);
  return sorted.filter((change, i) => i + 1 === sorted.length || by(change, sorted[i + 1]!) !== 0);
}

const byShard = (a: ShardKey, b: ShardKey): number =>
  compare(a.namespace, b.namespace) || compare(a.type, b.type) || a.shard - b.shard;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
