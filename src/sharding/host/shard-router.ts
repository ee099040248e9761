// Routes calls to the sharded actors of one type, on one host. Every call uses it, so the settings derived
// from the newest table and the class are computed once, and again when one of them changes.
import { shardOf } from "../../kernel/shards.ts";
import type { ActorTypeInfo } from "../../ports/actor-host.ts";
import type { KnownTable } from "../../ports/cluster/host-feature.ts";
import { HERE, type Route, type ShardRouting, WAIT } from "../../ports/placement.ts";
import type { ShardRegion } from "../model/shard-region.ts";

export interface ShardRouterDeps {
  readonly lease: { readonly held: boolean };
  /** Route when the type has no host, or this host cannot compute the shard of the actor. */
  outside(id: string): Route;
  /** A call waits because the home of the shard is unknown. `isNew`: it was not requested yet. */
  waits(shard: number, isNew: boolean): void;
}

export class ShardRouter implements ShardRouting {
  readonly type: string;
  readonly region: ShardRegion;
  readonly #deps: ShardRouterDeps;
  #table: KnownTable | undefined;
  #edition = -1;
  #hasHosts = false;
  /** Number of shards, if the hash of an id determines its shard. */
  #shards: number | undefined;
  /** The application's own rule, if there is one and this host has it. */
  #own: ((id: string) => number) | undefined;

  constructor(type: string, region: ShardRegion, deps: ShardRouterDeps) {
    this.type = type;
    this.region = region;
    this.#deps = deps;
  }

  /** The router is current with this table and this edition of the registered types. */
  isFor(table: KnownTable | undefined, edition: number): boolean {
    return table === this.#table && edition === this.#edition;
  }

  /** `known`: the class, if this host has it. */
  renew(table: KnownTable | undefined, edition: number, known: ActorTypeInfo | undefined): void {
    this.#table = table;
    this.#edition = edition;
    this.#hasHosts = table !== undefined && table.hosts.length > 0;
    const sharded = known?.options.sharded;
    this.#own = sharded?.rule.ownShards ? sharded.shardOf : undefined;
    this.#shards = sharded?.rule.shards ?? (table?.ownShards ? undefined : table?.shards);
    this.region.hostsChanged();
  }

  /** False: only hosts with the class can compute the shard of an actor, and this host has none. */
  get knows(): boolean {
    return this.#own !== undefined || this.#shards !== undefined;
  }

  shardOf(id: string): number | undefined {
    if (this.#own !== undefined) return this.#own(id);
    return this.#shards === undefined ? undefined : shardOf(id, this.#shards);
  }

  route(id: string, shard: number | undefined): Route {
    if (!this.#deps.lease.held) return WAIT;
    if (shard === undefined || !this.#hasHosts) return this.#deps.outside(id);
    const route = this.region.route(shard);
    if (route === "here") return HERE;
    if (typeof route === "object") return route.address;
    this.#deps.waits(shard, route === "request");
    return WAIT;
  }
}
