// The placement tables of a host: the owner of each actor, and the activations allowed while a table changes.
//
// For each type a host has the newest table and the last one it *unlocked*. Between LOCK and UNLOCK the type
// is locked, and the two tables may differ.
// - Routing always follows the newest table. Actors that run here and stay here are not affected.
// - A new activation needs this host to be the owner. While the type is locked, this host must also be the
//   owner in the unlocked table, and the update must be based on that table: then no other host can hold the
//   actor. Otherwise the activation waits for UNLOCK, because by then every host has let go of the actors
//   that moved.
// - The activation may begin earlier if the owner in the unlocked table, the only host that can hold the
//   actor, has the same update and responds that it does not have the actor. That answer is final. From then
//   on the unlocked table is incomplete, and the host does not report it to a new leader.
// - The host acknowledges an update when every actor that moved away has left. Orders of an older term, and
//   tables that are not newer, change nothing; the host still acknowledges them, because the condition holds.
// Pure. A driver performs the drains and sends the acknowledgements.

import { invariant } from "../../kernel/errors.ts";
import { compareVersions, NO_VERSION, sameVersion, showVersion, type TableVersion } from "../../kernel/versions.ts";
import type { KnownTable, KnownTables } from "../../ports/cluster/host-feature.ts";
import type { HostMessage, PlacementOrder, TableHost, TypeTable } from "../../ports/control-messages.ts";
import { HERE, NOBODY, type Route, WAIT } from "../../ports/placement.ts";
import { type Ring, Rings } from "./ring.ts";

interface Table extends KnownTable {
  readonly version: TableVersion;
  readonly ring: Ring;
  /** Built on first use. */
  byAddress: ReadonlyMap<string, TableHost> | undefined;
  /** Wall clock, for display. */
  readonly since: number;
}

interface TypeState {
  newest: Table | undefined;
  unlocked: Table | undefined;
  locked: boolean;
  /** The last round it was locked for; messages about an earlier round come too late. */
  round: number;
  /** The newest table replaces exactly the unlocked one. */
  comparable: boolean;
  /**
   * Answers of the previous owner count. They stop counting once a leader has received the unlocked version.
   */
  listening: boolean;
  /** Actors activated before UNLOCK, after their previous owner released them. */
  released: Set<string>;
  /** At least one actor was released since the last UNLOCK. */
  ahead: boolean;
  /** Cache of owners by id: a lookup costs a hash. */
  owners: Map<string, string>;
}

export type TablesEffect =
  /** Let go of actors of these types that other hosts own, then call `drained`. */
  | { readonly kind: "drain"; readonly round: number; readonly types: readonly string[] }
  | { readonly kind: "ack"; readonly message: Extract<HostMessage, { kind: "ack" }> }
  /** Waiting calls may be routed now. Empty: all types. */
  | { readonly kind: "changed"; readonly types: readonly string[] }
  /** For metrics. */
  | { readonly kind: "applied"; readonly operation: PlacementOrder["operation"]; readonly type: string };

/** Ids whose owner is cached, per type. */
const REMEMBERED = 10_000;

export class HostTables implements KnownTables {
  readonly #address: string;
  readonly #types = new Map<string, TypeState>();
  readonly #rings = new Rings();
  #term = 0;
  /** A snapshot has come: a type without a table has no host. */
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

  /** Forgets everything: this host is about to come back as a new incarnation. */
  clear(): void {
    this.#types.clear();
    this.#informed = false;
  }

  /** The last unlocked version of every type, for a new leader. */
  unlocked(): Map<string, TableVersion> {
    const versions = new Map<string, TableVersion>();
    for (const [type, state] of this.#types) {
      // A leader compares tables with this version, so no later release by another host may extend it.
      state.listening = false;
      if (state.unlocked !== undefined && !state.ahead) versions.set(type, state.unlocked.version);
    }
    return versions;
  }

  // ——— Orders.

