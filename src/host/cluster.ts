// Everything by which a process is part of a cluster: the link to other hosts, a scheduler of its own or the way to one,
// membership, and the router that ties them to the actors here. Opened in order, closed in reverse.
import { hostname } from "node:os";
import type { Catalog } from "../actors/catalog.ts";
import { Router } from "../actors/routing/router.ts";
import type { Settings } from "../config/settings.ts";
import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { showVersion } from "../kernel/versions.ts";
import type { Leader, LeaderSource } from "../placement/discovery/leader-source.ts";
import { Membership } from "../placement/host/membership.ts";
import { HostInstruments } from "../placement/host/metrics.ts";
import { hostedTypes } from "../placement/host/roles.ts";
import { SchedulerNode } from "../placement/leader/election.ts";
import type { Clock } from "../ports/clock.ts";
import type { ClusterView, StickyPage, StickyQuery, Whereabouts } from "../ports/host-admin.ts";
import type { LinkService, Links } from "../ports/links.ts";
import type { Log } from "../ports/log.ts";
import type { Meter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { ShardSteering, ShardsHere, ShardsSummary, ShardsView } from "../ports/shard-admin.ts";
import type { Coordination } from "../ports/store/coordination.ts";
import type { Shards } from "../ports/store/shards.ts";
import { Prewarm } from "../sharding/host/prewarm.ts";
import { countRefused, measureShards } from "../sharding/host/shard-gauges.ts";
import { summarise } from "../sharding/operations/shard-summaries.ts";
import { inShard } from "../sharding/operations/shard-whereabouts.ts";
import { openTogether, type RememberedActors, type Standing } from "../sharding/remembered/manager.ts";
import { WatchedSchedulers } from "../wire/control/watched-schedulers.ts";
import type { ClusterWire, OpenServer } from "./cluster-wire.ts";
import { ShutDown } from "./shut-down.ts";
import { untilAnswered } from "./until-answered.ts";

export interface ClusterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly catalog: Catalog;
  /** What schedulers agree on; a process that is told its schedulers does without. */
  readonly coordination: Coordination;
  readonly shards: Shards;
  readonly wire: ClusterWire;
  /** How long a question of the start is retried while the store does not answer. */
  readonly startPatienceMs: number;
}

/**
 * Loading the library of the control stream takes a while. A process that has been there for this long loads it, so that it is not
 * when another process joins; nor when it is given its first shards, which is later.
 */
const GET_READY_MS = 200;
/** When it takes this long to join, somebody may wonder. */
const WORTH_SAYING_MS = 2_000;

export async function openCluster(settings: Settings, deps: ClusterDeps, dedicated: boolean): Promise<Cluster> {
  const { clock, catalog, wire, startPatienceMs } = deps;
  await agreeOnShards(settings.namespace, deps);
  let parts: Assembled | undefined;
  const service: LinkService = {
    serve: (call, answer, line) =>
      parts!.companions.serve(call, answer) ? () => {} : parts!.router.serve(call, answer, line),
  };
  // It asks the store for the secret of the cluster.
  const door = await untilAnswered(clock, startPatienceMs, () => wire.openLinkDoor(service));
  let cluster: Cluster | undefined;
  try {
    parts = assemble(settings, deps, door, dedicated);
    cluster = new Cluster(settings, deps, parts);
    await cluster.start();
    return cluster;
  } catch (error) {
    // It may have been given actors already, of types that were settled sooner than others.
    catalog.close();
    await (cluster?.shutDown() ?? door.close());
    throw error;
  }
}

interface Assembled extends Parts {
  readonly companions: Prewarm;
}

