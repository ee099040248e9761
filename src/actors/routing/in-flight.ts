// Tracks this host's calls in flight to sharded actors, so that no call overtakes an earlier one to the same
// actor. When a shard moves, later calls wait until the calls to its old home have returned. That is soon: a
// host that gave up a shard rejects its calls at once. Calls are counted, not listed, because this runs for
// every call.

import type { Turn } from "../activation/turn.ts";
import type { CallRoute } from "./call-route.ts";
import { InFlightByActor, InFlightByShard } from "./in-flight-by-shard.ts";

/** Waiting calls to this shard may continue; or to this actor, if this host cannot compute its shard. */
export interface Followed {
  readonly type: string;
  readonly key: number | string;
}

interface TypeInFlight {
  readonly shards: InFlightByShard;
  readonly actors: InFlightByActor;
}

export class InFlightCalls {
  readonly #types = new Map<string, TypeInFlight>();
  /** The type called last, which is often the type of the next call. */
  #latest: TypeInFlight | undefined;
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** `shard`: shard of the actor; undefined: not computable here. */
  left(turn: Turn, to: string, shard: number | undefined): void {
    const route = turn.routed();
    const lanes = route.lanes ?? this.#join(turn, route, shard);
    lanes.enter(route.lane, to);
    this.#count++;
  }

  /** Assigns the call to the lane of its actor. */
  #join({ type: { name }, id }: Turn, route: CallRoute, shard: number | undefined): InFlightByShard {
    let of = this.#latest;
    if (of === undefined || of.shards.type !== name) {
      of = this.#types.get(name) ?? this.#begin(name);
      this.#latest = of;
    }
    route.lanes = shard === undefined ? of.actors : of.shards;
    route.lane = shard === undefined ? of.actors.numberOf(id) : shard;
    return route.lanes;
  }

  #begin(type: string): TypeInFlight {
    const lanes = { shards: new InFlightByShard(type), actors: new InFlightByActor(type) };
    this.#types.set(type, lanes);
    return lanes;
  }

  has(type: string, id: string, shard: number | undefined): boolean {
    const of = this.#types.get(type);
    if (of === undefined) return false;
    if (shard !== undefined) return !of.shards.isEmpty(shard);
    const lane = of.actors.known(id);
    return lane !== undefined && !of.actors.isEmpty(lane);
  }

  /** The call is no longer in flight. A result: it was the last one, and other calls waited for that. */
  landed(turn: Turn, to: string): Followed | undefined {
    const { route } = turn;
    if (route?.lanes === undefined) return undefined;
    const { lanes, lane } = route;
    route.lanes = undefined;
    this.#count--;
    if (!lanes.leave(lane, to)) return undefined;
    const isAwaited = lanes.takeAwaited(lane);
    if (!lanes.areShards && lanes.isEmpty(lane)) (lanes as InFlightByActor).forget(turn.id);
    return isAwaited ? { type: lanes.type, key: lanes.areShards ? lane : turn.id } : undefined;
  }

  /**
   * The destination rejected the call. It will reject the others in flight there too, so later calls do not
   * follow them.
   */
  refused({ type, id }: Turn, by: string, shard: number | undefined): void {
    const of = this.#types.get(type.name);
    const lane = shard ?? of?.actors.known(id);
    if (lane !== undefined) (shard === undefined ? of?.actors : of?.shards)?.refused(lane, by);
  }

  /**
   * True: calls are in flight to another destination than `to`, or `to` will reject them, so this call must
   * wait. A host that has left all tables still reports the outcome of its calls before it closes its
   * connections. When a connection is lost, its calls are lost too. So no call waits forever.
   */
  waitsFor(turn: Turn, to: string | undefined, shard: number | undefined): boolean {
    // A call without a destination joins no lane.
    if (to === undefined && !this.has(turn.type.name, turn.id, shard)) return false;
    const route = turn.routed();
    const lanes = this.#join(turn, route, shard);
    if (to === undefined) route.lanes = undefined;
    if (lanes.isFree(route.lane, to)) return false;
    route.lanes = undefined;
    lanes.await(route.lane);
    return true;
  }
}
