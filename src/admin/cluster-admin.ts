// Answers requests about the cluster from one host. The leader answers most of them; this host adds its own
// namespace, resolves names, and answers from its cache when the leader is silent.
import type { Catalog } from "../actors/catalog.ts";
import { LimpetError } from "../kernel/errors.ts";
import { showVersion } from "../kernel/versions.ts";
import type { LeaderSource } from "../placement/discovery/leader-source.ts";
import type { PlacementResolver } from "../placement/host/placement-resolver.ts";
import type { HostTables } from "../placement/model/host-tables.ts";
import type { StickyClient } from "../placement/sticky/sticky-client.ts";
import type { LeaderAdmin } from "../ports/admin.ts";
import type { ClusterView, StickyPage, StickyQuery, Whereabouts } from "../ports/host-admin.ts";
import type { ShardSteering, ShardsSummary, ShardsView } from "../ports/shard-admin.ts";
import { inShard, type ShardsOfThisHost, summarise } from "../sharding/operations/shard-views.ts";

/** The placement of this host. */
interface PlacementHere extends ShardsOfThisHost {
  readonly resolver: PlacementResolver;
  readonly tables: HostTables;
  readonly sticky: StickyClient;
}

export interface ClusterAdminDeps {
  readonly namespace: string;
  /** A dedicated scheduler belongs to no namespace, and sees all of them. */
  readonly seesAll: boolean;
  readonly source: LeaderSource;
  readonly placement: PlacementHere;
  readonly catalog: Catalog;
}

export class ClusterAdmin {
  readonly #deps: ClusterAdminDeps;

  constructor(deps: ClusterAdminDeps) {
    this.#deps = deps;
  }

  get #leader(): LeaderAdmin {
    const { leader, problem } = this.#deps.source;
    if (leader === undefined) throw new LimpetError("NOT_READY", problem);
    return leader;
  }

  async view(): Promise<ClusterView> {
    const view = await this.#leader.admin({ kind: "cluster" });
    if (this.#deps.seesAll) return view;
    const isOurs = ({ namespace }: { readonly namespace: string }): boolean => namespace === this.#deps.namespace;
    return { ...view, hosts: view.hosts.filter(isOurs), tables: view.tables.filter(isOurs) };
  }

  async drain(which: string): Promise<void> {
    const leader = this.#leader;
    const { hosts } = await this.view();
    const [found, ...more] = hosts.filter((host) => [host.address, host.name, host.incarnation].includes(which));
    if (found === undefined) throw new LimpetError("HOST_UNKNOWN", `no host is called ${which}`);
    if (more.length > 0) {
      const addresses = [found, ...more].map(({ address }) => address).join(", ");
      throw new LimpetError("ARGUMENT_INVALID", `several hosts are called ${which}; use an address: ${addresses}`);
    }
    if (found.state !== "member" && found.state !== "joining") {
      throw new LimpetError("NOT_READY", `${which} is ${found.state} and cannot be drained now`);
    }
    return leader.admin({ kind: "drain", host: found.incarnation });
  }

  // ——— Sticky actors of this namespace.

  async sticky(query: StickyQuery): Promise<StickyPage> {
    if (query.here === true) return this.#deps.placement.sticky.list(query);
    return this.#leader.admin({ kind: "sticky", namespace: this.#deps.namespace, query });
  }

  async release(type: string, id: string): Promise<void> {
    return this.#leader.admin({ kind: "release", namespace: this.#deps.namespace, type, id });
  }

  // ——— Shards.

  async shards(type: string): Promise<ShardsView> {
    return this.#leader.admin({ kind: "shards", namespace: this.#deps.namespace, type });
  }

  async shardedTypes(): Promise<readonly ShardsSummary[]> {
    const { namespace } = this.#deps;
    const { tables } = await this.view();
    const types = tables.filter((table) => table.namespace === namespace).map(({ type }) => type);
    return summarise(types, (type) => this.shards(type));
  }

  async steerShards(type: string, steering: ShardSteering): Promise<void> {
    return this.#leader.admin({ kind: "steerShards", namespace: this.#deps.namespace, type, steering });
  }

  // ——— The host of an actor.

  /** The owner of a sticky actor, from the leader; without a leader, from the cache of this host. */
  async where(type: string, id: string): Promise<Whereabouts> {
    const ring = this.#onRing(type, id);
    const { placement, source, namespace } = this.#deps;
    const { address, resolver, tables, sticky } = placement;
    if (resolver.isSharded(type)) return inShard(ring, placement, (sharded) => this.shards(sharded));
    if (!resolver.isSticky(type)) return ring;
    const asked = source.leader?.admin({ kind: "sticky", namespace, query: { type, id, limit: 1 } });
    const page = await asked?.catch(() => undefined);
    const held = page?.actors[0];
    const believed = held?.address ?? (sticky.holdings.holds(type, id) ? address : undefined);
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
    const { tables, address } = this.#deps.placement;
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
}
