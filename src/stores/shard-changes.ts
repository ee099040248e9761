// Changes about shards as sets: for a store that writes all of them at once and may touch no row twice.
import type { RememberedChange, ShardHomeChange, ShardKey } from "../ports/shards.ts";

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
