// The strategy of external assignments: an operator or another program assigns shards to hosts by name or
// address, for example next to the partition of a queue that a shard reads. A shard without an assignment, or
// with an absent host, lives on the host that first asks for it, and moves when that changes. If the asking
// host cannot be its home, the shard goes to the host with the fewest shards, so that they spread.
import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";
import { leastShards } from "./least-shards.ts";
import type { Strategy } from "./strategy.ts";

const LEAST = leastShards();

/** `assigned`: the assigned name or address of a host, by shard. */
export function externalShards(assigned: ReadonlyMap<number, string>, limit = 100): Strategy {
  return {
    home(shard, regions, asker) {
      const wanted = meant(assigned.get(shard), regions) ?? regions.find(({ incarnation }) => incarnation === asker);
      return wanted?.incarnation ?? LEAST.home(shard, regions, asker);
    },
    moves(regions, moving) {
      return regions
        .flatMap(({ incarnation, shards }) => shards.map((shard) => ({ shard, at: incarnation })))
        .filter(({ shard }) => assigned.has(shard) && !moving.has(shard))
        .map(({ shard, at }) => ({ shard, at, to: meant(assigned.get(shard), regions)?.incarnation }))
        .filter(({ at, to }) => to !== undefined && to !== at)
        .slice(0, limit)
        .map(({ shard, to }) => ({ shard, to }));
    },
  };
}

/** An address belongs to one host. Of several hosts with the same name, the lowest address always wins. */
function meant(host: string | undefined, regions: readonly ShardHostInfo[]): ShardHostInfo | undefined {
  if (host === undefined) return undefined;
  return (
    regions.find(({ address }) => address === host) ??
    regions
      .filter(({ name }) => name === host)
      .reduce<ShardHostInfo | undefined>(
        (first, one) => (first && first.address < one.address ? first : one),
        undefined,
      )
  );
}
