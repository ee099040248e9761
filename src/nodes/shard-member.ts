// A host's dealings with the leader about shards. What it knows of each is in sharding/shard-region.ts; this asks, keeps back, stops the
// actors of a shard that moves, and has those who wait go on.
import type { Catalog } from "../actors/catalog.ts";
import type { ShardedRules } from "../kernel/sharded-rule.ts";
import { shardOf } from "../kernel/shards.ts";
import type { HostTables } from "../placement/host-tables.ts";
import type { HostMessage, ShardOrder } from "../placement/messages.ts";
import type { Clock } from "../ports/clock.ts";
import type { ControlStream } from "../ports/control.ts";
import type { Log } from "../ports/log.ts";
import { HERE, type Route, WAIT } from "../ports/placement.ts";
import { type ShardHome, ShardRegion } from "../sharding/shard-region.ts";
import { advise, countActors } from "./shard-adviser.ts";

export interface ShardMemberWorld {
  readonly clock: Clock;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly tables: HostTables;
  incarnation(): string;
  /** What waits to be routed may find its way now. */
  changed(types: readonly string[]): void;
  /** It is the home of fewer shards. */
  stopped(): void;
  /** It has become the home of one. */
  gained?(type: string, shard: number): void;
}

export class ShardMember {
  readonly #world: ShardMemberWorld;
  readonly #regions = new Map<string, ShardRegion>();
  #stream: ControlStream<HostMessage> | undefined;
  readonly #asks = new Map<string, Set<number>>();
  #isFlushing = false;
  #leaving: readonly string[] = [];

  constructor(world: ShardMemberWorld) {
    this.#world = world;
  }

  /** Of the types of this host. */
  rules(): ShardedRules {
    const rules = new Map();
    for (const { name, options } of this.#world.catalog.types.values()) {
      if (options.sharded !== undefined) rules.set(name, options.sharded.rule);
    }
    return rules;
  }