  /**
   * Accepts a message of a leader of this term. False: the leader is an old one, and the host must ignore it.
   */
  accept(term: number): boolean {
    if (term < this.#term) return false;
    this.#term = term;
    return true;
  }

  /** `wall` is for display. */
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
    // A LOCK of the round that was unlocked last is a repeated order: no UNLOCK would follow it.
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
        // A finished table is in force; a host that missed its UNLOCK catches up here.
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

  /**
   * A snapshot lists all types. Returns the types that no longer exist: their hosts left while this host had
   * no stream.
   */
  #inform(undecided: readonly string[], listed: readonly string[]): string[] {
    this.#informed = true;
    for (const type of undecided) {
      const state = this.#state(type);
      if (state.newest === undefined) state.locked = true;
    }
    const known = new Set([...undecided, ...listed]);
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
    const { newest, unlocked } = state;
    if (unlocked !== undefined && (newest === undefined || compareVersions(newest.version, unlocked.version) < 0))
      broken("the unlocked table of a type never becomes an older one", state);
    state.unlocked = state.newest;
    state.locked = false;
    state.listening = false;
    state.released.clear();
    state.ahead = false;
  }

  /** No actor that moved away is left of these types. */
  drained(round: number, types: readonly string[]): TablesEffect[] {
    if (round === 0) return [];
    for (const type of types) {
      const state = this.#types.get(type);
      if (state !== undefined && state.round < round) broken("a host acknowledges only rounds that have begun", state);
    }
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

  // ——— Queries.

  /** Host on which an actor that is not in memory here may be activated. */
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

  /**
   * Host `by`, which has that version of the table, responds that it does not have the actor. Returns true if
   * the actor may be activated here.
   */
  released(type: string, id: string, by: string, version: TableVersion): boolean {
    if (this.ownerBefore(type, id) !== by) return false;
    const state = this.#types.get(type)!;
    if (!sameVersion(version, state.newest!.version) || state.released.size >= REMEMBERED) return false;
    if (!state.locked || !state.comparable) broken("actors are released early only while tables are compared", state);
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

  /** By the newest table, whether or not an activation is allowed there now. */
  owner(type: string, id: string): string | undefined {
    const state = this.#types.get(type);
    return state && this.#owner(state, id);
  }

  /** The table that routes calls to a type. */
  newest(type: string): KnownTable | undefined {
    return this.#types.get(type)?.newest;
  }

  shards(type: string): number | undefined {
    return this.newest(type)?.shards;
  }

  isSticky(type: string): boolean {
    return this.newest(type)?.sticky === true;
  }

  /** The host at that address in the newest table of a type. */
  hostAt(type: string, address: string): TableHost | undefined {
    const table = this.#types.get(type)?.newest;
    if (table === undefined) return undefined;
    table.byAddress ??= new Map(table.hosts.map((host) => [host.address, host]));
    return table.byAddress.get(address);
  }

  version(type: string): TableVersion {
    return this.#types.get(type)?.newest?.version ?? NO_VERSION;
  }

  /** Reports whether a table in force for each of these types lists this host. */
  hasAll(types: Iterable<string>): boolean {
    for (const type of types) {
      const hosts = this.#types.get(type)?.unlocked?.hosts;
      if (!hosts?.some(({ address }) => address === this.#address)) return false;
    }
    return true;
  }

  /** Hosts in the newest table of a type. */
  hosts(type: string): readonly TableHost[] {
    return this.#types.get(type)?.newest?.hosts ?? [];
  }

  /** No other host has the type. */
  isOnlyHost(type: string): boolean {
    return this.hosts(type).every(({ address }) => address === this.#address);
  }

  /** The newest table does not list this host, and no round of the type is in progress. */
  hasLeft(type: string): boolean {
    return !this.#types.get(type)?.locked && this.hosts(type).every(({ address }) => address !== this.#address);
  }

  /** Types that have hosts in their newest table. */
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

/** The state in short belongs to the error. */
function broken(rule: string, { newest, unlocked, locked, round, comparable, listening, released }: TypeState): never {
  const versions = [newest, unlocked].map((table) => (table === undefined ? "none" : showVersion(table.version)));
  const state = `newest ${versions[0]}, unlocked ${versions[1]}, round ${round}${locked ? ", locked" : ""}`;
  const flags = `${comparable ? ", comparable" : ""}${listening ? ", listening" : ""}`;
  invariant(false, `${rule}; ${state}${flags}, ${released.size} released`);
}
