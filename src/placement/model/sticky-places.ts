// The sticky actors of one type, and the places that their ids lead to. A place is what one host holds of the type since it said so the last
// time; when it is over, every id that leads to it is free. What leads nowhere is swept away bit by bit. Pure.
import type { LostRule } from "../../kernel/lost-rule.ts";
import type { TableHost } from "../../ports/control-messages.ts";

export interface Place {
  readonly host: TableHost;
  ids: number;
  /** Those that it was given without having asked, until it has shown that it knows. */
  inherited: Set<string> | undefined;
  /** Held; kept for a host that is lost, until then; or over. */
  state: "held" | "kept" | "over";
  until: number;
}

export interface Holding {
  place: Place;
  /** By the wall clock of its host. */
  since: number;
}

export interface StickyType {
  readonly lost: LostRule;
  readonly holdings: Map<string, Holding>;
  /** By incarnation. */
  readonly places: Map<string, Place>;
  /** What hosts had begun to say when their streams ended, by incarnation: it counts beside what they said before. */
  readonly interrupted: Map<string, Place[]>;
  /** Of hosts that are lost. */
  readonly kept: Set<Place>;
  /** Ids that lead to a place that is over. */
  garbage: number;
  sweeping: MapIterator<[string, Holding]> | undefined;
}

/** Ids looked at in one sweep. */
const SWEEP = 5_000;

/** Where what a host holds leads to, but for what it says now. */
export function allOf({ places, interrupted }: StickyType, incarnation: string): Place[] {
  const place = places.get(incarnation);
  return [...(place === undefined ? [] : [place]), ...(interrupted.get(incarnation) ?? [])];
}

export function give(known: StickyType, id: string, place: Place, since: number): void {
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

/** What a host was given without having asked, and does not say that it holds, it may never have heard of: it is kept for it. */
export function keepInherited(known: StickyType, place: Place, now: number): void {
  const ids = [...(place.inherited ?? [])].filter((id) => known.holdings.get(id)?.place === place);
  if (ids.length === 0) return;
  const kept = newPlace(place.host);
  kept.state = "kept";
  kept.until = known.lost === "never" ? Number.POSITIVE_INFINITY : now + known.lost;
  known.kept.add(kept);
  for (const id of ids) give(known, id, kept, known.holdings.get(id)!.since);
}

export function placeOf({ places }: StickyType, host: TableHost): Place {
  let place = places.get(host.incarnation);
  if (place === undefined) {
    place = newPlace(host);
    places.set(host.incarnation, place);
  }
  return place;
}

export const newPlace = ({ address, incarnation, name }: TableHost): Place => ({
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

/** Takes out some of what leads nowhere. True: it has not looked at everything yet. */
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
