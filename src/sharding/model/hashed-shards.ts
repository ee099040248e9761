// Places shards of the same number on the same host, for all types with the same hosts. Each shard goes to
// the host with the highest hash of its address and the shard number. When a host comes or goes, only the
// shards that it wins or loses move.

import { invariant } from "../../kernel/errors.ts";
import { hash64 } from "../../kernel/hashes.ts";
import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";
import { isUpdating, type Strategy } from "./strategy.ts";

export function hashedShards({ limit = 100 }: { readonly limit?: number } = {}): Strategy {
  return {
    home: (shard, regions) => winner(shard, regions).incarnation,
    moves(regions, moving) {
      if (isUpdating(regions)) return [];
      return regions
        .flatMap(({ incarnation, shards }) => shards.map((shard) => ({ shard, at: incarnation })))
        .filter(({ shard }) => !moving.has(shard))
        .map(({ shard, at }) => ({ shard, at, to: winner(shard, regions).incarnation }))
        .filter(({ at, to }) => at !== to)
        .slice(0, limit)
        .map(({ shard, to }) => ({ shard, to }));
    },
  };
}

const halves = new Uint32Array(2);

function winner(shard: number, regions: readonly ShardHostInfo[]): ShardHostInfo {
  invariant(regions.length > 0, "a strategy is asked for a home while the type has hosts; it has none");
  let best = regions[0]!;
  let highest = -1;
  for (const region of regions) {
    // By address, so that a restarted host gets the same shards again.
    hash64(`${region.address} ${shard}`, halves);
    const score = halves[0]! * 2 ** 20 + (halves[1]! >>> 12);
    if (score > highest || (score === highest && region.address < best.address)) [best, highest] = [region, score];
  }
  return best;
}
