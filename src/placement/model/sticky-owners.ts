// The owner of each sticky actor, as the leader knows it: in memory only, one object per namespace.
//
// A host requests a sticky actor before it activates it; the first host to ask is the owner until it lets go
// or is lost. Owners do not follow from a hash, and ids are neither persisted nor broadcast. A new leader
// begins with nothing: each host that may hold actors of a type claims the ones it holds. Until all of them
// have, or their leases are over, the leader grants nothing of the type, and requests wait. So an actor that
// is not known here has no owner.
//
// Owners are kept by *place* (sticky-places.ts): one for each host and type, and a new one whenever the host
// claims anew. So a host that goes, or a claim that is not repeated, costs one step and not one for each id.
// Pure.
import { formatDuration } from "../../kernel/durations.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { LostRule, StickyRefusal, StickyRules, TableHost } from "../../ports/control-messages.ts";
import {
  allOf,
  give,
  keepInherited,
  newPlace,
  newType,
  placeOf,
  type StickyPlace,
  type StickyType,
  sweep,
} from "./sticky-places.ts";

export type Acquisition =
  | { readonly kind: "granted" }
  /** `isUnaware`: that host does not know yet. */
  | { readonly kind: "owner"; readonly host: TableHost; readonly isUnaware: boolean }
  /** No answer is possible yet; the coordinator asks again after a change. */
  | { readonly kind: "later" }
  | { readonly kind: "refused"; readonly code: StickyRefusal; readonly why: string };

/** A held actor, for display. */
export interface HeldActor {
  readonly id: string;
  readonly host: TableHost;
  readonly since: number;
  readonly away: boolean;
}

/** Hosts of a type, by the last table that was sent. */
export interface ListedHosts {
  lists(incarnation: string): boolean;
  /** The host of that name, if it is connected. */
  named(name: string): TableHost | undefined;
}

type IsHosted = (type: string) => boolean;

const SWEEP_EVERY_MS = 10;
/** Garbage below this is not worth a sweep. */
const LITTLE = 1_000;

export class StickyOwners {
  readonly #types = new Map<string, StickyType>();
  /** Hosts that may hold actors of these types and have not claimed them yet, and their number by type. */
  readonly #unclaimed = new Map<string, ReadonlySet<string>>();
  readonly #missing = new Map<string, number>();
  /** Claims of a host on its new stream, until they are complete. */
  readonly #claiming = new Map<string, Map<string, StickyPlace>>();
  #sweepAt = Number.POSITIVE_INFINITY;

