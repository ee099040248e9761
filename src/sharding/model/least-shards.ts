// Gives each shard to the host with the fewest, and moves some when the numbers differ too much. One round
// moves enough shards to reach balance in few rounds, but not more than the limits: a move costs work, and
// its calls have to wait.

import { invariant } from "../../kernel/errors.ts";
import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";
import { SHARDING } from "../../kernel/sharded-rule.ts";
import { isUpdating, type Move, newest, type Strategy } from "./strategy.ts";

export interface LeastShardsOptions {
  /** Maximum number of shards that move in one round. */
  readonly absoluteLimit?: number;
  /**
   * The same as a share of all shards that have a home. The smaller of the two counts; it is never less than
   * one.
   */
  readonly relativeLimit?: number;
  /** Shards move when the difference between two hosts exceeds this number of shards. */
  readonly threshold?: number;
}

const ABSOLUTE = 100;
const RELATIVE = 0.1;

export function leastShards(options: LeastShardsOptions = {}): Strategy {
  const { absoluteLimit = ABSOLUTE, relativeLimit = RELATIVE, threshold = SHARDING.rebalanceThreshold } = options;
  return {
    home: (_shard, regions) => fewest(newest(regions)).incarnation,
    moves(regions, moving) {
      // Shards moved to hosts that are about to be replaced would move again.
      if (isUpdating(regions) || regions.length < 2) return [];
      const all = regions.reduce((sum, { shards }) => sum + shards.length, 0);
      const limit = Math.max(Math.min(absoluteLimit, Math.floor(all * relativeLimit)), 1);
      return evenOut(regions, moving, limit, threshold);
    },
  };
}

function fewest(regions: readonly ShardHostInfo[]): ShardHostInfo {
  invariant(regions.length > 0, "a strategy is asked for a home while the type has hosts; it has none");
  return regions.reduce((best, region) => (region.shards.length < best.shards.length ? region : best));
}

/**
 * Moves from the fullest to the emptiest host, one by one, until no host exceeds another by more than the
 * threshold.
 */
function evenOut(
  regions: readonly ShardHostInfo[],
  moving: ReadonlySet<number>,
  limit: number,
  threshold: number,
): Move[] {
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
