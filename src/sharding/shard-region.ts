// The shards of one type, as one host sees them: which it is the home of, where others live, and for which calls are kept back.
//
// - Where a shard lives is asked of the leader once, when the first call for it comes; calls that come meanwhile wait for the same answer.
//   What is known counts as long as that very incarnation hosts the type. So shards that are known are served while nobody leads.
// - When a shard is to move calls for it are kept back from the moment this host hears of it until it hears of the new home.
// - The home of a shard that moves stops its actors, and says so when none is left. From then on it is the home no more.
// - On a new stream nothing is known of moves that an earlier leader began: calls that were kept back are asked for again.
// Pure. A driver asks, stops actors, and wakes those who wait.

export interface ShardHome {
  readonly incarnation: string;
  readonly address: string;
}

/** `here`: this host is its home. `wait`: it is not clear yet; `ask`: nor has it been asked. */
export type ShardRoute = "here" | "wait" | "ask" | { readonly address: string };

interface Kept {
  readonly move: number;
  /** Its actors are being stopped here. */
  isStopping: boolean;
}

export class ShardRegion {
  readonly #self: string;
  readonly #isThere: (home: ShardHome) => boolean;
  /** This host is the home of these. */
  readonly #held = new Set<number>();
  readonly #homes = new Map<number, ShardHome>();
  readonly #kept = new Map<number, Kept>();
  readonly #asked = new Set<number>();

  /** `self`: the incarnation of this host. `isThere`: that incarnation hosts the type. */
  constructor(self: string, isThere: (home: ShardHome) => boolean) {
    this.#self = self;
    this.#isThere = isThere;
  }

  get held(): ReadonlySet<number> {
    return this.#held;
  }

  /** For which calls are kept back. */
  get kept(): Iterable<number> {
    return this.#kept.keys();
  }

  route(shard: number): ShardRoute {
    if (this.#kept.has(shard)) return "wait";
    if (this.#held.has(shard)) return "here";
    const home = this.#homes.get(shard);
    if (home !== undefined && this.#isThere(home)) return home;
    return this.#asked.has(shard) ? "wait" : "ask";
  }

  /** It is known where it lives, so that calls for it find their way. */
  isClear(shard: number): boolean {
    return !this.#kept.has(shard) && (this.#held.has(shard) || this.belief(shard) !== undefined);
  }

  /** Where this host believes it to live: what it tells others that come to the wrong one. */
  belief(shard: number): ShardHome | undefined {
    const home = this.#homes.get(shard);
    return home !== undefined && this.#isThere(home) ? home : undefined;
  }

  /** The leader was asked. */
  asked(shard: number): void {
    this.#asked.add(shard);
  }

  /** That host does not have it: what was known of it is out of date. */
  mistaken(shard: number, address: string): void {
    if (this.#homes.get(shard)?.address === address) this.#homes.delete(shard);
  }

  // ——— What the leader says.

  /** It lives there. Calls that were kept back may go. */
  lives(shard: number, home: ShardHome): void {
    this.#asked.delete(shard);
    // What comes to its end here does so, whoever was told before that it is the home.
    if (this.#kept.get(shard)?.isStopping === true) return;
    this.#kept.delete(shard);
    if (home.incarnation === this.#self) {
      this.#homes.delete(shard);
      this.#held.add(shard);
    } else {
      this.#held.delete(shard);
      this.#homes.set(shard, home);
    }
  }

  /** Nobody could be its home: who waits for it is told so. */
  livesNowhere(shard: number): void {
    this.#asked.delete(shard);
    if (this.#kept.get(shard)?.isStopping === false) this.#kept.delete(shard);
  }

  /** It is to move: calls for it are kept back. */
  gather(shard: number, move: number): void {
    const isStopping = this.#kept.get(shard)?.isStopping ?? false;
    this.#kept.set(shard, { move, isStopping });
    this.#homes.delete(shard);
  }

  /** It is to be given up. False: this host is not its home, so nothing of it is here. */
  stop(shard: number, move: number): boolean {
    this.#kept.set(shard, { move, isStopping: true });
    return this.#held.has(shard);
  }

  /** None of its actors is left here. Gives the move that is answered by this. */
  stopped(shard: number): number | undefined {
    this.#held.delete(shard);
    const kept = this.#kept.get(shard);
    if (kept?.isStopping !== true) return undefined;
    kept.isStopping = false;
    return kept.move;
  }

  // ——— Streams.

  /** There is a new stream. Gives what is to be asked on it: what was not answered, and what was kept back for a move. */
  joined(): number[] {
    const again = new Set(this.#asked);
    for (const [shard, { isStopping }] of this.#kept) {
      if (isStopping) continue;
      this.#kept.delete(shard);
      if (!this.#held.has(shard)) again.add(shard);
    }
    for (const shard of again) this.#asked.add(shard);
    return [...again].sort((a, b) => a - b);
  }

  /** The lease is lost: nothing of this counts any more. */
  clear(): void {
    this.#held.clear();
    this.#homes.clear();
    this.#kept.clear();
    this.#asked.clear();
  }
}
