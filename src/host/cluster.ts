// Makes a process part of a cluster: links to other hosts, a scheduler or a connection to one, membership,
// and the routing between them and the actors here. Opened in order, closed in reverse.
import { hostname } from "node:os";
import type { Catalog } from "../actors/catalog.ts";
import { ClusterRouting } from "../actors/routing/cluster-routing.ts";
import { ClusterAdmin } from "../admin/cluster-admin.ts";
import type { Settings } from "../config/settings.ts";
import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { HostInstruments } from "../placement/host/metrics.ts";
import { hostedTypes } from "../placement/host/roles.ts";
import { Scheduler } from "../placement/leader/scheduler.ts";
import type { Clock } from "../ports/clock.ts";
import type { ShardActivation } from "../ports/cluster/host-feature.ts";
import type { LinkService, Links } from "../ports/links.ts";
import type { Log } from "../ports/log.ts";
import type { Meter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { ShardsHere } from "../ports/shard-admin.ts";
import type { Coordination } from "../ports/store/coordination.ts";
import type { Shards } from "../ports/store/shards.ts";
import { Prewarm } from "../sharding/host/prewarm.ts";
import { countRefused, measureShards } from "../sharding/host/shard-gauges.ts";
import { LeaderShards } from "../sharding/leader/leader-shards.ts";
import { RememberedActors } from "../sharding/remembered/manager.ts";
import { WatchedSchedulers } from "../wire/control/client/watched-schedulers.ts";
import type { ClusterWire, OpenServer } from "./cluster-wire.ts";
import { type HostPlacement, knownShards, openHostPlacement } from "./host-placement.ts";
import { ShutDown } from "./shut-down.ts";
import { untilAnswered } from "./until-answered.ts";

export interface ClusterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly catalog: Catalog;
  /** Shared by schedulers; a process with configured schedulers does not use it. */
  readonly coordination: Coordination;
  readonly shards: Shards;
  readonly wire: ClusterWire;
  /** How long a request of the start is retried while the store does not answer. */
  readonly startPatienceMs: number;
}

/**
 * Loading the library of the control stream takes a while. A process loads it after this time, before other
 * processes join and before its first shards arrive.
 */
const GET_READY_MS = 200;
/** A join that takes this long is logged. */
const LONG_JOIN_MS = 2_000;

export async function openCluster(settings: Settings, deps: ClusterDeps, dedicated: boolean): Promise<Cluster> {
  const { clock, catalog, wire, startPatienceMs } = deps;
  await agreeOnShards(settings.namespace, deps);
  let parts: Assembled | undefined;
  const service: LinkService = {
    serve: (call, answer, line) =>
      parts!.prewarm.serve(call, answer) ? () => {} : parts!.routing.inbound.serve(call, answer, line),
  };
  // Requests the secret of the cluster from the store.
  const linkServer = await untilAnswered(clock, startPatienceMs, () => wire.openLinkServer(service));
  let cluster: Cluster | undefined;
  try {
    parts = assemble(settings, deps, linkServer, dedicated);
    cluster = new Cluster(settings, deps, parts);
    await cluster.start();
    return cluster;
  } catch (error) {
    // The host may have actors already, of types with earlier tables than others.
    catalog.close();
    await (cluster?.shutDown() ?? linkServer.close());
    throw error;
  }
}

interface Assembled extends Parts {
  readonly prewarm: Prewarm;
}

/** Builds the parts; none of them runs yet. */
function assemble(settings: Settings, deps: ClusterDeps, linkServer: OpenServer, dedicated: boolean): Assembled {
  const { namespace } = settings;
  const { clock, meter, catalog, wire } = deps;
  const links = wire.openLinks(linkServer.address);
  const source = openSource(settings, deps, dedicated);
  const placement = openHostPlacement(
    {
      namespace,
      address: linkServer.address,
      name: settings.clusterName || hostname(),
      build: settings.workerBuild,
      roles: settings.clusterRoles,
      moveTimeoutMs: settings.moveTimeout,
    },
    {
      ...deps,
      identity: wire.identity,
      instruments: new HostInstruments(meter, namespace),
      source,
      changed: (types) => {
        links.retain(placement.tables.addresses());
        routing.changed(types);
        // Without a lease the leader does not answer.
        if (types.length > 0 || resolver.hasLease) remembered.changed();
      },
      gained: (type, shard, move) => {
        remembered.gained(type, shard);
        prewarm.gained(type, shard, move);
      },
      leaving: (type, shard, actors) => prewarm.leaving(type, shard, actors),
      left: (type, shard, move, address) => prewarm.left(type, shard, move, address),
      moved: (type, shard, address) => prewarm.moved(type, shard, address),
      opened: (type, shards) => routing.opened(type, shards),
      answered: (type, id, error) => routing.answered(type, id, error),
    },
  );
  const { resolver, shards } = placement;
  const activation = (type: string, shard: number): ShardActivation => resolver.activation(type, shard);
  const expects = (type: string, shard: number, move: string): boolean =>
    resolver.hasLease && shards.expects(type, shard, move);
  const prewarm = new Prewarm({ clock, catalog, links, activation, expects });
  const remembered = new RememberedActors(settings.storeTimeout, { ...deps, known: knownShards(placement) });
  catalog.connect({ remembering: remembered });
  const refused = (type: string): void => countRefused(type, namespace, meter);
  const routing = new ClusterRouting(catalog, {
    placement: resolver,
    links,
    clock,
    refused,
    storeTimeoutMs: settings.storeTimeout,
  });
  catalog.join(routing);
  return { linkServer, links, source, placement, routing, remembered, prewarm, dedicated };
}

