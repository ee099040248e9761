// How calls find the actors of one type that live in shards, on one host. It is asked at every call, so what follows from the newest table and
// from the class is worked out once for both, and again when one of them is another.
import type { ActorType } from "../../actors/actor-type.ts";
import { shardOf } from "../../kernel/shards.ts";
import type { KnownTable } from "../../placement/model/host-tables.ts";
import { HERE, type Route, type ShardRouting, WAIT } from "../../ports/placement.ts";
import type { ShardRegion } from "../model/shard-region.ts";

export interface ShardRouterDeps {
  readonly lease: { readonly held: boolean };
  /** The way when nobody hosts the type, or this host cannot say which shard the actor is in. */
  outside(id: string): Route;
  /** A call waits because it is not clear where that shard lives. `ask`: nor has that been asked. */
  waits(shard: number, ask: boolean): void;
}

export class ShardRouter implements ShardRouting {
  readonly type: string;
  readonly region: ShardRegion;
  readonly #deps: ShardRouterDeps;
  #table: KnownTable | undefined;
  #edition = -1;
  #hasHosts = false;
  /** How many there are, where the hash of an id says which one it is in. */
  #shards: number | undefined;
  /** The rule of the application, where there is one and this host has it. */
  #own: ((id: string) => number) | undefined;

  constructor(type: string, region: ShardRegion, deps: ShardRouterDeps) {
    this.type = type;
    this.region = region;
    this.#deps = deps;
  }

  /** It was worked out from this table and this edition of the types here. */
  isFor(table: KnownTable | undefined, edition: number): boolean {
    return table === this.#table && edition === this.#edition;
  }

  /** `known`: the class, if this host has it. */
  renew(table: KnownTable | undefined, edition: number, known: ActorType | undefined): void {
    this.#table = table;
    this.#edition = edition;
    this.#hasHosts = table !== undefined && table.hosts.length > 0;
    const sharded = known?.options.sharded;
    this.#own = sharded?.rule.ownShards ? sharded.shardOf : undefined;
    this.#shards = sharded?.rule.shards ?? (table?.ownShards ? undefined : table?.shards);
    this.region.hostsChanged();
  }

  /** False: only hosts that have the class can say which shard an actor is in, and this one has not. */
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
    this.#deps.waits(shard, route === "ask");
    return WAIT;
  }
}
