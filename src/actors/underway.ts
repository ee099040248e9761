// Where the calls of this host to sharded actors are at the moment, so that none overtakes an earlier one to the same actor: when a shard
// has moved while calls were on their way to where it lived before, those that were made later wait until these have come back. That is
// soon: who lets go of a shard has nothing to do with it any more. They are counted and not listed, because this happens at every call.
import type { Turn } from "./turn.ts";

/** The calls of a shard; where nobody here knows the shards of a type, of an actor. */
export interface Lane {
  readonly type: string;
  readonly key: number | string;
  /** Where those are that left last. */
  address: string;
  count: number;
  /** Those that left before, for other addresses. Empty, but for a moment after a move. */
  readonly before: Map<string, number>;
  /** Somebody waits until all of some address have come back. */
  isAwaited: boolean;
}

export class Underway {
  readonly #types = new Map<string, Map<number | string, Lane>>();
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  #laneOf(type: string, key: number | string): Lane {
    let lanes = this.#types.get(type);
    if (lanes === undefined) {
      lanes = new Map();
      this.#types.set(type, lanes);
    }
    let lane = lanes.get(key);
    if (lane === undefined) {
      lane = { type, key, address: "", count: 0, before: new Map(), isAwaited: false };
      lanes.set(key, lane);
    }
    return lane;
  }

  /** `shard`: of its actor; undefined: nobody knows. */
  left(turn: Turn, to: string, shard: number | undefined): void {
    const lane = turn.lane ?? this.#laneOf(turn.type.name, shard ?? turn.id);
    if (lane.address !== to) {
      if (lane.count > 0) lane.before.set(lane.address, lane.count);
      lane.count = lane.before.get(to) ?? 0;
      lane.before.delete(to);
      lane.address = to;
    }
    lane.count++;
    this.#count++;
    turn.lane = lane;
  }

  has(type: string, id: string, shard: number | undefined): boolean {
    const lane = this.#types.get(type)?.get(shard ?? id);
    return lane !== undefined && (lane.count > 0 || lane.before.size > 0);
  }

  /** It is there no more. The lane: it was the last one, and somebody waited for that. */
  landed(turn: Turn, to: string): Lane | undefined {
    const { lane } = turn;
    if (lane === undefined) return undefined;
    turn.lane = undefined;
    this.#count--;
    if (lane.address === to) lane.count--;
    else {
      const left = lane.before.get(to)! - 1;
      if (left > 0) lane.before.set(to, left);
      else lane.before.delete(to);
    }
    const isLast = lane.address === to ? lane.count === 0 : !lane.before.has(to);
    if (!isLast) return undefined;
    // Shards are few; actors are not.
    if (typeof lane.key === "string" && lane.count === 0 && lane.before.size === 0) {
      this.#types.get(lane.type)!.delete(lane.key);
    }
    const { isAwaited } = lane;
    lane.isAwaited = false;
    return isAwaited ? lane : undefined;
  }

  /** Some are on their way to another address than `to`, of those that count. If so they are to be waited for; if not, it may leave now. */
  waitsFor(
    turn: Turn,
    to: string | undefined,
    shard: number | undefined,
    counts: (type: string, address: string) => boolean,
  ): boolean {
    const lane = this.#laneOf(turn.type.name, shard ?? turn.id);
    turn.lane = to === undefined ? undefined : lane;
    if (lane.before.size === 0 && (lane.count === 0 || lane.address === to)) return false;
    const elsewhere = [lane.address, ...lane.before.keys()].filter(
      (address) => address !== to && (address !== lane.address || lane.count > 0),
    );
    if (!elsewhere.some((address) => counts(lane.type, address))) return false;
    turn.lane = undefined;
    lane.isAwaited = true;
    return true;
  }
}
