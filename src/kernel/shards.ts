// A shard is a group of actors of one type that live on the same host and move together. Which one an actor belongs to follows from its id
// alone and never changes: were it otherwise, an actor could come to life in two places.
/** Ten times as many as hosts there will ever be. Changing it means stopping every host of the type. */
export const DEFAULT_SHARDS = 1_000;
/** More cost memory in the leader, and nothing is gained by them. */
export const MOST_SHARDS = 100_000;

/**
 * The shard of an id, from 0 to `shards` - 1. It is worked out for every call, several times, and nobody gains anything by ids that fall
 * together: so it is FNV-1a over the UTF-16 units of the id, and then MurmurHash3's last steps, which make up for its weak spots.
 */
export function shardOf(id: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % shards;
}
