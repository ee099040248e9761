// The contract of strategies: the requests and the allowed answers. A strategy is asked for a home when a
// shard is first used or has lost its home, and for moves at intervals. The caller checks every answer
// (checkedHome, checkedMoves): a strategy that names an absent host, or too many shards, does no harm.
import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";

export interface Move {
  readonly shard: number;
  /** The incarnation of its new home. Undefined: `home` decides then. */
  readonly to: string | undefined;
}

export interface Strategy {
  /**
   * Returns the incarnation of one of the regions, of which there is at least one. `asker` is the asking
   * host, if it is one of them.
   */
  home(shard: number, regions: readonly ShardHostInfo[], asker: string | undefined): string;
  /** Shards that should move now. `moving` are moving already, and count at their new homes. */
  moves(regions: readonly ShardHostInfo[], moving: ReadonlySet<number>): readonly Move[];
}

/** The strategy's answer, if it names a region. */
export function checkedHome(answer: unknown, regions: readonly ShardHostInfo[]): string | undefined {
  return regions.find(({ incarnation }) => incarnation === answer)?.incarnation;
}

/** The valid moves: of shards that have a home and do not move, to another host that is present. */
export function checkedMoves(
  answer: unknown,
  regions: readonly ShardHostInfo[],
  moving: ReadonlySet<number>,
  most: number,
): readonly Move[] {
  if (!Array.isArray(answer)) return [];
  const homes = new Map(regions.flatMap(({ incarnation, shards }) => shards.map((shard) => [shard, incarnation])));
  const found = new Map<number, Move>();
  for (const one of answer as readonly unknown[]) {
    if (found.size >= most) break;
    const { shard, to } = (one ?? {}) as Partial<Move>;
    const home = homes.get(shard as number);
    if (home === undefined || moving.has(shard!) || found.has(shard!)) continue;
    const there = to === undefined ? undefined : checkedHome(to, regions);
    if (to !== undefined && (there === undefined || there === home)) continue;
    found.set(shard!, { shard: shard!, to: there });
  }
  return [...found.values()];
}

/**
 * The hosts of the newest build, while there are several: shards placed there need not move again when the
 * others are replaced.
 */
export function newest(regions: readonly ShardHostInfo[]): readonly ShardHostInfo[] {
  const last = regions.reduce((build, region) => (compareBuilds(region.build, build) > 0 ? region.build : build), "");
  return regions.filter(({ build }) => build === last);
}

export const isUpdating = (regions: readonly ShardHostInfo[]): boolean =>
  new Set(regions.map(({ build }) => build)).size > 1;

/** Numbers within builds compare as numbers: 1.10 is newer than 1.9. */
export function compareBuilds(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [one, other] = [left[i] ?? "", right[i] ?? ""];
    const difference = Number(one) - Number(other);
    if (Number.isNaN(difference) ? one !== other : difference !== 0) {
      return Number.isNaN(difference) ? (one < other ? -1 : 1) : difference;
    }
  }
  return 0;
}

const partsOf = (build: string): string[] => build.match(/\d+|\D+/g) ?? [];
