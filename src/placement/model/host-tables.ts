// The tables of a host: who owns which actor, and what may come to life here while a table changes.
//
// For each type there is the newest table this host was told of, and the last one it *unlocked*. In between, the type is
// locked: LOCK and UPDATE have come, UNLOCK has not.
// - Routing always follows the newest table. Actors that run here and stay here never notice any of this.
// - A new activation needs this host to be the owner. While the type is locked it also needs to have been the owner in the
//   unlocked table, and that table to be the one the update is based on: then nobody else can hold the actor. In every other
//   case it waits for UNLOCK, by when every host has let go of what moved. Or for the word of the one host that can hold
//   it, its owner in the unlocked table: once that one has the same update and says that the actor is not there, it never
//   will be, and the new owner need not wait for anybody else's actors. From then on the unlocked table is not the whole
//   truth, and is not told to a new leader as if it were.
// - An update is acknowledged when every actor that moved away is gone from here. Orders of an older term, and tables that
//   are not newer, change nothing; what they ask to be acknowledged is acknowledged, because it is true.
// Pure. A driver performs the drains and sends the acknowledgements.

import { compareVersions, NO_VERSION, sameVersion, type TableVersion } from "../../kernel/versions.ts";
import type { HostMessage, PlacementOrder, TableHost, TypeTable } from "../../ports/control-messages.ts";
import { HERE, NOBODY, type Route, WAIT } from "../../ports/placement.ts";
import type { Ring } from "./ring.ts";
import { Rings } from "./rings.ts";

/** What a table says about its type. Another table is another object. */
export interface KnownTable {
  readonly hosts: readonly TableHost[];
  /** Its actors stay where they are; see sticky-holdings.ts. */
  readonly sticky: boolean;
  /** In how many shards its actors live; undefined: in none. */
  readonly shards: number | undefined;
  /** Only who has the class can say which shard an actor is in. */
  readonly ownShards: boolean;
}

interface Table extends KnownTable {
  readonly version: TableVersion;
  readonly ring: Ring;
  /** Made when it is first asked for. */
  byAddress: ReadonlyMap<string, TableHost> | undefined;
  /** Wall clock, for people. */
  readonly since: number;
}

interface TypeState {
  newest: Table | undefined;
  unlocked: Table | undefined;
  locked: boolean;
  /** The last one it was locked for: what is said of an earlier one comes too late. */
  round: number;
  /** The newest table says that it replaces exactly the unlocked one. */
  comparable: boolean;
  /** What the owner before says of an actor counts. Not any more once a leader was told what is unlocked here. */
  listening: boolean;
  /** Actors that came here before UNLOCK, on the word of their owner before. */
  released: Set<string>;
  /** There were such since the last UNLOCK. */
  ahead: boolean;
  /** Who owned what lately: looking it up costs a hash. */
  owners: Map<string, string>;
}

export type TablesEffect =
  /** Let go of actors of these types that are owned elsewhere, then call `drained`. */
  | { readonly kind: "drain"; readonly round: number; readonly types: readonly string[] }
  | { readonly kind: "ack"; readonly message: Extract<HostMessage, { kind: "ack" }> }
  /** What waits to be routed may find its way now. Empty: all types. */
  | { readonly kind: "changed"; readonly types: readonly string[] }
  /** For figures. */
  | { readonly kind: "applied"; readonly operation: PlacementOrder["operation"]; readonly type: string };

/** Ids whose owner is remembered, per type. */
const REMEMBERED = 10_000;

export class HostTables {
  readonly #address: string;
  readonly #types = new Map<string, TypeState>();
  readonly #rings = new Rings();
  #term = 0;
  /** A snapshot has come: a type without a table is one that nobody hosts. */
  #informed = false;

  constructor(address: string) {
    this.#address = address;
  }

  get term(): number {
    return this.#term;
  }

  get informed(): boolean {
    return this.#informed;
  }

  /** Everything is forgotten: this host is about to come back as a new incarnation. */
  clear(): void {
    this.#types.clear();
    this.#informed = false;
  }

  /** The last unlocked version of every type, for a new leader. */
  unlocked(): Map<string, TableVersion> {
    const versions = new Map<string, TableVersion>();
    for (const [type, state] of this.#types) {
      // Whoever compares with what is told here must not be overtaken by the word of another host.
      state.listening = false;
      if (state.unlocked !== undefined && !state.ahead) versions.set(type, state.unlocked.version);
    }
    return versions;
  }

