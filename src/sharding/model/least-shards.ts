// Gives each shard to the host that has the fewest, and moves some when the numbers are too far apart. In one round it moves so many that
// balance is reached in few rounds, but no more than the limits say: moving is work, and those that move have to wait.
import { SHARDING } from "../../kernel/sharded-rule.ts";
import { isUpdating, type Move, newest, type Region, type Strategy } from "./strategy.ts";

export interface LeastShardsOptions {
  /** Shards that move in one round, at most. */
  readonly absoluteLimit?: number | undefined;
  /** The same as a share of all shards that have a home. The smaller of the two counts; it is never less than one. */
  readonly relativeLimit?: number | undefined;
  /** Shards move when the difference between two hosts exceeds this number of shards. */
  readonly threshold?: number | undefined;
}

const ABSOLUTE = 100;
const RELATIVE = 0.1;

export function leastShards(options: LeastShardsOptions = {}): Strategy {
  const { absoluteLimit = ABSOLUTE, relativeLimit = RELATIVE, threshold = SHARDING.rebalanceThreshold } = options;
  return {
    home: (_shard, regions) => fewest(newest(regions)).incarnation,
    moves(regions, moving) {
      // Those that are about to be replaced would be filled for nothing.
      if (isUpdating(regions) || regions.length < 2) return [];
      const all = regions.reduce((sum, { shards }) => sum + shards.length, 0);
      const limit = Math.max(Math.min(absoluteLimit, Math.floor(all * relativeLimit)), 1);
      return evenOut(regions, moving, limit, threshold);
    },
  };
}

function fewest(regions: readonly Region[]): Region {
  return regions.reduce((best, region) => (region.shards.length < best.shards.length ? region : best));
}

/** From hosts with the most to hosts with the fewest, one by one, until no host is more than the threshold above another. */
function evenOut(regions: readonly Region[], moving: ReadonlySet<number>, limit: number, threshold: number): Move[] {
  const loads = regions.map(({ incarnation, shards }) => ({
    incarnation,
    count: shards.length,
    movable: shards.filter((shard) => !moving.has(shard)).sort((a, b) => a - b),
  }));
  const moves: Move[] = [];
  while (moves.length < limit) {
    const [most, least] = [
      loads.reduce((a, b) => (b.count > a.count ? b : a)),
      loads.reduce((a, b) => (b.count < a.count ? b : a)),
    ];
    const shard = most.count - least.count > threshold ? most.movable.pop() : undefined;
    if (shard === undefined) break;
    moves.push({ shard, to: least.incarnation });
    most.count--;
    least.count++;
  }
  return moves;
}
