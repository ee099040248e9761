// Where the calls of this host to sharded actors are at the moment, so that none overtakes an earlier one to the same actor: when its shard
// has moved while one was on its way to where it lived before, those that were made later wait until that one has come back.
import type { Turn } from "./turn.ts";

interface Flights {
  readonly byAddress: Map<string, Set<Turn>>;
  /** Somebody waits until one of them has come back. */
  isAwaited: boolean;
}

export class Underway {
  readonly #types = new Map<string, Map<string, Flights>>();
  /** Actors to which some are. */
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  left(turn: Turn, to: string): void {
    const type = turn.type.name;
    let ids = this.#types.get(type);
    if (ids === undefined) {
      ids = new Map();
      this.#types.set(type, ids);
    }
    let flights = ids.get(turn.id);
    if (flights === undefined) {
      flights = { byAddress: new Map(), isAwaited: false };
      ids.set(turn.id, flights);
      this.#count++;
    }
    const there = flights.byAddress.get(to);
    if (there === undefined) flights.byAddress.set(to, new Set([turn]));
    else there.add(turn);
  }

  has(type: string, id: string): boolean {
    return this.#types.get(type)?.has(id) === true;
  }

  /** It is there no more. True: somebody waited for that. */
  landed(turn: Turn, to: string): boolean {
    const ids = this.#types.get(turn.type.name);
    const flights = ids?.get(turn.id);
    const there = flights?.byAddress.get(to);
    if (flights === undefined || there === undefined || !there.delete(turn) || there.size > 0) return false;
    flights.byAddress.delete(to);
    if (flights.byAddress.size === 0 && ids!.delete(turn.id)) this.#count--;
    const { isAwaited } = flights;
    flights.isAwaited = false;
    return isAwaited;
  }

  /** One that is older than this is on its way to another address than `to`, of those that count. If so it is to be waited for. */
  waitsFor(turn: Turn, to: string | undefined, counts: (address: string) => boolean): boolean {
    const flights = this.#types.get(turn.type.name)?.get(turn.id);
    if (flights === undefined) return false;
    for (const [address, turns] of flights.byAddress) {
      if (address === to || !counts(address)) continue;
      for (const other of turns) {
        if (other.arrival < turn.arrival) {
          flights.isAwaited = true;
          return true;
        }
      }
    }
    return false;
  }
}
