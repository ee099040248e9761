// Keeps the order of this host's calls to sharded actors: no call overtakes an earlier one, even when its
// shard moves. A later call queues behind the ones that wait here, and waits for the ones in flight to the
// old home.
import { HERE, NOBODY, type Placement, type Route, type ShardRouting, WAIT } from "../../ports/placement.ts";
import type { Turn } from "../activation/turn.ts";
import { InFlightCalls } from "./in-flight.ts";
import type { WaitingQueue } from "./waiting-queue.ts";

export class CallOrder {
  readonly #placement: Placement;
  readonly #queue: WaitingQueue;
  readonly #inFlight = new InFlightCalls();

  constructor(placement: Placement, queue: WaitingQueue) {
    this.#placement = placement;
    this.#queue = queue;
  }

  /**
   * True: the actor is here, but earlier calls have not arrived. Another call may have activated it while
   * they were in flight to its old host.
   */
  isBehindHere(turn: Turn): boolean {
    // Every turn gets a number, even if it need not wait: a turn in a mailbox may be routed again.
    this.#queue.number(turn);
    if (turn.parent !== undefined || (this.#queue.size === 0 && this.#inFlight.isEmpty)) return false;
    const sharding = this.#placement.inShards(turn.type.name);
    return sharding !== undefined && this.isBehind(turn, HERE, shardIn(sharding, turn.id));
  }

  /** True: the route is known, but earlier calls have not arrived yet. */
  isBehind(turn: Turn, route: Route, shard: number | undefined): boolean {
    this.#queue.number(turn);
    if (route === WAIT || route === NOBODY) return false;
    if (this.#queue.size > 0 && this.#queue.isBehind(turn)) return true;
    if (route === HERE && this.#inFlight.isEmpty) return false;
    const to = typeof route === "string" ? route : undefined;
    return this.#inFlight.waitsFor(turn, to, shard);
  }

  /** The call leaves this host. */
  left(turn: Turn, to: string): void {
    if (turn.route === undefined) return;
    if (turn.route.lanes !== undefined) this.#inFlight.left(turn, to, undefined);
    else if (turn.route.arrival > 0) {
      const sharding = this.#placement.inShards(turn.type.name);
      if (sharding !== undefined) this.#inFlight.left(turn, to, shardIn(sharding, turn.id));
    }
  }

  /** The call is no longer in flight. */
  returned(turn: Turn, from: string): void {
    const followed = this.#inFlight.landed(turn, from);
    if (followed === undefined) return;
    const { type, key } = followed;
    // Releases the calls behind this one after its own next step is decided: if it is routed again, it goes
    // first.
    void Promise.resolve().then(() => {
      if (typeof key === "number") this.#queue.release(type, key);
      else this.#queue.releaseOne(type, key);
    });
  }

  /** That host rejected the call. It rejects the other calls in flight there too. */
  rejected(turn: Turn, from: string, shard: number | undefined): void {
    this.#inFlight.refused(turn, from, shard);
  }

  /** True: no call to that actor is in flight or waits. */
  isQuiet(type: string, id: string): boolean {
    const shard = shardIn(this.#placement.inShards(type), id);
    return !this.#inFlight.has(type, id, shard) && !this.#queue.has(type, id, shard);
  }
}

/**
 * Undefined: the type is not sharded, or the application's `shardOf` failed. Callers of such an actor got the
 * error already.
 */
export function shardIn(sharding: ShardRouting | undefined, id: string): number | undefined {
  try {
    return sharding?.shardOf(id);
  } catch {
    return undefined;
  }
}
