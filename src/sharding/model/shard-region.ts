// The shards of one type, as one host sees them: which it is the home of, where others live, and for which calls are kept back.
//
// - Where a shard lives is asked of the leader once, when the first call for it comes; calls that come meanwhile wait for the same answer.
//   What is known counts as long as that very incarnation hosts the type. So shards that are known are served while nobody leads.
// - When a shard is to move calls for it are kept back from the moment this host hears of it until it hears of the new home.
// - The home of a shard that moves stops its actors, and says so when none is left. From then on it is the home no more.
// - On a new stream nothing is known of moves that an earlier leader began: calls that were kept back are asked for again. What was said
//   while there was none was missed, so everything that is known is asked for as well, and counts until it is answered otherwise.
// Pure. A driver asks, stops actors, and wakes those who wait.

export interface ShardHome {
  readonly incarnation: string;
  readonly address: string;
}

/** `here`: this host is its home. `wait`: it is not clear yet; `ask`: nor has it been asked. */
export type ShardRoute = "here" | "wait" | "ask" | ShardHome;

interface Kept {
  readonly move: number;
  /** Of its actors here: are they being stopped, or were they? The leader may not have heard yet that they were. */
  actors: "left alone" | "stopping" | "stopped";
}

/** What is to be said on a new stream: first what was stopped, then what is asked. */
export interface Rejoining {
  readonly asks: readonly number[];
  /** Moves for which all actors were stopped here. */
  readonly stopped: readonly { readonly shard: number; readonly move: number }[];
}

export class ShardRegion {
  readonly #self: () => string;
  readonly #there: (home: ShardHome) => ShardHome | undefined;
  /** This host is the home of these. */
  readonly #held = new Set<number>();
  readonly #homes = new Map<number, ShardHome>();
  readonly #kept = new Map<number, Kept>();
  /** Shards that the leader was asked for and has not answered, and when it was asked last. */
  readonly #asked = new Map<number, number>();
  /** What came out of looking for the way to a shard whose home is known: it is looked for at every call. Empty when that may have changed. */
  readonly #ways: (ShardRoute | undefined)[] = [];

  /**
   * `self`: the incarnation of this host. `there`: the same host as the table of the type knows it, if that incarnation hosts the type. All
   * shards of a host then have its address in common, and not each a copy of its own.
   */
  constructor(self: () => string, there: (home: ShardHome) => ShardHome | undefined) {
    this.#self = self;
    this.#there = there;
  }

  get held(): ReadonlySet<number> {
    return this.#held;
  }

  /** For which calls are kept back. */
  get kept(): Iterable<number> {
    return this.#kept.keys();
  }

  route(shard: number): ShardRoute {
    const way = this.#ways[shard];
    if (way !== undefined) return way;
    const found = this.#find(shard);
    if (found !== "wait" && found !== "ask") this.#note(shard, found);
    return found;
  }

  #find(shard: number): ShardRoute {
    if (this.#kept.has(shard)) return "wait";
    if (this.#held.has(shard)) return "here";
    return this.belief(shard) ?? (this.#asked.has(shard) ? "wait" : "ask");
  }

  #note(shard: number, way: ShardRoute): void {
    // Without a gap, so that it stays what an array is fast for.
    while (this.#ways.length < shard) this.#ways.push(undefined);
    this.#ways[shard] = way;
  }

  #changed(shard: number): void {
    if (shard < this.#ways.length) this.#ways[shard] = undefined;
  }

  /** Incarnations have come or gone that host the type. */
  hostsChanged(): void {
    this.#ways.length = 0;
  }

  /** It is known where it lives, so that calls for it find their way. */
  isClear(shard: number): boolean {
    return !this.#kept.has(shard) && (this.#held.has(shard) || this.belief(shard) !== undefined);
  }

  /** Where this host believes it to live: what it tells others that come to the wrong one. */
  belief(shard: number): ShardHome | undefined {
    const home = this.#homes.get(shard);
    return home && this.#there(home);
  }

  /** The leader was asked. */
  asked(shard: number, now: number): void {
    this.#asked.set(shard, now);
  }

  /** The leader has not answered a request for this long. */
  isUnanswered(shard: number, now: number, ms: number): boolean {
    const at = this.#asked.get(shard);
    return at !== undefined && now - at >= ms;
  }

  /** Somebody was told by others that it lives elsewhere: what is known of it may be out of date. */
  doubt(shard: number): void {
    this.#homes.delete(shard);
    this.#changed(shard);
  }

  /** That host does not have it: what was known of it is out of date. */
  mistaken(shard: number, address: string): void {
    this.#changed(shard);
    if (this.#homes.get(shard)?.address === address) this.#homes.delete(shard);
  }

  // ——— What the leader says.

  /** It lives there. Calls that were kept back may go. */
  lives(shard: number, home: ShardHome): void {
    this.#changed(shard);
    this.#asked.delete(shard);
    // What comes to its end here does so, whoever was told before that it is the home.
    if (this.#kept.get(shard)?.actors === "stopping") return;
    this.#kept.delete(shard);
    if (home.incarnation === this.#self()) {
      this.#homes.delete(shard);
      this.#held.add(shard);
    } else {
      this.#held.delete(shard);
      this.#homes.set(shard, home);
    }
  }

  /** Nobody could be its home: who waits for it is told so. */
  livesNowhere(shard: number): void {
    this.#changed(shard);
    this.#asked.delete(shard);
    if (this.#kept.get(shard)?.actors !== "stopping") this.#kept.delete(shard);
  }

  /** It is to move: calls for it are kept back. */
  gather(shard: number, move: number): void {
    this.#changed(shard);
    const isStopping = this.#kept.get(shard)?.actors === "stopping";
    this.#kept.set(shard, { move, actors: isStopping ? "stopping" : "left alone" });
    this.#homes.delete(shard);
  }

  /** The move for which calls are kept back here until it is said where it lives. */
  keptFor(shard: number): number | undefined {
    const kept = this.#kept.get(shard);
    return kept?.actors === "left alone" ? kept.move : undefined;
  }

  /** It is to be given up. False: this host is not its home, so nothing of it is here. */
  stop(shard: number, move: number): boolean {
    this.#changed(shard);
    this.#kept.set(shard, { move, actors: "stopping" });
    return this.#held.has(shard);
  }

  /** None of its actors is left here. Gives the move that is answered by this. */
  stopped(shard: number): number | undefined {
    this.#changed(shard);
    this.#held.delete(shard);
    const kept = this.#kept.get(shard);
    if (kept?.actors !== "stopping") return undefined;
    kept.actors = "stopped";
    return kept.move;
  }

  // ——— Streams.

  joined(now: number): Rejoining {
    this.#ways.length = 0;
    // Its home goes on until it is told to stop, which it may have been while it could not hear it: it asks, too.
    const asks = new Set([...this.#asked.keys(), ...this.#homes.keys(), ...this.#held]);
    const stopped: { shard: number; move: number }[] = [];
    for (const [shard, { move, actors }] of this.#kept) {
      if (actors === "stopping") {
        asks.delete(shard);
        continue;
      }
      if (actors === "stopped") stopped.push({ shard, move });
      else this.#kept.delete(shard);
      if (!this.#held.has(shard)) this.#asked.set(shard, now);
      asks.add(shard);
    }
    return { asks: [...asks].sort((a, b) => a - b), stopped };
  }

  /** The lease is lost: nothing of this counts any more. */
  clear(): void {
    this.#held.clear();
    this.#homes.clear();
    this.#kept.clear();
    this.#asked.clear();
    this.#ways.length = 0;
  }
}