  get deadline(): number {
    let first = this.#sweepAt;
    for (const { kept } of this.#types.values()) for (const { until } of kept) if (until < first) first = until;
    return first;
  }

  isSticky(type: string): boolean {
    return this.#types.has(type);
  }

  size(type: string): number {
    const known = this.#types.get(type);
    return known === undefined ? 0 : known.holdings.size - known.garbage;
  }

  // ——— Types.

  /**
   * Compares a host's sticky rules with the rules of other hosts. All hosts of a type must have the same
   * rule; the result is the reason why this one cannot join. `isHosted`: another host has the type now.
   */
  disagreement(types: readonly string[], rules: StickyRules, isHosted: IsHosted): string | undefined {
    for (const type of types) {
      if (!isHosted(type)) continue;
      const [known, own] = [this.#types.get(type)?.lost, rules.get(type)];
      if (known === own) continue;
      const [theirs, ours] = [showRule(known), showRule(own)];
      return `${type} is ${theirs} on the other hosts and ${ours} here; all hosts of a type must have the same setting`;
    }
    return undefined;
  }

  /** Applies the rules of a host. */
  agree(types: readonly string[], rules: StickyRules, isHosted: IsHosted): void {
    for (const type of types) {
      const rule = rules.get(type);
      if (rule === undefined) this.#types.delete(type);
      else if (this.#types.get(type)?.lost !== rule) this.#types.set(type, newType(rule));
    }
    // A host that hands a type over no longer reports it, but may still hold actors of it.
    for (const [type, rule] of rules) {
      if (!this.#types.has(type) && !types.includes(type) && !isHosted(type)) this.#types.set(type, newType(rule));
    }
  }

  /** Every host that may hold actors of the type has claimed them. */
  isOpen(type: string): boolean {
    return (this.#missing.get(type) ?? 0) === 0;
  }

  #waitFor(incarnation: string, types: ReadonlySet<string>): void {
    this.#unclaimed.set(incarnation, types);
    for (const type of types) this.#missing.set(type, (this.#missing.get(type) ?? 0) + 1);
  }

  #reported(incarnation: string): void {
    for (const type of this.#unclaimed.get(incarnation) ?? []) this.#missing.set(type, this.#missing.get(type)! - 1);
    this.#unclaimed.delete(incarnation);
  }

  // ——— Hosts.

  /**
   * A host that an earlier leader recorded: nothing of its types is granted before its claims are complete.
   */
  expect(incarnation: string, types: readonly string[]): void {
    this.#waitFor(incarnation, new Set(types));
  }

  /** The host has a new stream, and claims its actors anew. */
  hostJoined({ incarnation }: TableHost): void {
    // Claims interrupted by the end of the last stream count beside the earlier ones, until the new claims
    // are complete.
    for (const [type, place] of this.#claiming.get(incarnation) ?? []) {
      const interrupted = this.#types.get(type)?.interrupted;
      if (interrupted === undefined) continue;
      const places = [...(interrupted.get(incarnation) ?? []), place].filter(({ ids }) => ids > 0);
      interrupted.set(incarnation, places);
    }
    this.#claiming.set(incarnation, new Map());
  }

  /**
   * Part of the host's claims. Returns the ids that another host was granted meanwhile: this host has to let
   * go of them.
   */
  claims(host: TableHost, type: string, ids: readonly string[], since: readonly number[]): string[] {
    const known = this.#types.get(type);
    const claiming = this.#claiming.get(host.incarnation);
    if (known === undefined || claiming === undefined) return [...ids];
    let place = claiming.get(type);
    if (place === undefined) {
      place = newPlace(host);
      claiming.set(type, place);
    }
    const before = allOf(known, host.incarnation);
    const conflicts: string[] = [];
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i]!;
      const owner = known.holdings.get(id)?.place;
      if (owner === place) continue;
      if (owner !== undefined && !before.includes(owner) && owner.state === "held") conflicts.push(id);
      else give(known, id, place, since[i]!);
    }
    return conflicts;
  }

  /** The claims are complete. Actors that were not claimed again are free. */
  claimed({ incarnation }: TableHost, now = 0): void {
    const claiming = this.#claiming.get(incarnation);
    if (claiming === undefined) return;
    this.#claiming.delete(incarnation);
    this.#reported(incarnation);
    for (const [type, known] of this.#types) {
      const claimed = claiming.get(type);
      for (const before of allOf(known, incarnation)) {
        keepInherited(known, before, now);
        this.#end(known, before);
      }
      known.interrupted.delete(incarnation);
      if (claimed === undefined) known.places.delete(incarnation);
      else known.places.set(incarnation, claimed);
    }
  }

  /** The host lets go of these actors. Returns how many of them it had. */
  released({ incarnation }: TableHost, type: string, ids: readonly string[]): number {
    const known = this.#types.get(type);
    if (known === undefined) return 0;
    const all = [...allOf(known, incarnation), this.#claiming.get(incarnation)?.get(type)];
    let released = 0;
    for (const id of ids) {
      const owner = known.holdings.get(id)?.place;
      if (owner === undefined || !all.includes(owner)) continue;
      known.holdings.delete(id);
      owner.ids--;
      released++;
    }
    return released;
  }

  /**
   * The host is gone. `isLost`: it did not let go first; then the rule of each type decides about its actors.
   * Returns the number of free actors by type.
   */
  gone({ incarnation }: TableHost, isLost: boolean, now: number): Map<string, number> {
    this.#reported(incarnation);
    const claiming = this.#claiming.get(incarnation);
    this.#claiming.delete(incarnation);
    const cleared = new Map<string, number>();
    for (const [type, known] of this.#types) {
      const places = [...allOf(known, incarnation), claiming?.get(type)];
      known.places.delete(incarnation);
      known.interrupted.delete(incarnation);
      for (const place of places) {
        if (place === undefined || place.ids === 0) continue;
        if (!isLost || known.lost === 0) {
          cleared.set(type, (cleared.get(type) ?? 0) + place.ids);
          this.#end(known, place);
        } else {
          place.state = "kept";
          place.until = known.lost === "never" ? Number.POSITIVE_INFINITY : now + known.lost;
          known.kept.add(place);
        }
      }
    }
    return cleared;
  }

  // ——— Actors.

  acquire(
    host: TableHost,
    { type, id, since }: { readonly type: string; readonly id: string; readonly since: number },
    listed: ListedHosts,
    now: number,
  ): Acquisition {
    const known = this.#types.get(type);
    if (known === undefined) return refused("OPTION_INVALID", `${type} is not sticky`);
    // A grant before the host's claims are complete would look like an actor that the host has released.
    if (!this.isOpen(type) || this.#claiming.has(host.incarnation)) return LATER;
    const owner = this.#ownerOf(known, id, now);
    if (owner === undefined) {
      if (known.holdings.size - known.garbage >= LIMITS.stickyActors) {
        return refused("HOST_FULL", `${type} already has ${LIMITS.stickyActors} sticky actors, which is the maximum`);
      }
      give(known, id, placeOf(known, host), since);
      return GRANTED;
    }
    if (owner.host.incarnation === host.incarnation) {
      owner.inherited?.delete(id);
      return GRANTED;
    }
    if (owner.state === "held") {
      // An owner that no table lists is about to let go.
      if (!listed.lists(owner.host.incarnation)) return LATER;
      return { kind: "owner", host: owner.host, isUnaware: false };
    }
    return this.#inherit(known, id, owner, host, since, listed);
  }

  /** Its owner is lost; the actor is reserved for a host that comes back under the same name. */
  #inherit(
    known: StickyType,
    id: string,
    { host: { name }, until }: StickyPlace,
    asker: TableHost,
    since: number,
    listed: ListedHosts,
  ): Acquisition {
    const heir = listed.named(name);
    if (heir === undefined) {
      const wait = until === Number.POSITIVE_INFINITY ? "until it returns" : "until it returns, for a limited time";
      return refused("OWNER_AWAY", `the host ${name}, which held it, is away; the actor is reserved for it ${wait}`);
    }
    if (this.#claiming.has(heir.incarnation)) return LATER;
    const place = placeOf(known, heir);
    give(known, id, place, since);
    if (heir.incarnation === asker.incarnation) return GRANTED;
    place.inherited ??= new Set();
    place.inherited.add(id);
    return { kind: "owner", host: heir, isUnaware: true };
  }

  #ownerOf(known: StickyType, id: string, now: number): StickyPlace | undefined {
    const place = known.holdings.get(id)?.place;
    if (place === undefined || place.state === "over") return undefined;
    if (place.state === "kept" && now >= place.until) {
      this.#end(known, place);
      return undefined;
    }
    return place;
  }

  /** Ends a place: all its ids are free. */
  #end(known: StickyType | undefined, place: StickyPlace): void {
    if (known === undefined || place.state === "over") return;
    place.state = "over";
    known.kept.delete(place);
    known.garbage += place.ids;
    if (known.garbage > Math.max(LITTLE, known.holdings.size / 2)) this.#sweepAt = 0;
  }

  // ——— For display and operators.

  /** Gives up the reservation for a lost host. */
  giveUp(type: string, id: string): void {
    const known = this.#types.get(type);
    const place = known?.holdings.get(id)?.place;
    if (place?.state !== "kept") return;
    known!.holdings.delete(id);
    place.ids--;
    if (place.ids === 0) known!.kept.delete(place);
  }

  /** Undefined: no host holds it. */
  find(type: string, id: string, now: number): HeldActor | undefined {
    const known = this.#types.get(type);
    const place = known && this.#ownerOf(known, id, now);
    return place && { id, host: place.host, since: known!.holdings.get(id)!.since, away: place.state === "kept" };
  }

  /** The first actors of a type after that id, in the order of their ids. */
  list(type: string, after: string | undefined, prefix: string, limit: number, now: number): HeldActor[] {
    const known = this.#types.get(type);
    let ids: string[] = [];
    const cut = (): string[] => ids.sort((a, b) => (a < b ? -1 : 1)).slice(0, limit);
    for (const id of known?.holdings.keys() ?? []) {
      if ((after !== undefined && id <= after) || !id.startsWith(prefix)) continue;
      if (this.#ownerOf(known!, id, now) === undefined) continue;
      ids.push(id);
      if (ids.length >= 4 * limit + LITTLE) ids = cut();
    }
    return cut().map((id) => this.find(type, id, now)!);
  }

  /** Number of actors of a type by host. */
  holders(type: string, now: number): { readonly host: TableHost; readonly ids: number; readonly away: boolean }[] {
    const known = this.#types.get(type);
    if (known === undefined) return [];
    const claiming = [...this.#claiming.values()].flatMap((places) => places.get(type) ?? []);
    const kept = [...known.kept].filter(({ until }) => now < until);
    return [...known.places.values(), ...[...known.interrupted.values()].flat(), ...claiming, ...kept]
      .filter(({ ids }) => ids > 0)
      .map(({ host, ids, state }) => ({ host, ids, away: state === "kept" }));
  }

  rule(type: string): LostRule | undefined {
    return this.#types.get(type)?.lost;
  }

  get types(): readonly string[] {
    return [...this.#types.keys()];
  }

  // ——— Sweeping.

  /** Removes some of the garbage. Returns, by type, the number of actors whose reservation has ended. */
  tick(now: number): Map<string, number> {
    const cleared = new Map<string, number>();
    for (const [type, known] of this.#types) {
      for (const place of [...known.kept].filter(({ until }) => now >= until)) {
        cleared.set(type, (cleared.get(type) ?? 0) + place.ids);
        this.#end(known, place);
      }
    }
    if (now >= this.#sweepAt) this.#sweepAll(now);
    return cleared;
  }

  #sweepAll(now: number): void {
    this.#sweepAt = Number.POSITIVE_INFINITY;
    for (const known of this.#types.values()) {
      if (sweep(known) || known.garbage > LITTLE) this.#sweepAt = now + SWEEP_EVERY_MS;
    }
  }
}

const GRANTED: Acquisition = { kind: "granted" };
const LATER: Acquisition = { kind: "later" };

const refused = (code: StickyRefusal, why: string): Acquisition => ({ kind: "refused", code, why });

function showRule(rule: LostRule | undefined): string {
  if (rule === undefined) return "not sticky";
  if (rule === 0) return "sticky";
  return rule === "never" ? "sticky for ever" : `sticky for ${formatDuration(rule)} after its host is lost`;
}