/** Nothing of it runs yet. */
function assemble(settings: Settings, deps: ClusterDeps, door: OpenServer, dedicated: boolean): Assembled {
  const { namespace } = settings;
  const { clock, meter, catalog, wire } = deps;
  const links = wire.openLinks(door.address);
  const source = openSource(settings, deps, dedicated);
  const membership = new Membership(
    {
      namespace,
      address: door.address,
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
        links.retain(membership.tables.addresses());
        router.changed(types);
        // Without a lease nobody can be asked.
        if (types.length > 0 || membership.hasLease) remembered.changed();
      },
      gained: (type, shard, move) => {
        remembered.gained(type, shard);
        companions.gained(type, shard, move);
      },
      leaving: (type, shard, actors) => companions.leaving(type, shard, actors),
      left: (type, shard, move, address) => companions.left(type, shard, move, address),
      moved: (type, shard, address) => companions.moved(type, shard, address),
      opened: (type, shards) => router.opened(type, shards),
      answered: (type, id, error) => router.answered(type, id, error),
    },
  );
  const standing = (type: string, shard: number): Standing => membership.standing(type, shard);
  const expects = (type: string, shard: number, move: string): boolean =>
    membership.hasLease && membership.shards.expects(type, shard, move);
  const companions = new Prewarm({ clock, catalog, links, standing, expects });
  const remembered = openTogether(settings.storeTimeout, deps, membership);
  catalog.remembering = remembered;
  const refused = (type: string): void => countRefused(type, namespace, meter);
  const router = new Router(catalog, {
    placement: membership,
    links,
    clock,
    refused,
    storeTimeoutMs: settings.storeTimeout,
  });
  catalog.join(router);
  return { door, links, source, membership, router, remembered, companions, dedicated };
}

/** As people know it; what is kept is in actors/options/sharded-options.ts. */
const wayOf = (version: string): string =>
  version.startsWith("own ") ? `its own shardOf of version ${JSON.stringify(version.slice(4))}` : version;

/** How ids become shards is settled for all hosts: who would do it otherwise would run actors that run elsewhere. */
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
    const [theirs, said] = [settled, ours].map(({ shards, version }) => `${shards} shards by ${wayOf(version)}`);
    const cure = `stop every host of ${type}, then run limpet shards ${type} --reset`;
    throw new LimpetError("OPTION_INVALID", `${type} has ${theirs}, and this host says ${said}; to change it ${cure}`);
  }
}

/** Schedulers that were named, or one in this process that finds the others through the store. */
function openSource(settings: Settings, deps: ClusterDeps, dedicated: boolean): SchedulerNode | WatchedSchedulers {
  const { schedulers } = settings;
  const { clock, random, log, meter, coordination, shards, wire } = deps;
  const connect: ClusterWire["connect"] = (address, term) => wire.connect(address, term);
  if (schedulers.length > 0) return new WatchedSchedulers(schedulers, { clock, random, log, connect });
  return new SchedulerNode(
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
      shards,
      identity: wire.identity,
      hasEnded: (process) => wire.hasEnded(process),
      connect,
      openDoor: (service) => wire.openControlDoor(service),
    },
  );
}

interface Parts {
  readonly door: OpenServer;
  readonly links: Links;
  readonly source: SchedulerNode | WatchedSchedulers;
  readonly membership: Membership;
  readonly router: Router;
  readonly remembered: RememberedActors;
  readonly dedicated: boolean;
}

export class Cluster {
  readonly #settings: Settings;
  readonly #deps: ClusterDeps;
  readonly #parts: Parts;

  constructor(settings: Settings, deps: ClusterDeps, parts: Parts) {
    this.#settings = settings;
    this.#deps = deps;
    this.#parts = parts;
  }

  get address(): string {
    return this.#parts.door.address;
  }

  get problem(): string | undefined {
    return this.#parts.membership.problem;
  }

