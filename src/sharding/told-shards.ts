// Somebody outside says where each shard is to live, by the names of hosts: for example next to the partition of a queue that it reads.
// Shards that nobody has said anything of, or whose host is not there, live where they are asked for first, and move when that changes.
import type { Strategy } from "./strategy.ts";

/** `told`: the name of the host of each shard, as it was said last. */
export function toldShards(told: ReadonlyMap<number, string>, limit = 100): Strategy {
  return {
    home(shard, regions, asker) {
      const wanted = regions.find(({ name }) => name === told.get(shard));
      return (wanted ?? regions.find(({ incarnation }) => incarnation === asker) ?? regions[0]!).incarnation;
    },
    moves(regions, moving) {
      const byName = new Map(regions.map(({ name, incarnation }) => [name, incarnation]));
      return regions
        .flatMap(({ incarnation, shards }) => shards.map((shard) => ({ shard, at: incarnation })))
        .map(({ shard, at }) => ({ shard, at, to: byName.get(told.get(shard) ?? "") }))
        .filter(({ shard, at, to }) => to !== undefined && to !== at && !moving.has(shard))
        .slice(0, limit)
        .map(({ shard, to }) => ({ shard, to }));
    },
  };
}
