// Somebody outside says where each shard is to live, by the names or addresses of hosts: for example next to the partition of a queue that it
// reads. Shards that nobody has said anything of, or whose host is not there, live where they are asked for first, and move when that changes;
// those that are asked for by who cannot be their home go to the host with the fewest, so that they are not all at one.
import { leastShards } from "./least-shards.ts";
import type { Region, Strategy } from "./strategy.ts";

const LEAST = leastShards();

/** `told`: the name or the address of the host of each shard, as it was said last. */
export function toldShards(told: ReadonlyMap<number, string>, limit = 100): Strategy {
  return {
    home(shard, regions, asker) {
      const wanted = meant(told.get(shard), regions) ?? regions.find(({ incarnation }) => incarnation === asker);
      return wanted?.incarnation ?? LEAST.home(shard, regions, asker);
    },
    moves(regions, moving) {
      return regions
        .flatMap(({ incarnation, shards }) => shards.map((shard) => ({ shard, at: incarnation })))
        .filter(({ shard }) => told.has(shard) && !moving.has(shard))
        .map(({ shard, at }) => ({ shard, at, to: meant(told.get(shard), regions)?.incarnation }))
        .filter(({ at, to }) => to !== undefined && to !== at)
        .slice(0, limit)
        .map(({ shard, to }) => ({ shard, to }));
    },
  };
}

/** An address is of one host. Of several with the same name it is the first, always the same one. */
function meant(host: string | undefined, regions: readonly Region[]): Region | undefined {
  if (host === undefined) return undefined;
  return (
    regions.find(({ address }) => address === host) ??
    regions
      .filter(({ name }) => name === host)
      .reduce<Region | undefined>((first, one) => (first && first.address < one.address ? first : one), undefined)
  );
}
