// The sticky actors of one type, and the place of each id. A place stands for one host's actors of the type
// since its last complete claim. When a place is over, all its ids are free; sweeps remove them in small
// steps. Pure.
import type { LostRule, TableHost } from "../../ports/control-messages.ts";

export interface StickyPlace {
  readonly host: TableHost;
  ids: number;
  /** Ids granted without a request, until the host has shown that it knows. */
  inherited: Set<string> | undefined;
  /** Held; kept until `until` for a host that is lost; or over. */
  state: "held" | "kept" | "over";
  until: number;
}

export interface Holding {
  place: StickyPlace;
  /** By the wall clock of its host. */
  since: number;
}

export interface StickyType {
  readonly lost: LostRule;
  readonly holdings: Map<string, Holding>;
  /** By incarnation. */
  readonly places: Map<string, StickyPlace>;
  /** Claims that were cut short when a stream ended, by incarnation: they count beside the earlier ones. */
  readonly interrupted: Map<string, StickyPlace[]>;
  /** Places of lost hosts. */
  readonly kept: Set<StickyPlace>;
  /** Ids whose place is over. */
  garbage: number;
  sweeping: MapIterator<[string, Holding]> | undefined;
}

/** Ids looked at in one sweep. */
const SWEEP = 5_000;

/** Places of a host, without its claims in progress. */
export function allOf({ places, interrupted }: StickyType, incarnation: string): StickyPlace[] {
  const place = places.get(incarnation);
  return [...(place === undefined ? [] : [place]), ...(interrupted.get(incarnation) ?? [])];
}

export function give(known: StickyType, id: string, place: StickyPlace, since: number): void {
  place.ids++;
  const holding = known.holdings.get(id);
  if (holding === undefined) {
    known.holdings.set(id, { place, since });
    return;
  }
  holding.place.ids--;
  if (holding.place.state === "over") known.garbage--;
  if (holding.place.state === "kept" && holding.place.ids === 0) known.kept.delete(holding.place);
  holding.place = place;
  holding.since = since;
}

/**
 * Reserves ids that a host was granted without a request and does not claim: it may never have received the
 * grant.
 */
export function keepInherited(known: StickyType, place: StickyPlace, now: number): void {
  const ids = [...(place.inherited ?? [])].filter((id) => known.holdings.get(id)?.place === place);
  if (ids.length === 0) return;
  const kept = newPlace(place.host);
  kept.state = "kept";
  kept.until = known.lost === "never" ? Number.POSITIVE_INFINITY : now + known.lost;
  known.kept.add(kept);
  for (const id of ids) give(known, id, kept, known.holdings.get(id)!.since);
}

export function placeOf({ places }: StickyType, host: TableHost): StickyPlace {
  let place = places.get(host.incarnation);
  if (place === undefined) {
    place = newPlace(host);
    places.set(host.incarnation, place);
  }
  return place;
}

export const newPlace = ({ address, incarnation, name }: TableHost): StickyPlace => ({
  host: { address, incarnation, name },
  ids: 0,
  inherited: undefined,
  state: "held",
  until: 0,
});

export const newType = (lost: LostRule): StickyType => ({
  lost,
  holdings: new Map(),
  places: new Map(),
  interrupted: new Map(),
  kept: new Set(),
  garbage: 0,
  sweeping: undefined,
});

/** Removes some of the garbage. Returns true if there is more to scan. */
export function sweep(known: StickyType): boolean {
  if (known.garbage === 0) known.sweeping = undefined;
  else known.sweeping ??= known.holdings.entries();
  for (let looked = 0; looked < SWEEP && known.sweeping !== undefined; looked++) {
    const next = known.sweeping.next();
    if (next.done) {
      known.sweeping = undefined;
      break;
    }
    const [id, { place }] = next.value;
    if (place.state !== "over") continue;
    known.holdings.delete(id);
    place.ids--;
    known.garbage--;
  }
  return known.sweeping !== undefined;
}