/** For display; the stored form is in actors/options/sharded-options.ts. */
const mappingOf = (version: string): string =>
  version.startsWith("own ") ? `its own shardOf of version ${JSON.stringify(version.slice(4))}` : version;

/** All hosts must map ids to shards alike: a host with another rule would run actors that run elsewhere. */
export async function agreeOnShards(
  namespace: string,
  { clock, catalog, shards, startPatienceMs }: Pick<ClusterDeps, "clock" | "catalog" | "shards" | "startPatienceMs">,
): Promise<void> {
  for (const { name: type, options } of catalog.types.values()) {
    const { sharded } = options;
    if (sharded === undefined) continue;
    const ours = { namespace, type, shards: sharded.rule.shards, version: sharded.version };
    const settled = await untilAnswered(clock, startPatienceMs, () => shards.settle(ours));
    if (settled.shards === ours.shards && settled.version === ours.version) continue;
    const [theirs, mine] = [settled, ours].map(({ shards, version }) => `${shards} shards by ${mappingOf(version)}`);
    const cure = `stop every host of ${type}, then run limpet shards ${type} --reset`;
    throw new LimpetError("OPTION_INVALID", `${type} has ${theirs}, but this host has ${mine}; to change it ${cure}`);
  }
}

/** The configured schedulers, or one in this process that finds the others through the store. */
function openSource(settings: Settings, deps: ClusterDeps, dedicated: boolean): Scheduler | WatchedSchedulers {
  const { schedulers } = settings;
  const { clock, random, log, meter, coordination, wire } = deps;
  const connect: ClusterWire["connect"] = (address, term) => wire.connect(address, term);
  if (schedulers.length > 0) return new WatchedSchedulers(schedulers, { clock, random, log, connect });
  return new Scheduler(
    {
      dedicated,
      leaseMs: settings.lease,
      leaderLeaseMs: settings.leaderLease,
      roundTimeoutMs: settings.roundTimeout,
      coalesceMs: settings.coalesce,
      replicationFactor: settings.replicationFactor,
      failover: settings.failover,
    },
    {
      clock,
      random,
      log,
      meter,
      coordination,
      shards: new LeaderShards(deps),
      identity: wire.identity,
      hasEnded: (process) => wire.hasEnded(process),
      connect,
      openServer: (service) => wire.openControlServer(service),
    },
  );
}

interface Parts {
  readonly linkServer: OpenServer;
  readonly links: Links;
  readonly source: Scheduler | WatchedSchedulers;
  readonly placement: HostPlacement;
  readonly routing: ClusterRouting;
  readonly remembered: RememberedActors;
  readonly dedicated: boolean;
}

export class Cluster {
  readonly #settings: Settings;
  readonly #deps: ClusterDeps;
  readonly #parts: Parts;
  /** The requests of operators about the cluster. */
  readonly admin: ClusterAdmin;

  constructor(settings: Settings, deps: ClusterDeps, parts: Parts) {
    this.#settings = settings;
    this.#deps = deps;
    this.#parts = parts;
    const { source, placement, dedicated } = parts;
    this.admin = new ClusterAdmin({
      namespace: settings.namespace,
      seesAll: dedicated,
      source,
      placement,
      catalog: deps.catalog,
    });
  }

  get address(): string {
    return this.#parts.linkServer.address;
  }

  get problem(): string | undefined {
    return this.#parts.placement.membership.problem;
  }

