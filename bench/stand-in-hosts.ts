// Hosts without activations. Each has a real membership: it finds the leader, keeps its lease, follows
// orders, and requests actors and shards as every host does, over its own control stream. It holds granted
// actors, and does nothing more with them. It has no server and gets no calls.
import { Catalog } from "../src/actors/catalog.ts";
import { type HostPlacement, openHostPlacement } from "../src/host/host-placement.ts";
import { systemClock, systemRandom } from "../src/host/system.ts";
import type { ActorClass } from "../src/index.ts";
import type { LimpetError } from "../src/kernel/errors.ts";
import { Metrics } from "../src/observe/metrics.ts";
import { ownIdentity } from "../src/placement/discovery/process-identity.ts";
import { HostInstruments } from "../src/placement/host/metrics.ts";
import type { SchedulerMessage } from "../src/ports/control-messages.ts";
import type { ClusterView } from "../src/ports/host-admin.ts";
import { silentLog } from "../src/ports/log.ts";
import { WAIT } from "../src/ports/placement.ts";
import { MemoryStore } from "../src/stores/memory/memory-store.ts";
import { lazyClient } from "../src/wire/control/client/lazy-client.ts";
import { type SchedulerClient, WatchedSchedulers } from "../src/wire/control/client/watched-schedulers.ts";
import type { LeaderProcess } from "./leader.ts";
import { until } from "./until.ts";

const NAMESPACE = "default";
/** Longer than any measurement, so that no request times out. */
const PATIENCE_MS = 600_000;
const CATALOG = {
  namespace: NAMESPACE,
  idleTimeoutMs: PATIENCE_MS,
  callTimeoutMs: PATIENCE_MS,
  mailboxLimit: 1,
  maxResident: 1,
  drainTimeoutMs: 1_000,
  storeTimeoutMs: 1_000,
};

export interface FleetListener {
  /** The actor belongs to that host now; or the error. */
  answered(host: StandInHost, id: string, error: LimpetError | undefined): void;
  /** Called before a host gets the message. */
  received?(message: SchedulerMessage): void;
}

export class StandInHost {
  readonly address: string;
  readonly placement: HostPlacement;
  readonly #source: WatchedSchedulers;

  readonly type: string;

  constructor(number: number, leaders: readonly LeaderProcess[], listener: FleetListener, kind: ActorClass) {
    this.type = kind.name;
    this.address = `127.0.0.1:${20_001 + number}`;
    const world = { clock: systemClock, random: systemRandom, log: silentLog, meter: new Metrics() };
    const connect = lazyClient({ security: leaders[0]!.security, log: silentLog });
    const schedulers = leaders.map(({ address }) => address);
    this.#source = new WatchedSchedulers(schedulers, {
      ...world,
      connect: (at, term) => overheard(connect(at, term), listener),
    });
    this.placement = openHostPlacement(
      { namespace: NAMESPACE, address: this.address, name: `app-${number}`, build: "", moveTimeoutMs: 1_000 },
      {
        ...world,
        identity: ownIdentity,
        instruments: new HostInstruments(world.meter, NAMESPACE),
        source: this.#source,
        catalog: new Catalog([kind], CATALOG, { ...world, store: new MemoryStore() }),
        changed() {},
        answered: (_, id, error) => listener.answered(this, id, error),
      },
    );
  }

  start(): void {
    this.#source.start();
    this.placement.membership.start();
  }

  /** True if it needs no request for the actor. Otherwise it has sent the request. */
  knows(id: string): boolean {
    const { resolver } = this.placement;
    const sharded = resolver.inShards(this.type);
    const route =
      sharded?.route(id, sharded.shardOf(id)) ?? resolver.route(this.type, id, performance.now() + PATIENCE_MS);
    return route !== WAIT;
  }

  /** Requests an actor without a holder that falls to this host on the ring. */
  ask(id: string): void {
    if (this.knows(id)) throw new Error(`${this.address} does not have to ask for ${id}`);
  }

  get held(): number {
    return this.placement.sticky.holdings.held(this.type);
  }

  /** The leader's view of the cluster. */
  async describe(): Promise<ClusterView> {
    const { leader } = this.#source;
    if (leader === undefined) throw new Error(this.#source.problem);
    return leader.admin({ kind: "cluster" });
  }

  stop(): void {
    this.placement.membership.goodbye();
    this.#source.stop();
  }
}

function overheard(client: SchedulerClient, by: FleetListener): SchedulerClient {
  const report = client.report.bind(client);
  client.report = (listener) =>
    report({
      message(message) {
        by.received?.(message);
        listener.message(message);
      },
      closed: (error) => listener.closed(error),
    });
  return client;
}

export class Fleet {
  readonly hosts: readonly StandInHost[];
  readonly #byAddress: ReadonlyMap<string, StandInHost>;

  private constructor(hosts: readonly StandInHost[]) {
    this.hosts = hosts;
    this.#byAddress = new Map(hosts.map((host) => [host.address, host]));
  }

  /** Resolves when all of them are members and know each other. `kind`: the one type they all have. */
  static async join(
    count: number,
    leaders: readonly LeaderProcess[],
    listener: FleetListener,
    kind: ActorClass,
  ): Promise<Fleet> {
    const hosts = Array.from({ length: count }, (_, number) => new StandInHost(number, leaders, listener, kind));
    for (const host of hosts) host.start();
    await until(`${count} hosts that know each other`, () =>
      hosts.every(({ placement: { membership, tables } }) => {
        return (
          membership.problem === undefined && tables.hosts(kind.name).length === count && !tables.view(kind.name).locked
        );
      }),
    );
    return new Fleet(hosts);
  }

  /** The host that has to request it. */
  ownerOf(id: string): StandInHost {
    const [first] = this.hosts;
    return this.#byAddress.get(first!.placement.tables.owner(first!.type, id)!)!;
  }

  /** Number of actors that they hold together. */
  get held(): number {
    return this.hosts.reduce((sum, { held }) => sum + held, 0);
  }

  leave(): void {
    for (const host of this.hosts) host.stop();
  }
}