  // ——— Orders.

  /** A leader of this term speaks. False: it is an old one, and must not be listened to. */
  accept(term: number): boolean {
    if (term < this.#term) return false;
    this.#term = term;
    return true;
  }

  /** `wall` is for people. */
  order(order: PlacementOrder, wall: number): TablesEffect[] {
    if (!this.accept(order.term)) return [];
    switch (order.operation) {
      case "lock":
        return this.#lock(order);
      case "update":
        return this.#update(order, wall);
      case "unlock":
        return this.#unlock(order);
    }
  }

  #lock({ round, types }: PlacementOrder): TablesEffect[] {
    // A snapshot holds finished tables only: there is nothing to wait for.
    if (round === 0) return [];
    // A LOCK of the round that was unlocked here last is an order that was sent twice: nothing would unlock it again.
    const current = types.filter((type) => {
      const state = this.#state(type);
      return round > state.round || (round === state.round && state.locked);
    });
    for (const type of current) {
      const state = this.#state(type);
      state.locked = true;
      state.round = round;
      state.comparable = false;
      state.listening = false;
    }
    return current.map((type) => ({ kind: "applied", operation: "lock", type }));
  }

  #update({ round, types: named, tables, replicationFactor }: PlacementOrder, wall: number): TablesEffect[] {
    const effects: TablesEffect[] = [];
    const types = tables.map(({ type }) => type);
    if (round === 0) types.push(...this.#inform(named, types));
    for (const table of tables) {
      const state = this.#state(table.type);
      const newer = compareVersions(table.version, state.newest?.version ?? NO_VERSION) > 0;
      if (newer) this.#replace(state, table, replicationFactor, wall);
      if (round === 0) {
        // It is finished, so it is in force; who missed its UNLOCK learns of it here.
        if (sameVersion(table.version, state.newest!.version)) this.#settle(state);
      } else if (round === state.round) {
        state.comparable = this.#isComparable(state, table);
        state.listening = state.comparable;
      }
      effects.push({ kind: "applied", operation: "update", type: table.type });
    }
    effects.push({ kind: "changed", types: round === 0 ? [] : types });
    if (types.length > 0) effects.push({ kind: "drain", round, types });
    return effects;
  }

  /** A snapshot speaks of all types there are. Gives those that are no more: their hosts left while nobody told us. */
  #inform(undecided: readonly string[], told: readonly string[]): string[] {
    this.#informed = true;
    for (const type of undecided) {
      const state = this.#state(type);
      if (state.newest === undefined) state.locked = true;
    }
    const known = new Set([...undecided, ...told]);
    const over = [...this.#types.keys()].filter((type) => !known.has(type));
    for (const type of over) this.#types.delete(type);
    return over;
  }

