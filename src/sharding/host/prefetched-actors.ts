// Actors that a host takes in the store shortly before it becomes the home of their shard, so that their next
// calls need not wait for the store.
//
// A prefetched actor is valid for one move, and only in the moment in which this host becomes the home by
// that very move. Until then no other host runs the actors: their former home has stopped them, and any other
// home would have been announced to this host. If anything intervenes, they are dropped. The next host to
// take them raises their epochs again, so a prefetched activation could not commit.
import type { Clock } from "../../ports/clock.ts";
import type { Taken } from "../../ports/store/store.ts";

export interface PrefetchedDeps {
  readonly clock: Clock;
  take(type: string, id: string): Promise<Taken>;
}

interface PrefetchedShard {
  readonly move: string;
  readonly actors: ReadonlyMap<string, Promise<Taken>>;
}

/** Limits the states held in memory until the shard is here. */
const MOST = 2_000;
const KEEP_MS = 5_000;

export class PrefetchedActors {
  readonly #deps: PrefetchedDeps;
  /** By type and shard. */
  readonly #waiting = new Map<string, PrefetchedShard>();
  #count = 0;
  /** By type, of shards that this host became the home of in this moment. */
  readonly #open = new Map<string, Map<string, Promise<Taken>>>();

  constructor(deps: PrefetchedDeps) {
    this.#deps = deps;
  }

  begin(type: string, shard: number, move: string, ids: readonly string[]): void {
    this.#drop(keyOf(type, shard));
    const actors = new Map<string, Promise<Taken>>();
    for (const id of ids.slice(0, MOST - this.#count)) {
      const taken = this.#deps.take(type, id);
      // `claim` returns the rejected promise to its caller.
      taken.catch(() => {});
      actors.set(id, taken);
    }
    if (actors.size === 0) return;
    this.#count += actors.size;
    const found = { move, actors };
    const key = keyOf(type, shard);
    this.#waiting.set(key, found);
    this.#deps.clock.after(KEEP_MS, () => this.#waiting.get(key) === found && this.#drop(key), "background");
  }

  /** This host has become the home by this move. The returned ids may be claimed in this moment. */
  open(type: string, shard: number, move: string | undefined): Iterable<string> {
    const found = this.#drop(keyOf(type, shard));
    if (found === undefined || found.move !== move) return [];
    const open = this.#open.get(type) ?? new Map();
    if (this.#open.size === 0) this.#deps.clock.soon(() => this.#open.clear());
    this.#open.set(type, open);
    for (const [id, taken] of found.actors) open.set(id, taken);
    return found.actors.keys();
  }

  /** Returns each actor once. Undefined: it has to be taken. */
  claim(type: string, id: string): Promise<Taken> | undefined {
    const open = this.#open.get(type);
    const taken = open?.get(id);
    if (taken !== undefined) open!.delete(id);
    return taken;
  }

  #drop(key: string): PrefetchedShard | undefined {
    const found = this.#waiting.get(key);
    this.#waiting.delete(key);
    this.#count -= found?.actors.size ?? 0;
    return found;
  }
}

const keyOf = (type: string, shard: number): string => `${shard} ${type}`;
