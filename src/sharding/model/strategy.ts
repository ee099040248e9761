// Where shards live: what a strategy is asked, and what it may answer. It is asked when a shard is used for the first time or has lost its
// home, and now and then whether some should move. Whatever it answers is checked by who asked (checkedHome, checkedMoves): one that
// names a host that is not there, or too many shards, does no harm.

/** A host that may be the home of shards of the type, and those that it is the home of. */
export interface Region {
  readonly incarnation: string;
  readonly address: string;
  /** The name its operator gave it. */
  readonly name: string;
  /** What it was built from. During a rolling update there are several. */
  readonly build: string;
  readonly shards: readonly number[];
}

export interface Move {
  readonly shard: number;
  /** The incarnation of its new home. Undefined: whatever `home` says then. */
  readonly to: string | undefined;
}

export interface Strategy {
  /** The incarnation of one of the regions, of which there is at least one; `asker` is the one that asks for it, if it is one of them. */
  home(shard: number, regions: readonly Region[], asker: string | undefined): string;
  /** Those that should move now. `moving` are on their way already, and are counted where they will be. */
  moves(regions: readonly Region[], moving: ReadonlySet<number>): readonly Move[];
}

/** What a strategy has said, if it can be followed. */
export function checkedHome(said: unknown, regions: readonly Region[]): string | undefined {
  return regions.find(({ incarnation }) => incarnation === said)?.incarnation;
}

/** Those of its moves that make sense: of shards that have a home and do not move, to a host that is there and is not that one. */
export function checkedMoves(
  said: unknown,
  regions: readonly Region[],
  moving: ReadonlySet<number>,
  most: number,
): readonly Move[] {
  if (!Array.isArray(said)) return [];
  const homes = new Map(regions.flatMap(({ incarnation, shards }) => shards.map((shard) => [shard, incarnation])));
  const found = new Map<number, Move>();
  for (const one of said as readonly unknown[]) {
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

/** Those of the newest build, while there are several: what is placed there need not move again when the others are replaced. */
export function newest(regions: readonly Region[]): readonly Region[] {
  const last = regions.reduce((build, region) => (compareBuilds(region.build, build) > 0 ? region.build : build), "");
  return regions.filter(({ build }) => build === last);
}

export const isUpdating = (regions: readonly Region[]): boolean => new Set(regions.map(({ build }) => build)).size > 1;

/** Numbers in them count as numbers: 1.10 is newer than 1.9. */
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
