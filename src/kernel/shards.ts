// A shard is a group of actors of one type that live on the same host and move together. Which one an actor belongs to follows from its id
// alone and never changes: were it otherwise, an actor could come to life in two places.
import { hash64 } from "./hashes.ts";

/** Ten times as many as hosts there will ever be. Changing it means stopping every host of the type. */
export const DEFAULT_SHARDS = 1_000;
/** More cost memory in the leader, and nothing is gained by them. */
export const MOST_SHARDS = 100_000;

const halves = new Uint32Array(2);

/** The shard of an id, from 0 to `shards` - 1. */
export function shardOf(id: string, shards: number): number {
  hash64(id, halves);
  return halves[1]! % shards;
}
