// Drives the shards of one host. sharding/model/shard-region.ts keeps the state of each; this file sends
// requests to the leader, buffers calls, stops the actors of a shard that moves, and wakes waiting calls.
import { isLimpetError } from "../../kernel/errors.ts";
import type { ShardedRules } from "../../kernel/sharded-rule.ts";
import type { ActiveActor, ActorHost, ActorTypeInfo } from "../../ports/actor-host.ts";
import type { Clock } from "../../ports/clock.ts";
import type { KnownTables, ShardActivation, ShardHostFeature } from "../../ports/cluster/host-feature.ts";
import type { ControlStream, HostMessage, ShardOrder } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { Route } from "../../ports/placement.ts";
import type { ShardsHere } from "../../ports/shard-admin.ts";
import { type ShardHome, ShardRegion } from "../model/shard-region.ts";
import { ShardWaits } from "../model/shard-waits.ts";
import { ShardRouter, type ShardRouterDeps } from "./shard-router.ts";
import { answerStrategyRequest, countActors } from "./strategy-server.ts";

export interface RegionDriverDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly catalog: ActorHost;
  readonly tables: KnownTables;
  readonly lease: ShardRouterDeps["lease"];
  incarnation(): string;
  /** Routes to an actor without a known shard, or of a type without a host. */
  outside(type: string, id: string): Route;
  /** This host has the role that actors of the type need. */
  mayHost(type: ActorTypeInfo): boolean;
  /** Calls that wait for these shards may be routed now. */
  opened?(type: string, shards: readonly number[]): void;
  /** The host is the home of fewer shards. */
  stopped(): void;
  /** The host has become the home of a shard; `move` identifies the move, if there was one. */
  gained?(type: string, shard: number, move: string | undefined): void;
  /**
   * Steps of a shard that moves away. `leaving`: its actors are about to stop. `left`: they have stopped, and
   * the shard probably lives at that address next. `moved`: it does.
   */
  leaving?(type: ActorTypeInfo, shard: number, actors: readonly ActiveActor[]): void;
  left?(type: string, shard: number, move: string, address: string): void;
  moved?(type: string, shard: number, address: string): void;
}

/** Longer than a hand-off or a change of leaders takes. */
const STUCK_MS = 20_000;

export class RegionDriver implements ShardHostFeature {
  readonly #deps: RegionDriverDeps;
  readonly #routers = new Map<string, ShardRouter>();
  /** Router of the type that was called last, which often is the type of the next call as well. */
  #latest: ShardRouter | undefined;
  #stream: ControlStream<HostMessage> | undefined;
  readonly #requests = new Map<string, Set<number>>();
  #isFlushing = false;
  #leaving: readonly string[] = [];
  readonly #waits = new ShardWaits();

  constructor(deps: RegionDriverDeps) {
    this.#deps = deps;
  }

  /** Rules of the sharded types that this host runs. */
  rules(): ShardedRules {
    const rules = new Map();
    const { catalog, mayHost } = this.#deps;
    for (const type of catalog.types.values()) {
      const { sharded } = type.options;
      if (sharded !== undefined && mayHost(type)) rules.set(type.name, sharded.rule);
    }
    return rules;
  }

  // ——— Routing.

  /** Router for a type, current with its newest `table` and the registered classes. */
  router(type: string, table = this.#deps.tables.newest(type)): ShardRouter {
    const { edition } = this.#deps.catalog;
    let router = this.#latest;
    if (router === undefined || router.type !== type) {
      router = this.#routers.get(type) ?? this.#newRouter(type);
      this.#latest = router;
    }
    if (!router.isFor(table, edition)) router.renew(table, edition, this.#deps.catalog.types.get(type));
    return router;
  }

  #newRouter(type: string): ShardRouter {
    const { tables, incarnation, lease, clock, catalog } = this.#deps;
    const region = new ShardRegion(incarnation, (home) => {
      const host = tables.hostAt(type, home.address);
      return host?.incarnation === home.incarnation ? host : undefined;
    });
    const router = new ShardRouter(type, region, {
      lease,
      outside: (id) => this.#deps.outside(type, id),
      waits: (shard, isNew) => {
        const now = clock.monotonic();
        if (isNew || region.isUnanswered(shard, now, catalog.sharding(type).retryMs)) this.#request(type, shard);
        this.#waits.waits(type, shard, now);
      },
    });
    this.#routers.set(type, router);
    return router;
  }