  get #leads(): boolean {
    return this.scheduler?.leads === true;
  }

  /** Where hosts reach the scheduler of this process, and whether it leads. */
  get scheduler(): { readonly address: string | undefined; readonly leads: boolean } | undefined {
    const { source } = this.#parts;
    return source instanceof SchedulerNode ? { address: source.address, leads: source.leads } : undefined;
  }

  async start(): Promise<void> {
    const { source, membership } = this.#parts;
    const { clock, log, wire } = this.#deps;
    await source.start();
    membership.start();
    const { lease, leaderLease, roundTimeout } = this.#settings;
    // A dead leader, then a dead host, then a silent one: nobody waits for more.
    const longest = leaderLease + lease + roundTimeout;
    const say = clock.after(WORTH_SAYING_MS, () =>
      log.info("waiting to join the cluster", { why: membership.problem }),
    );
    const isReady = (): boolean => membership.problem === undefined;
    // Who leads does not give up that soon: whoever leads next would have to wait for the same silent hosts from the beginning.
    const ready =
      (await membership.until(isReady, longest)) || (this.#leads && (await membership.until(isReady, longest)));
    say.cancel();
    clock.after(GET_READY_MS, () => wire.prepare(), "background");
    if (ready) return;
    const why = `this process could not join its cluster within ${formatDuration(longest)}: ${membership.problem}`;
    throw new LimpetError("NOT_READY", why);
  }

  /** A host sees its own namespace; a dedicated scheduler belongs to none, and sees all. */
  async view(): Promise<ClusterView> {
    const view = await this.#leader().describe();
    if (this.#parts.dedicated) return view;
    const isOurs = ({ namespace }: { readonly namespace: string }): boolean => namespace === this.#settings.namespace;
    return { ...view, hosts: view.hosts.filter(isOurs), tables: view.tables.filter(isOurs) };
  }

  async drain(which: string): Promise<void> {
    const leader = this.#leader();
    const { hosts } = await this.view();
    const [found, ...more] = hosts.filter((host) => [host.address, host.name, host.incarnation].includes(which));
    if (found === undefined) throw new LimpetError("HOST_UNKNOWN", `no host is called ${which}`);
    if (more.length > 0) {
      const addresses = [found, ...more].map(({ address }) => address).join(", ");
      throw new LimpetError(
        "ARGUMENT_INVALID",
        `several hosts are called ${which}; say which by address: ${addresses}`,
      );
    }
    if (found.state !== "member" && found.state !== "joining") {
      throw new LimpetError("NOT_READY", `${which} is ${found.state} and cannot be told anything now`);
    }
    await leader.drain(found.incarnation);
  }

  #leader(): Leader {
    const { leader } = this.#parts.source as LeaderSource;
    if (leader === undefined) throw new LimpetError("NOT_READY", this.#parts.source.problem);
    return leader;
  }

  /** Sticky actors of this namespace. */
  async sticky(query: StickyQuery): Promise<StickyPage> {
    if (query.here === true) return this.#parts.membership.sticky.list(query);
    return this.#leader().sticky(this.#settings.namespace, query);
  }

  async release(type: string, id: string): Promise<void> {
    await this.#leader().release(this.#settings.namespace, type, id);
  }

  async shards(type: string): Promise<ShardsView> {
    return this.#leader().shards(this.#settings.namespace, type);
  }

  async shardedTypes(): Promise<readonly ShardsSummary[]> {
    const { namespace } = this.#settings;
    const { tables } = await this.view();
    const types = tables.filter((table) => table.namespace === namespace).map(({ type }) => type);
    return summarise(types, (type) => this.shards(type));
  }

  async steerShards(type: string, steering: ShardSteering): Promise<void> {
    await this.#leader().steerShards(this.#settings.namespace, type, steering);
  }

  shardsHere(type: string): ShardsHere {
    return this.#parts.membership.shards.here(type);
  }

  /** Brings the figures up to date; called when somebody looks. */
  measure(): void {
    const { source } = this.#parts;
    if (source instanceof SchedulerNode) source.measure();
    const { catalog, meter } = this.#deps;
    const { membership, router } = this.#parts;
    const calls = (type: string): number => router.buffered(type);
    measureShards(membership.shards, calls, catalog, this.#settings.namespace, meter);
    membership.sticky.measure();
  }

  /** Who holds a sticky actor, as the leader knows it; without a leader, as far as is known here. */
  async where(type: string, id: string): Promise<Whereabouts> {
    const ring = this.#onRing(type, id);
    const { membership, source } = this.#parts;
    if (membership.isSharded(type)) return inShard(ring, membership, (sharded) => this.shards(sharded));
    if (!membership.isSticky(type)) return ring;
    const { address, tables } = membership;
    const asked = source.leader?.sticky(this.#settings.namespace, { type, id, limit: 1 });
    const page = await asked?.catch(() => undefined);
    const held = page?.actors[0];
    const believed = held?.address ?? (membership.sticky.holdings.holds(type, id) ? address : undefined);
    if (believed === undefined) {
      const why =
        page === undefined
          ? "it is sticky, and the leader cannot say at this moment who holds it; if nobody does, this is where the ring says"
          : "it is sticky and nobody holds it; for a start its next call brings it to life where the ring says";
      return { ...ring, why };
    }
    const away = held?.away ?? false;
    const why = away ? "its host is lost, and it is kept for the next one of that name" : "it is sticky";
    return {
      ...ring,
      owner: believed,
      ownerName: held?.name ?? tables.hostAt(type, believed)?.name,
      here: believed === address && !away,
      sticky: held && { since: held.since, away, ring: ring.owner, ringName: ring.ownerName },
      why,
    };
  }

  #onRing(type: string, id: string): Whereabouts {
    const { tables, address } = this.#parts.membership;
    const owner = tables.owner(type, id);
    const { version, since, locked } = tables.view(type);
    const hosts = tables.hosts(type);
    const activeHere = this.#deps.catalog.types.get(type)?.activations.has(id) ?? false;
    const where = {
      type,
      id,
      owner,
      here: owner === address,
      activeHere,
      sticky: undefined,
      version: version.number,
      term: version.term,
      since,
    };
    const ownerName = hosts.find((host) => host.address === owner)?.name;
    if (owner === undefined) return { ...where, ownerName, why: `no host of the cluster runs actors of type ${type}` };
    const moving = locked ? "; that table is being handed out, so it may still be where it was before" : "";
    const table = `table ${showVersion(version)} of ${type}, with ${hosts.length} ${hosts.length === 1 ? "host" : "hosts"}`;
    return { ...where, ownerName, why: `the hash of its id falls to it in ${table}${moving}` };
  }

  /** The types of this host have changed, or are about to, by one that goes. Resolves when its tables say so. */
  async rehost(without?: string): Promise<void> {
    const { membership } = this.#parts;
    if (without === undefined) await agreeOnShards(this.#settings.namespace, this.#deps);
    const { tables, address } = membership;
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
      // Until its shards are handed over it is their home, and would run actors of a class of that name that it may take up next.
      const isFree = (): boolean => without === undefined || !membership.shards.holdsAny([without]);
      await membership.until(isFree, this.#settings.lease + this.#settings.roundTimeout);
      return;
    }
    // What could not be removed is hosted as before: whoever asked can ask again.
    if (without !== undefined) membership.report([...types, without]);
    throw new LimpetError(
      "NOT_READY",
      without === undefined
        ? "the cluster has not taken note of it yet; it will when a scheduler leads again"
        : `${without} still runs here: the cluster has not taken note in time; try again when a scheduler leads`,
    );
  }

  /** Hands over what other hosts can take, lets the rest end, and leaves the cluster, whatever fails on the way. */
  async shutDown(): Promise<ShutDown> {
    const shut = new ShutDown(this.#deps.log);
    await shut.close({ handover: () => this.#leave() });
    await shut.close({ actors: () => this.#deps.catalog.stop() });
    await this.#stop(shut);
    return shut;
  }

  /** Other hosts take over what they can. If the leader has just left, its successor has to hear of it: others would wait. */
  async #leave(): Promise<void> {
    const { membership, remembered } = this.#parts;
    remembered.stop();
    const { drainTimeout, leaderLease } = this.#settings;
    await membership.heard(Math.min(drainTimeout, leaderLease));
    await membership.leave(drainTimeout);
  }

  /** Nothing is left here. Callers whose calls are on other hosts get their answers first. */
  async #stop(shut: ShutDown): Promise<void> {
    const { door, links, source, membership, router } = this.#parts;
    await shut.close({ calls: () => router.settled(this.#settings.drainTimeout) });
    router.close();
    membership.goodbye();
    // It must have been heard before the leader, which may be this process, stops.
    await new Promise<void>((resolve) => this.#deps.clock.soon(() => this.#deps.clock.soon(resolve)));
    // The leader may be leaving at this very moment, and its successor has to know all the same.
    const noted = this.#deps.coordination.leave(membership.names).catch((err: unknown) => {
      this.#deps.log.debug("the store could not note that this host has left", { err });
    });
    await shut.close({ "link server": () => door.close(), scheduler: () => source.stop(), membership: () => noted });
    await shut.close({ links: () => links.close() });
  }
}