  #region(type: string): ShardRegion {
    let region = this.#regions.get(type);
    if (region === undefined) {
      const { tables, incarnation } = this.#world;
      region = new ShardRegion(incarnation(), ({ address, incarnation: which }) => {
        return tables.hostAt(type, address)?.incarnation === which;
      });
      this.#regions.set(type, region);
    }
    return region;
  }

  // ——— Finding the way.

  /** Undefined: this process does not know which shard it is in, and asks a host of the type. */
  #shardOf(type: string, id: string): number | undefined {
    const { catalog, tables } = this.#world;
    const known = catalog.types.get(type)?.options.sharded;
    if (known !== undefined) return known.shardOf(id);
    const shards = tables.shards(type);
    return shards === undefined ? undefined : shardOf(id, shards);
  }

  route(type: string, id: string): Route {
    const shard = this.#shardOf(type, id);
    if (shard === undefined) return WAIT;
    const route = this.#region(type).route(shard);
    if (route === "here") return HERE;
    if (route === "ask") this.#ask(type, shard);
    return typeof route === "object" ? route.address : WAIT;
  }

  belief(type: string, id: string): string | undefined {
    const shard = this.#shardOf(type, id);
    if (shard === undefined) return undefined;
    const region = this.#region(type);
    return region.held.has(shard) ? undefined : region.belief(shard)?.address;
  }

  holds(type: string, id: string): boolean {
    const shard = this.#shardOf(type, id);
    return shard !== undefined && this.#region(type).held.has(shard);
  }

  mistaken(type: string, id: string, address: string): void {
    const shard = this.#shardOf(type, id);
    if (shard !== undefined) this.#region(type).mistaken(shard, address);
  }

  #ask(type: string, shard: number): void {
    this.#region(type).asked(shard);
    const asks = this.#asks.get(type) ?? new Set();
    this.#asks.set(type, asks.add(shard));
    if (this.#isFlushing || this.#stream === undefined) return;
    this.#isFlushing = true;
    this.#world.clock.soon(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    for (const [type, shards] of this.#asks) this.#stream?.send({ kind: "shardAsk", type, shards: [...shards] });
    if (this.#stream !== undefined) this.#asks.clear();
  }

  // ——— The stream.

  joined(stream: ControlStream<HostMessage>): void {
    this.#stream = stream;
    this.#asks.clear();
    this.#tellLeaving();
    for (const [type, region] of this.#regions) {
      const shards = region.joined();
      if (shards.length > 0) stream.send({ kind: "shardAsk", type, shards });
    }
  }

  parted(): void {
    this.#stream = undefined;
  }

  /** It is to be the home of no shards of these any more. False: it is none, or nobody listens. */
  leave(types: readonly string[]): boolean {
    this.#leaving = types.filter((type) => this.#regions.has(type));
    this.#tellLeaving();
    return this.#stream !== undefined && this.holdsAny(types);
  }

  #tellLeaving(): void {
    if (this.#leaving.length > 0) this.#stream?.send({ kind: "shardLeave", types: this.#leaving });
  }

  holdsAny(types: readonly string[]): boolean {
    return types.some((type) => (this.#regions.get(type)?.held.size ?? 0) > 0);
  }

  /** The lease is lost: it is the home of nothing. */
  clear(): void {
    this.#regions.clear();
    this.#asks.clear();
    this.parted();
  }

  heard(message: ShardOrder): void {
    const { type } = message;
    const region = this.#region(type);
    switch (message.kind) {
      case "shardHomes":
        for (const { shard, host } of message.homes) {
          if (host === undefined) region.livesNowhere(shard);
          else this.#lives(type, region, shard, host);
        }
        // What lives nowhere, or with a host that no table here knows yet, is asked for again in a while or with the next table. Whoever
        // were woken now would ask at once, and hear the same.
        if (message.homes.some(({ shard }) => region.isClear(shard))) this.#world.changed([type]);
        break;
      case "shardGather":
        region.gather(message.shard, message.move);
        this.#stream?.send({ kind: "shardKept", type, shard: message.shard, move: message.move });
        break;
      case "shardAdvise": {
        const stream = this.#stream;
        const strategy = this.#world.catalog.types.get(type)?.options.sharded?.strategy;
        void advise(message, strategy).then((advice) => stream?.send(advice));
        break;
      }
      case "shardCount": {
        const counts = countActors(this.#world.catalog.types.get(type), region.held);
        const [shards, actors] = [[...counts.keys()], [...counts.values()]];
        this.#stream?.send({ kind: "shardCounts", question: message.question, type, shards, actors });
        break;
      }
      case "shardStop":
        region.stop(message.shard, message.move);
        void this.#stop(type, message.shard, region);
        break;
    }
  }

  #lives(type: string, region: ShardRegion, shard: number, host: ShardHome): void {
    const isHeld = region.held.has(shard);
    region.lives(shard, host);
    if (!isHeld && region.held.has(shard)) this.#world.gained?.(type, shard);
  }

  /** May one of its actors come to life here? `wait`: this host is its home, but it is about to move. */
  standing(type: string, shard: number): "here" | "wait" | "elsewhere" {
    const region = this.#region(type);
    if (region.route(shard) === "here") return "here";
    return region.held.has(shard) ? "wait" : "elsewhere";
  }

  /** Asks where these live, as far as that is not known, so that each of them has a home. */
  find(type: string, shards: readonly number[]): void {
    const region = this.#region(type);
    for (const shard of shards) if (region.route(shard) === "ask") this.#ask(type, shard);
  }

  async #stop(type: string, shard: number, region: ShardRegion): Promise<void> {
    const { catalog } = this.#world;
    const known = catalog.types.get(type);
    const sharded = known?.options.sharded;
    if (known !== undefined && sharded !== undefined) {
      await catalog.moveAway(known, (id) => sharded.shardOf(id) !== shard, sharded.rule.handOffMs);
    }
    const move = region.stopped(shard);
    this.#world.stopped();
    if (move === undefined || this.#regions.get(type) !== region) return;
    this.#stream?.send({ kind: "shardStopped", type, shard, move, wasForced: false });
  }
}