  get #leads(): boolean {
    return this.scheduler?.leads === true;
  }

  /** The address of the scheduler of this process, and whether it leads. */
  get scheduler(): { readonly address: string | undefined; readonly leads: boolean } | undefined {
    const { source } = this.#parts;
    return source instanceof Scheduler ? { address: source.address, leads: source.leads } : undefined;
  }

  async start(): Promise<void> {
    const { source, placement } = this.#parts;
    const { membership } = placement;
    const { clock, log, wire } = this.#deps;
    await source.start();
    membership.start();
    const { lease, leaderLease, roundTimeout } = this.#settings;
    // Worst case: a dead leader, then a dead host, then a silent host.
    const longest = leaderLease + lease + roundTimeout;
    const pending = clock.after(LONG_JOIN_MS, () => log.info("cluster.join-pending", { why: membership.problem }));
    const isReady = (): boolean => membership.problem === undefined;
    // A leader waits longer: its successor would have to wait for the same silent hosts from the beginning.
    const ready =
      (await membership.until(isReady, longest)) || (this.#leads && (await membership.until(isReady, longest)));
    pending.cancel();
    clock.after(GET_READY_MS, () => wire.prepare(), "background");
    if (ready) return;
    const why = `this process could not join its cluster within ${formatDuration(longest)}: ${membership.problem}`;
    throw new LimpetError("NOT_READY", why);
  }

  shardsHere(type: string): ShardsHere {
    return this.#parts.placement.shards.here(type);
  }

  /** Updates the metrics; called when they are read. */
  measure(): void {
    const { source } = this.#parts;
    if (source instanceof Scheduler) source.measure();
    const { catalog, meter } = this.#deps;
    const { placement, routing } = this.#parts;
    const calls = (type: string): number => routing.buffered(type);
    measureShards(placement.shards, calls, catalog, this.#settings.namespace, meter);
    placement.sticky.measure();
  }

  /**
   * The types of this host have changed, or `without` is about to be removed. Resolves when the tables show
   * it.
   */
  async rehost(without?: string): Promise<void> {
    const { membership, tables, address, shards } = this.#parts.placement;
    if (without === undefined) await agreeOnShards(this.#settings.namespace, this.#deps);
    const hosted = hostedTypes(this.#deps.catalog.types.values(), this.#settings.clusterRoles);
    const types = hosted.filter((type) => type !== without);
    membership.report(types);
    const isThere = (type: string): boolean => tables.hosts(type).some((host) => host.address === address);
    const done = (): boolean =>
      types.every(isThere) && (without === undefined || (!isThere(without) && !tables.view(without).locked));
    const isClear = (): boolean => membership.disagreement !== undefined || done();
    await membership.until(isClear, this.#settings.lease + this.#settings.roundTimeout);
    if (membership.disagreement !== undefined) throw new LimpetError("OPTION_INVALID", membership.disagreement);
    if (done()) {
      // Until its shards are handed over, this host is their home, and would run actors of a class added
      // later under the same name.
      const isFree = (): boolean => without === undefined || !shards.holdsAny([without]);
      await membership.until(isFree, this.#settings.lease + this.#settings.roundTimeout);
      return;
    }
    // A type that could not be removed stays hosted; the caller can retry.
    if (without !== undefined) membership.report([...types, without]);
    throw new LimpetError(
      "NOT_READY",
      without === undefined
        ? "the cluster has not accepted the type yet; it will when a scheduler leads again"
        : `${without} still runs here: the cluster did not respond in time; try again when a scheduler leads`,
    );
  }

  /**
   * Hands its actors over to other hosts, lets the rest end, and leaves the cluster, even if a step fails.
   */
  async shutDown(): Promise<ShutDown> {
    const shut = new ShutDown(this.#deps.log);
    await shut.close({ handover: () => this.#leave() });
    await shut.close({ actors: () => this.#deps.catalog.stop() });
    await this.#stop(shut);
    return shut;
  }

  /**
   * Other hosts take over. If the leader has just left, its successor must be notified, or other hosts would
   * wait.
   */
  async #leave(): Promise<void> {
    const { placement, remembered } = this.#parts;
    const { membership } = placement;
    remembered.stop();
    const { drainTimeout, leaderLease } = this.#settings;
    await membership.connected(Math.min(drainTimeout, leaderLease));
    await membership.leave(drainTimeout);
  }

  /** No actor is left here. Calls to other hosts get their answers first. */
  async #stop(shut: ShutDown): Promise<void> {
    const { linkServer, links, source, placement, routing } = this.#parts;
    const { membership } = placement;
    await shut.close({ calls: () => routing.settled(this.#settings.drainTimeout) });
    routing.close();
    membership.goodbye();
    // The message must be delivered before the leader, which may be this process, stops.
    await new Promise<void>((resolve) => this.#deps.clock.soon(() => this.#deps.clock.soon(resolve)));
    // The leader may be leaving too, and its successor must know.
    const left = this.#deps.coordination.leave(membership.names).catch((err: unknown) => {
      this.#deps.log.debug("host.leave-unsaved", { err });
    });
    await shut.close({
      "link server": () => linkServer.close(),
      scheduler: () => source.stop(),
      membership: () => left,
    });
    await shut.close({ links: () => links.close() });
  }
}
