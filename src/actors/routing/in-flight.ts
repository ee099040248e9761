// Where the calls of this host to sharded actors are at the moment, so that none overtakes an earlier one to the same actor: when a shard
// has moved while calls were on their way to where it lived before, those that were made later wait until these have come back. That is
// soon: who lets go of a shard has nothing to do with it any more. They are counted and not listed, because this happens at every call.

import type { Turn } from "../activation/turn.ts";
import { InFlightByActor, InFlightByShard } from "./in-flight-by-shard.ts";

/** Calls to this shard, or to this actor where nobody here knows its shard, need not wait any more. */
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
  /** Of the type that was called last, which is often that of the next call as well. */
  #latest: TypeInFlight | undefined;
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** `shard`: of its actor; undefined: nobody knows. */
  left(turn: Turn, to: string, shard: number | undefined): void {
    const lanes = turn.lanes ?? this.#join(turn, shard);
    lanes.enter(turn.lane, to);
    this.#count++;
  }

  /** From now on it belongs to the lane of its actor. */
  #join(turn: Turn, shard: number | undefined): InFlightByShard {
    const { name } = turn.type;
    let of = this.#latest;
    if (of === undefined || of.shards.type !== name) {
      of = this.#types.get(name) ?? this.#begin(name);
      this.#latest = of;
    }
    turn.lanes = shard === undefined ? of.actors : of.shards;
    turn.lane = shard === undefined ? of.actors.numberOf(turn.id) : shard;
    return turn.lanes;
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

  /** It is there no more. What is given: it was the last one, and somebody waited for that. */
  landed(turn: Turn, to: string): Followed | undefined {
    const { lanes, lane } = turn;
    if (lanes === undefined) return undefined;
    turn.lanes = undefined;
    this.#count--;
    if (!lanes.leave(lane, to)) return undefined;
    const isAwaited = lanes.told(lane);
    if (!lanes.areShards && lanes.isEmpty(lane)) (lanes as InFlightByActor).forget(turn.id);
    return isAwaited ? { type: lanes.type, key: lanes.areShards ? lane : turn.id } : undefined;
  }

  /** It was sent back from there. Those that are still on their way there will be, too: nobody follows them. */
  refused({ type, id }: Turn, by: string, shard: number | undefined): void {
    const of = this.#types.get(type.name);
    const lane = shard ?? of?.actors.known(id);
    if (lane !== undefined) (shard === undefined ? of?.actors : of?.shards)?.refused(lane, by);
  }

  /**
   * Some are on their way to another address than `to`, or will be sent back from there. If so they are to be waited for; if not, it may leave
   * now. A host that has left all tables may still have to say what became of some, and says so before it closes its connections; one that
   * says nothing any more loses them. So nobody waits for ever.
   */
  waitsFor(turn: Turn, to: string | undefined, shard: number | undefined): boolean {
    // Who goes nowhere joins nobody.
    if (to === undefined && !this.has(turn.type.name, turn.id, shard)) return false;
    const lanes = this.#join(turn, shard);
    if (to === undefined) turn.lanes = undefined;
    if (lanes.isFree(turn.lane, to)) return false;
    turn.lanes = undefined;
    lanes.await(turn.lane);
    return true;
  }
}
