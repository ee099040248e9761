// The shards of one type, as one host sees them: the shards it is the home of, the homes of others, and the
// shards whose calls it buffers.
//
// - The host asks the leader for a home once, at the first call for the shard; further calls wait for the
//   same answer. A known home counts as long as that very incarnation hosts the type. So known shards work
//   while there is no leader.
// - When a shard shall move, the host buffers its calls from the leader's message until it is notified of the
//   new home.
// - The home of a shard that moves stops its actors, and reports when none is left. From then on it is not
//   the home.
// - On a new stream the host knows nothing of moves that an earlier leader began: it asks again for shards
//   whose calls it buffers. It may have missed messages, so it also asks for all known homes. They count
//   until the answer differs.
// Pure. A driver sends requests, stops actors, and wakes waiting calls.

export interface ShardHome {
  readonly incarnation: string;
  readonly address: string;
}

/**
 * `here`: this host is the home. `wait`: the home is unknown and was requested. `ask`: it was not requested
 * yet.
 */
export type ShardRoute = "here" | "wait" | "ask" | ShardHome;

interface Kept {
  readonly move: number;
  /** State of the shard's actors here. With "stopped", the leader may not have received the report yet. */
  actors: "left alone" | "stopping" | "stopped";
}

/** Messages for a new stream: first the stopped shards, then the requests. */
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
  /** Requests without an answer, and the time of the last one. */
  readonly #asked = new Map<number, number>();
  /**
   * Cached routes of shards with a known home, because every call needs one. An entry is cleared when it may
   * have changed.
   */
  readonly #ways: (ShardRoute | undefined)[] = [];

  /**
   * `self`: the incarnation of this host. `there`: the host's entry in the table, if that incarnation hosts
   * the type. All shards of a host then share one object for its address.
   */
  constructor(self: () => string, there: (home: ShardHome) => ShardHome | undefined) {
    this.#self = self;
    this.#there = there;
  }

  get held(): ReadonlySet<number> {
    return this.#held;
  }

  /** Shards whose calls are buffered. */
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
    // Without a gap, so that the array stays in its fast representation.
    while (this.#ways.length < shard) this.#ways.push(undefined);
    this.#ways[shard] = way;
  }

  #changed(shard: number): void {
    if (shard < this.#ways.length) this.#ways[shard] = undefined;
  }

  /** The incarnations that host the type have changed. */
  hostsChanged(): void {
    this.#ways.length = 0;
  }

  /** Reports whether the home is known, so that calls can be routed. */
  isClear(shard: number): boolean {
    return !this.#kept.has(shard) && (this.#held.has(shard) || this.belief(shard) !== undefined);
  }

  /** The home this host believes in: its answer to callers that reached the wrong host. */
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

  /** Another host responded with a different home: the cached one may be out of date. */
  doubt(shard: number): void {
    this.#homes.delete(shard);
    this.#changed(shard);
  }

  /** That host does not have the shard: the cached home is out of date. */
  mistaken(shard: number, address: string): void {
    this.#changed(shard);
    if (this.#homes.get(shard)?.address === address) this.#homes.delete(shard);
  }

  // ——— Messages of the leader.

  /** The shard has this home. Buffered calls may go. */
  lives(shard: number, home: ShardHome): void {
    this.#changed(shard);
    this.#asked.delete(shard);
    // Actors that are stopping here finish first, even if this host is the announced home.
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

  /** No host can be its home: waiting calls fail. */
  livesNowhere(shard: number): void {
    this.#changed(shard);
    this.#asked.delete(shard);
    if (this.#kept.get(shard)?.actors !== "stopping") this.#kept.delete(shard);
  }

  /** The shard shall move: calls for it are buffered. */
  gather(shard: number, move: number): void {
    this.#changed(shard);
    const isStopping = this.#kept.get(shard)?.actors === "stopping";
    this.#kept.set(shard, { move, actors: isStopping ? "stopping" : "left alone" });
    this.#homes.delete(shard);
  }

  /** The move for which calls are buffered here, while its actors are not touched. */
  keptFor(shard: number): number | undefined {
    const kept = this.#kept.get(shard);
    return kept?.actors === "left alone" ? kept.move : undefined;
  }

  /** Begins to stop the shard's actors. False: this host is not its home, so none of them is here. */
  stop(shard: number, move: number): boolean {
    this.#changed(shard);
    this.#kept.set(shard, { move, actors: "stopping" });
    return this.#held.has(shard);
  }

  /** None of its actors is left here. Returns the move to report. */
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
    // A home goes on until it is asked to stop; that message may have been lost, so it asks, too.
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

  /** The lease is lost, so all of this is void. */
  clear(): void {
    this.#held.clear();
    this.#homes.clear();
    this.#kept.clear();
    this.#asked.clear();
    this.#ways.length = 0;
  }
}
