// Where the calls of this host to sharded actors are at the moment, so that none overtakes an earlier one to the same actor: when its shard
// has moved while one was on its way to where it lived before, those that were made later wait until that one has come back.
import type { Turn } from "./turn.ts";

/** By address. */
type Flights = Map<string, Set<Turn>>;

export class Underway {
  readonly #types = new Map<string, Map<string, Flights>>();

  left(turn: Turn, to: string): void {
    const type = turn.type.name;
    let ids = this.#types.get(type);
    if (ids === undefined) {
      ids = new Map();
      this.#types.set(type, ids);
    }
    let flights = ids.get(turn.id);
    if (flights === undefined) {
      flights = new Map();
      ids.set(turn.id, flights);
    }
    const there = flights.get(to);
    if (there === undefined) flights.set(to, new Set([turn]));
    else there.add(turn);
  }

  /** It is there no more. True: so somebody may go elsewhere who could not until now. */
  landed(turn: Turn, to: string): boolean {
    const ids = this.#types.get(turn.type.name);
    const flights = ids?.get(turn.id);
    const there = flights?.get(to);
    if (there === undefined || !there.delete(turn)) return false;
    if (there.size > 0) return false;
    flights!.delete(to);
    if (flights!.size === 0) ids!.delete(turn.id);
    return true;
  }

  /** One that is older than this is on its way to another address than `to`, of those that count. */
  isAhead(turn: Turn, to: string | undefined, counts: (address: string) => boolean): boolean {
    const flights = this.#types.get(turn.type.name)?.get(turn.id);
    if (flights === undefined) return false;
    for (const [address, turns] of flights) {
      if (address === to || !counts(address)) continue;
      for (const other of turns) if (other.arrival < turn.arrival) return true;
    }
    return false;
  }
}
