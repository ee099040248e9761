// Resolves the owner of an actor for the router, from the tables of this host, its sticky actors and its
// shards. It is the `Placement` of a host in a cluster, and sends nothing itself.
//
// A route to this host needs a lease: without one the call waits. A call to another host does not.
import type { Clock } from "../../ports/clock.ts";
import type { ShardActivation, ShardHostFeature } from "../../ports/cluster/host-feature.ts";
import { HERE, type Placement, type Route, type ShardRouting, WAIT } from "../../ports/placement.ts";
import type { LeaderSource } from "../discovery/leader-source.ts";
import type { HostLease } from "../model/host-lease.ts";
import type { HostTables } from "../model/host-tables.ts";
import type { StickyClient } from "../sticky/sticky-client.ts";
import type { Membership } from "./membership.ts";

export interface PlacementResolverDeps {
  readonly clock: Clock;
  readonly source: LeaderSource;
  readonly tables: HostTables;
  readonly lease: HostLease;
  readonly sticky: StickyClient;
  readonly shards: ShardHostFeature;
  readonly membership: Pick<Membership, "problem" | "confirmLease">;
}

export class PlacementResolver implements Placement {
  readonly address: string;
  readonly #deps: PlacementResolverDeps;
  readonly #tables: HostTables;
  readonly #lease: HostLease;
  readonly #sticky: StickyClient;
  readonly #shards: ShardHostFeature;

  constructor(address: string, deps: PlacementResolverDeps) {
    this.address = address;
    this.#deps = deps;
    this.#tables = deps.tables;
    this.#lease = deps.lease;
    this.#sticky = deps.sticky;
    this.#shards = deps.shards;
  }

  get problem(): string | undefined {
    return this.#deps.membership.problem;
  }

  // ——— Routes.

  route(type: string, id: string, until: number): Route {
    if (this.#tables.isSticky(type))
      return this.#lease.held ? this.#sticky.route(type, id, until) : this.#around(type, id);
    const route = this.#tables.route(type, id);
    return route === HERE && !this.#lease.held ? WAIT : route;
  }

  /** Without a lease this host holds and requests nothing, but a call may go elsewhere. */
  #around(type: string, id: string): Route {
    const owner = this.#sticky.holdings.cachedOwner(type, id);
    return owner === undefined || owner === this.address ? WAIT : owner;
  }

  inShards(type: string): (ShardRouting & { readonly knows: boolean }) | undefined {
    const table = this.#tables.newest(type);
    return table?.shards === undefined ? undefined : this.#shards.router(type, table);
  }

  /** Routes to an actor without a known shard, or of a sharded type without a host. */
  outsideShards(type: string, id: string): Route {
    if (!this.hasHosts(type)) return this.#tables.route(type, id);
    // The called host knows the actor's address and responds with it; that answer is cached.
    const cached = this.#sticky.holdings.cachedOwner(type, id);
    return cached !== undefined && this.isHost(type, cached) ? cached : this.#tables.route(type, id);
  }

  isSticky(type: string): boolean {
    const table = this.#tables.newest(type);
    return table !== undefined && (table.sticky || table.shards !== undefined);
  }

  isSharded(type: string): boolean {
    return this.#tables.shards(type) !== undefined;
  }

  shardOf(type: string, id: string): number | undefined {
    return this.#shards.shardOf(type, id);
  }

  /**
   * Decides whether an actor of that shard may be activated here. It may not without a lease. A host that
   * lost its lease is the home of nothing; a host without a first lease may already be assigned as a home.
   */
  activation(type: string, shard: number): ShardActivation {
    const activation = this.#shards.activation(type, shard);
    return activation === "here" && !this.#lease.held ? "wait" : activation;
  }

  // ——— Cached owners.

  cacheOwner(type: string, id: string, address: string): void {
    // For a host that can compute the shard, only the leader decides about its home.
    if (this.inShards(type)?.knows) return;
    this.#sticky.holdings.cacheOwner(type, id, address);
  }

  invalidateOwner(type: string, id: string, address?: string): void {
    if (this.isSharded(type)) {
      if (address === undefined) this.#shards.recheckOwner(type, id);
      else this.#shards.invalidateOwner(type, id, address);
    }
    this.#sticky.holdings.forget(type, id, address);
  }

  cachedOwner(type: string, id: string): { term: number; version: number; owner: string | undefined } {
    const { term, number } = this.#tables.version(type);
    return { term, version: number, owner: this.#ownerOf(type, id) };
  }

  #ownerOf(type: string, id: string): string | undefined {
    if (this.isSharded(type)) return this.#shards.cachedOwner(type, id);
    return this.#tables.isSticky(type) ? this.#sticky.holdings.cachedOwner(type, id) : this.#tables.owner(type, id);
  }

  ownerBefore(type: string, id: string): string | undefined {
    return this.#lease.held && !this.isSticky(type) ? this.#tables.ownerBefore(type, id) : undefined;
  }

  released(type: string, id: string, by: string, { term, version }: { term: number; version: number }): boolean {
    return this.#lease.held && !this.isSticky(type) && this.#tables.released(type, id, by, { term, number: version });
  }

  left(type: string, id: string, reason: string | undefined): void {
    this.#sticky.left(type, id, reason);
  }

  // ——— Hosts.

  isHost(type: string, address: string): boolean {
    return this.#tables.hostAt(type, address) !== undefined;
  }

  hasHosts(type: string): boolean {
    return this.#tables.hosts(type).length > 0;
  }

  hostsOf(type: string): readonly string[] {
    return this.#tables.hosts(type).map(({ address }) => address);
  }

  hostedTypes(): readonly string[] {
    return this.#tables.types();
  }

  // ——— The lease.

  get hasLease(): boolean {
    return this.#lease.held;
  }

  silentFor(now: number): number {
    const { silentSince } = this.#deps.source;
    return silentSince === undefined || this.mayBegin(now) ? 0 : now - silentSince;
  }

  mayBegin(now: number): boolean {
    return this.#lease.mayBegin(now, this.#deps.clock.now());
  }

  mayCommit(now: number): boolean {
    return this.#lease.lasts(now, this.#deps.clock.now());
  }

  confirmLease(settled: (isKept: boolean) => void): void {
    this.#deps.membership.confirmLease(settled);
  }
}