  #isComparable(state: TypeState, table: TypeTable): boolean {
    const { newest, unlocked } = state;
    if (newest === undefined || !sameVersion(newest.version, table.version)) return false;
    return table.base !== undefined && unlocked !== undefined && sameVersion(unlocked.version, table.base);
  }

  #replace(state: TypeState, table: TypeTable, replicationFactor: number, wall: number): void {
    const { version, hosts, sticky = false, shards, ownShards = false } = table;
    const addresses = hosts.map(({ address }) => address);
    const ring = this.#rings.of(addresses, replicationFactor, state.newest?.ring);
    state.newest = { version, ring, hosts, sticky, shards, ownShards, byAddress: undefined, since: wall };
    state.owners.clear();
    state.released.clear();
  }

  #unlock({ round, types: named }: PlacementOrder): TablesEffect[] {
    if (round === 0) return [];
    const types = named.filter((type) => this.#types.get(type)?.round === round);
    if (types.length === 0) return [];
    for (const type of types) this.#settle(this.#state(type));
    return [
      ...types.map((type): TablesEffect => ({ kind: "applied", operation: "unlock", type })),
      { kind: "changed", types },
      { kind: "ack", message: { kind: "ack", operation: "unlock", round, types } },
    ];
  }

  #settle(state: TypeState): void {
    state.unlocked = state.newest;
    state.locked = false;
    state.listening = false;
    state.released.clear();
    state.ahead = false;
  }

  /** Nothing that moved away is left of these types. */
  drained(round: number, types: readonly string[]): TablesEffect[] {
    if (round === 0) return [];
    return [{ kind: "ack", message: { kind: "ack", operation: "update", round, types } }];
  }

  #state(type: string): TypeState {
    let state = this.#types.get(type);
    if (state === undefined) {
      state = {
        newest: undefined,
        unlocked: undefined,
        locked: false,
        round: 0,
        comparable: false,
        listening: false,
        released: new Set(),
        ahead: false,
        owners: new Map(),
      };
      this.#types.set(type, state);
    }
    return state;
  }

  // ——— Questions.

  /** Where may an actor that is not in memory here come to life? */
  route(type: string, id: string): Route {
    const state = this.#types.get(type);
    if (state?.newest === undefined) return this.#informed && !state?.locked ? NOBODY : WAIT;
    const owner = this.#owner(state, id);
    if (owner === undefined) return NOBODY;
    if (owner !== this.#address) return owner;
    if (!state.locked) return HERE;
    if (state.released.has(id)) return HERE;
    return state.comparable && state.unlocked!.ring.owner(id) === this.#address ? HERE : WAIT;
  }

  /** The only host that can hold an actor which is about to come here. */
  ownerBefore(type: string, id: string): string | undefined {
    const state = this.#types.get(type);
    if (state === undefined || !state.locked || !state.listening) return undefined;
    if (this.#owner(state, id) !== this.#address) return undefined;
    const before = state.unlocked!.ring.owner(id);
    return before === this.#address ? undefined : before;
  }

  /** A host says, having that version of the table, that an actor is not there. True: so it may come to life here. */
  released(type: string, id: string, by: string, version: TableVersion): boolean {
    if (this.ownerBefore(type, id) !== by) return false;
    const state = this.#types.get(type)!;
    if (!sameVersion(version, state.newest!.version) || state.released.size >= REMEMBERED) return false;
    state.released.add(id);
    state.ahead = true;
    return true;
  }

  #owner(state: TypeState, id: string): string | undefined {
    const known = state.owners.get(id);
    if (known !== undefined) return known;
    const owner = state.newest?.ring.owner(id);
    if (owner !== undefined) {
      if (state.owners.size >= REMEMBERED) state.owners.clear();
      state.owners.set(id, owner);
    }
    return owner;
  }

  /** By the newest table, whether or not it may come to life there now. */
  owner(type: string, id: string): string | undefined {
    const state = this.#types.get(type);
    return state && this.#owner(state, id);
  }

  /** By which calls to a type find their way. */
  newest(type: string): KnownTable | undefined {
    return this.#types.get(type)?.newest;
  }

  shards(type: string): number | undefined {
    return this.newest(type)?.shards;
  }

  isSticky(type: string): boolean {
    return this.newest(type)?.sticky === true;
  }

  /** Who has that address in the newest table of a type. */
  hostAt(type: string, address: string): TableHost | undefined {
    const table = this.#types.get(type)?.newest;
    if (table === undefined) return undefined;
    table.byAddress ??= new Map(table.hosts.map((host) => [host.address, host]));
    return table.byAddress.get(address);
  }

  version(type: string): TableVersion {
    return this.#types.get(type)?.newest?.version ?? NO_VERSION;
  }

  /** A table for each of these is in force, and names this host. */
  hasAll(types: Iterable<string>): boolean {
    for (const type of types) {
      const hosts = this.#types.get(type)?.unlocked?.hosts;
      if (!hosts?.some(({ address }) => address === this.#address)) return false;
    }
    return true;
  }

  /** Who is in the newest table of a type. */
  hosts(type: string): readonly TableHost[] {
    return this.#types.get(type)?.newest?.hosts ?? [];
  }

  /** Those that have hosts in their newest table. */
  types(): string[] {
    return [...this.#types.keys()].filter((type) => this.hosts(type).length > 0);
  }

  /** Every host in any table. */
  addresses(): Set<string> {
    const all = new Set<string>();
    for (const { newest } of this.#types.values()) for (const { address } of newest?.hosts ?? []) all.add(address);
    return all;
  }

  view(type: string): { readonly version: TableVersion; readonly since: number | undefined; readonly locked: boolean } {
    const state = this.#types.get(type);
    return { version: this.version(type), since: state?.newest?.since, locked: state?.locked ?? false };
  }
}
