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
//   until the answer differs. A host never requests the home of a shard that it holds; that is a bug, and its
//   error prints the state. Pure. A driver sends requests, stops actors, and wakes waiting calls.
import { invariant } from "../../kernel/errors.ts";

export interface ShardHome {
  readonly incarnation: string;
  readonly address: string;
}

/**
 * `here`: this host is the home. `wait`: the home is unknown and was requested. `request`: it was not
 * requested yet.
 */
export type ShardRoute = "here" | "wait" | "request" | ShardHome;

interface BufferedShard {
  readonly move: number;
  /** State of the shard's actors here. With "stopped", the leader may not have received the report yet. */
  actors: "left alone" | "stopping" | "stopped";
}

/** Messages for a new stream: first the stopped shards, then the requests. */
export interface Rejoining {
  readonly requests: readonly number[];
  /** Moves for which all actors were stopped here. */
  readonly stopped: readonly { readonly shard: number; readonly move: number }[];
}

export class ShardRegion {
  readonly #self: () => string;
  readonly #there: (home: ShardHome) => ShardHome | undefined;
  /** This host is the home of these. */
  readonly #held = new Set<number>();
  readonly #homes = new Map<number, ShardHome>();
  readonly #buffered = new Map<number, BufferedShard>();
  /** Requests without an answer, and the time of the last one. */
  readonly #requested = new Map<number, number>();
  /**
   * Cached routes of shards with a known home, because every call needs one. An entry is cleared when it may
   * have changed.
   */
  readonly #routes: (ShardRoute | undefined)[] = [];

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
  get buffered(): Iterable<number> {
    return this.#buffered.keys();
  }

  route(shard: number): ShardRoute {
    const route = this.#routes[shard];
    if (route !== undefined) return route;
    const found = this.#find(shard);
    if (found !== "wait" && found !== "request") this.#cacheRoute(shard, found);
    return found;
  }

  #find(shard: number): ShardRoute {
    if (this.#buffered.has(shard)) return "wait";
    if (this.#held.has(shard)) return "here";
    return this.cachedHome(shard) ?? (this.#requested.has(shard) ? "wait" : "request");
  }

  #cacheRoute(shard: number, route: ShardRoute): void {
    // Without a gap, so that the array stays in its fast representation.
    while (this.#routes.length < shard) this.#routes.push(undefined);
    this.#routes[shard] = route;
  }

  #changed(shard: number): void {
    if (shard < this.#routes.length) this.#routes[shard] = undefined;
  }

  /** The incarnations that host the type have changed. */
  hostsChanged(): void {
    this.#routes.length = 0;
  }

  /** Reports whether the home is known, so that calls can be routed. */
  isClear(shard: number): boolean {
    return !this.#buffered.has(shard) && (this.#held.has(shard) || this.cachedHome(shard) !== undefined);
  }

  /** The home this host believes in: its answer to callers that reached the wrong host. */
  cachedHome(shard: number): ShardHome | undefined {
    const home = this.#homes.get(shard);
    return home && this.#there(home);
  }

  /** The leader was asked. */
  requested(shard: number, now: number): void {
    if (this.#held.has(shard)) invariant(false, `a host holds no shard that it requests; ${this.describe(shard)}`);
    this.#requested.set(shard, now);
  }

  /** The leader has not answered a request for this long. */
  isUnanswered(shard: number, now: number, ms: number): boolean {
    const at = this.#requested.get(shard);
    return at !== undefined && now - at >= ms;
  }

  /** Another host responded with a different home: the cached one may be out of date. */
  recheckHome(shard: number): void {
    this.#homes.delete(shard);
    this.#changed(shard);
  }

  /** That host does not have the shard: the cached home is out of date. */
  invalidateHome(shard: number, address: string): void {
    this.#changed(shard);
    if (this.#homes.get(shard)?.address === address) this.#homes.delete(shard);
  }

  // ——— Messages of the leader.

  /** The shard has this home. Buffered calls may go. */
  setHome(shard: number, home: ShardHome): void {
    this.#changed(shard);
    this.#requested.delete(shard);
    // Actors that are stopping here finish first, even if this host is the announced home.
    if (this.#buffered.get(shard)?.actors === "stopping") return;
    this.#buffered.delete(shard);
    if (home.incarnation === this.#self()) {
      this.#homes.delete(shard);
      this.#held.add(shard);
    } else {
      this.#held.delete(shard);
      this.#homes.set(shard, home);
    }
  }

  /** No host can be its home: waiting calls fail. */
  setNoHome(shard: number): void {
    this.#changed(shard);
    this.#requested.delete(shard);
    if (this.#buffered.get(shard)?.actors !== "stopping") this.#buffered.delete(shard);
  }

  /** The shard shall move: calls for it are buffered. */
  beginHandOff(shard: number, move: number): void {
    this.#changed(shard);
    const isStopping = this.#buffered.get(shard)?.actors === "stopping";
    this.#buffered.set(shard, { move, actors: isStopping ? "stopping" : "left alone" });
    this.#homes.delete(shard);
  }

  /** The move for which calls are buffered here, while its actors are not touched. */
  bufferedFor(shard: number): number | undefined {
    const buffered = this.#buffered.get(shard);
    return buffered?.actors === "left alone" ? buffered.move : undefined;
  }

  /** Begins to stop the shard's actors. False: this host is not its home, so none of them is here. */
  handOff(shard: number, move: number): boolean {
    this.#changed(shard);
    this.#buffered.set(shard, { move, actors: "stopping" });
    return this.#held.has(shard);
  }

  /** None of its actors is left here. Returns the move to report. */
  shardStopped(shard: number): number | undefined {
    this.#changed(shard);
    this.#held.delete(shard);
    const buffered = this.#buffered.get(shard);
    if (buffered?.actors !== "stopping") return undefined;
    buffered.actors = "stopped";
    return buffered.move;
  }

  // ——— Streams.

  joined(now: number): Rejoining {
    this.#routes.length = 0;
    // A home goes on until it is asked to stop; that message may have been lost, so it asks, too.
    const requests = new Set([...this.#requested.keys(), ...this.#homes.keys(), ...this.#held]);
    const stopped: { shard: number; move: number }[] = [];
    for (const [shard, { move, actors }] of this.#buffered) {
      if (actors === "stopping") {
        requests.delete(shard);
        continue;
      }
      if (actors === "stopped") stopped.push({ shard, move });
      else this.#buffered.delete(shard);
      if (!this.#held.has(shard)) this.#requested.set(shard, now);
      requests.add(shard);
    }
    return { requests: [...requests].sort((a, b) => a - b), stopped };
  }

  /** The state in short, for errors. */
  describe(shard: number): string {
    const [home, buffered] = [this.#homes.get(shard), this.#buffered.get(shard)];
    const parts = [`shard ${shard}: ${this.#held.has(shard) ? "held" : "not held"}`];
    if (home !== undefined) parts.push(`home ${home.incarnation}`);
    if (buffered !== undefined) parts.push(`buffered for move ${buffered.move}, actors ${buffered.actors}`);
    if (this.#requested.has(shard)) parts.push("requested");
    const counts = `${this.#held.size} held, ${this.#homes.size} homes, ${this.#buffered.size} buffered`;
    return `${parts.join(", ")}; ${counts}`;
  }

  /** The lease is lost, so all of this is void. */
  clear(): void {
    this.#held.clear();
    this.#homes.clear();
    this.#buffered.clear();
    this.#requested.clear();
    this.#routes.length = 0;
  }
}