  #region(type: string): ShardRegion {
    return this.router(type).region;
  }

  /**
   * Undefined when this host cannot compute the shard, and when the application's own rule fails: a call to
   * such an actor reports that error.
   */
  shardOf(type: string, id: string): number | undefined {
    const { tables, catalog } = this.#deps;
    if (tables.shards(type) === undefined && catalog.types.get(type)?.options.sharded === undefined) return undefined;
    try {
      return this.router(type).shardOf(id);
    } catch {
      return undefined;
    }
  }

  /** For display: why the shard is unknown. */
  whyNoShard(type: string, id: string): string {
    try {
      this.router(type).shardOf(id);
    } catch (error) {
      return (error as Error).message;
    }
    return `only hosts of ${type} can compute its shard; ask one of them`;
  }

  cachedOwner(type: string, id: string): string | undefined {
    const shard = this.shardOf(type, id);
    if (shard === undefined) return undefined;
    const region = this.#region(type);
    return region.held.has(shard) ? undefined : region.cachedHome(shard)?.address;
  }

  holds(type: string, id: string): boolean {
    const shard = this.shardOf(type, id);
    return shard !== undefined && this.#region(type).held.has(shard);
  }

  invalidateOwner(type: string, id: string, address: string): void {
    const shard = this.shardOf(type, id);
    if (shard !== undefined) this.#region(type).invalidateHome(shard, address);
  }

  /** Another host routed a call here that looks for the actor. */
  recheckOwner(type: string, id: string): void {
    const shard = this.shardOf(type, id);
    if (shard !== undefined) this.#region(type).recheckHome(shard);
  }

  #request(type: string, shard: number): void {
    try {
      this.#region(type).requested(shard, this.#deps.clock.monotonic());
    } catch (err) {
      // The refused request has changed nothing, and the host goes on.
      if (!isLimpetError(err, "INVARIANT")) throw err;
      this.#deps.log.error("shard.invariant-broken", { type, shard, err });
      return;
    }
    const requests = this.#requests.get(type) ?? new Set();
    this.#requests.set(type, requests.add(shard));
    if (this.#isFlushing || this.#stream === undefined) return;
    this.#isFlushing = true;
    this.#deps.clock.soon(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    for (const [type, shards] of this.#requests)
      this.#stream?.send({ kind: "getShardHomes", type, shards: [...shards] });
    if (this.#stream !== undefined) this.#requests.clear();
  }

  // ——— The stream.

  joined(stream: ControlStream<HostMessage>): void {
    this.#stream = stream;
    this.#requests.clear();
    this.#sendLeaving();
    for (const [type, { region }] of this.#routers) {
      const { requests, stopped } = region.joined(this.#deps.clock.monotonic());
      for (const step of stopped) stream.send({ kind: "shardStopped", type, ...step, wasForced: false });
      if (requests.length === 0) continue;
      const held = requests.filter((shard) => region.held.has(shard));
      stream.send({ kind: "getShardHomes", type, shards: requests, held: held.length > 0 ? held : undefined });
    }
  }

  disconnected(): void {
    this.#stream = undefined;
  }

  /**
   * Asks the leader to take over all shards of these types. False: this host is the home of none, or has no
   * stream.
   */
  leave(types: readonly string[]): boolean {
    this.#leaving = types.filter((type) => this.#routers.has(type));
    this.#sendLeaving();
    return this.#stream !== undefined && this.holdsAny(types);
  }

  #sendLeaving(): void {
    if (this.#leaving.length > 0) this.#stream?.send({ kind: "leaveShards", types: this.#leaving });
  }

  holdsAny(types: readonly string[]): boolean {
    return types.some((type) => (this.#routers.get(type)?.region.held.size ?? 0) > 0);
  }

  /** The lease is lost: the host is the home of nothing. */
  clear(): void {
    this.#routers.clear();
    this.#latest = undefined;
    this.#requests.clear();
    this.#waits.clear();
    this.disconnected();
  }

  message(message: ShardOrder): void {
    const { type } = message;
    const region = this.#region(type);
    switch (message.kind) {
      case "shardHomes":
        for (const { shard, host } of message.homes) {
          if (host === undefined) region.setNoHome(shard);
          else this.#setHome(type, region, shard, host);
          // Without a home, or with a host that no table here lists, waiting calls go on waiting.
          if (region.isClear(shard)) this.#waits.ended(type, shard);
        }
        if (message.confirm) this.#confirm(message, region);
        // For a shard without a home, or with a host that no table lists yet, calls retry later or with the
        // next table. Woken now, they would ask at once and get the same answer.
        this.#deps.opened?.(
          type,
          message.homes.map(({ shard }) => shard).filter((shard) => region.isClear(shard)),
        );
        break;
      case "beginHandOff":
        region.beginHandOff(message.shard, message.move);
        this.#stream?.send({ kind: "beginHandOffAck", type, shard: message.shard, move: message.move });
        break;
      case "askStrategy": {
        const stream = this.#stream;
        const strategy = this.#deps.catalog.types.get(type)?.options.sharded?.strategy;
        void answerStrategyRequest(message, strategy).then((answer) => stream?.send(answer));
        break;
      }
      case "getShardStats": {
        const counts = countActors(this.#deps.catalog.types.get(type), region.held);
        const [shards, actors] = [[...counts.keys()], [...counts.values()]];
        this.#stream?.send({ kind: "shardStats", question: message.question, type, shards, actors });
        break;
      }
      case "handOff":
        region.handOff(message.shard, message.move);
        void this.#handOff(type, message.shard, region, this.#nameOf(message.move), message.to?.address);
        break;
    }
  }

  /** Confirms the shards that this host is the home of. */
  #confirm({ type, homes }: Extract<ShardOrder, { kind: "shardHomes" }>, region: ShardRegion): void {
    const own = homes.filter(({ host }) => host?.incarnation === this.#deps.incarnation());
    const shards = own.map(({ shard }) => shard).filter((shard) => region.held.has(shard));
    if (shards.length > 0) this.#stream?.send({ kind: "shardStarted", type, shards });
  }

  // ——— For display.

  here(type: string): ShardsHere {
    const { catalog, clock } = this.#deps;
    const held = this.#routers.get(type)?.region.held ?? new Set<number>();
    const homes = countActors(catalog.types.get(type), held);
    return { type, homes, waiting: this.#waits.of(type, clock.monotonic()) };
  }

  /** Calls have waited for a home for so long that it is unlikely to come. */
  get problem(): string | undefined {
    const { catalog, clock } = this.#deps;
    const patience = (type: string): number => {
      return Math.max(STUCK_MS, 2 * (catalog.types.get(type)?.options.sharded?.rule.handOffMs ?? 0));
    };
    const stuck = this.#waits.stuck(clock.monotonic(), patience);
    if (stuck === undefined) return undefined;
    const { type, shard, ms } = stuck;
    return `calls for shard ${shard} of ${type} have waited for a home for ${Math.round(ms / 1_000)} seconds`;
  }

  #setHome(type: string, region: ShardRegion, shard: number, host: ShardHome): void {
    const isHeld = region.held.has(shard);
    const move = region.bufferedFor(shard);
    region.setHome(shard, host);
    if (!isHeld && region.held.has(shard))
      this.#deps.gained?.(type, shard, move === undefined ? undefined : this.#nameOf(move));
    if (isHeld && host.incarnation !== this.#deps.incarnation() && !region.held.has(shard)) this.#lost(type, shard);
    const elsewhere = region.cachedHome(shard);
    if (elsewhere !== undefined) this.#deps.moved?.(type, shard, elsewhere.address);
  }

  /**
   * The leader names another home although this host was never asked to let go: the store was restored, and
   * has forgotten that the shard lives here. The leader decides, so its actors leave memory. Waiting calls
   * are routed to the other home.
   */
  #lost(type: string, shard: number): void {
    const { catalog, log } = this.#deps;
    const known = catalog.types.get(type);
    const sharded = known?.options.sharded;
    log.warn("shard.lost", { type, shard });
    this.#deps.stopped();
    if (known?.byShard === undefined || sharded === undefined) return;
    void catalog.letGo(known.byShard.leavingWith(shard), sharded.rule.handOffMs);
  }

  /** Unique across leaders, each of which counts its moves from one. */
  #nameOf(move: number): string {
    return `${this.#deps.tables.term}.${move}`;
  }

  /** Calls are buffered here because of that very move, and its new home is not known yet. */
  expects(type: string, shard: number, name: string): boolean {
    const move = this.#region(type).bufferedFor(shard);
    return move !== undefined && this.#nameOf(move) === name;
  }

  /**
   * Decides whether an actor of the shard may be activated here. `wait`: this host is its home, but it is
   * about to move.
   */
  activation(type: string, shard: number): ShardActivation {
    const region = this.#region(type);
    if (region.route(shard) === "here") return "here";
    return region.held.has(shard) ? "wait" : "elsewhere";
  }

  /** Requests the unknown homes of these shards, so that each of them gets one. */
  find(type: string, shards: readonly number[]): void {
    const region = this.#region(type);
    for (const shard of shards) if (region.route(shard) === "request") this.#request(type, shard);
  }

  async #handOff(
    type: string,
    shard: number,
    region: ShardRegion,
    name: string,
    to: string | undefined,
  ): Promise<void> {
    const { catalog, clock } = this.#deps;
    const stream = this.#stream;
    const known = catalog.types.get(type);
    const sharded = known?.options.sharded;
    let wasForced = false;
    if (known?.byShard !== undefined && sharded !== undefined) {
      const { handOffMs } = sharded.rule;
      const begun = clock.monotonic();
      const actors = known.byShard.leavingWith(shard);
      this.#deps.leaving?.(known, shard, actors);
      await catalog.letGo(actors, handOffMs);
      // A timer may fire slightly early.
      wasForced = clock.monotonic() - begun >= handOffMs - 1;
    }
    const move = region.shardStopped(shard);
    this.#deps.stopped();
    if (move === undefined || this.#routers.get(type)?.region !== region) return;
    if (to !== undefined) this.#deps.left?.(type, shard, name, to);
    this.#stream?.send({ kind: "shardStopped", type, shard, move, wasForced });
    // The home is announced only on the old stream, so a host with a new one has to ask.
    if (this.#stream !== stream) this.#request(type, shard);
  }
}
