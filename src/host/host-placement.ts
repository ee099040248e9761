// Connects the parts of a host that place actors: its membership, its tables and lease, its sticky actors and
// shards, and the resolver that the router asks.
import { Membership, type MembershipDeps, type MembershipSettings } from "../placement/host/membership.ts";
import { PlacementResolver } from "../placement/host/placement-resolver.ts";
import { mayHost } from "../placement/host/roles.ts";
import { HostLease } from "../placement/model/host-lease.ts";
import { HostTables } from "../placement/model/host-tables.ts";
import { StickyClient, type StickyClientDeps } from "../placement/sticky/sticky-client.ts";
import { RegionDriver, type RegionDriverDeps } from "../sharding/host/region-driver.ts";
import type { ShardKnowledge } from "../sharding/remembered/manager.ts";

export interface HostPlacementDeps
  extends Omit<MembershipDeps, "tables" | "lease" | "sticky" | "shards">,
    Pick<StickyClientDeps, "answered">,
    Pick<RegionDriverDeps, "opened" | "gained" | "leaving" | "left" | "moved"> {}

export interface HostPlacement {
  readonly address: string;
  readonly membership: Membership;
  readonly resolver: PlacementResolver;
  readonly tables: HostTables;
  readonly sticky: StickyClient;
  readonly shards: RegionDriver;
}

export function openHostPlacement(settings: MembershipSettings, deps: HostPlacementDeps): HostPlacement {
  const { address, roles = [] } = settings;
  const tables = new HostTables(address);
  const lease = new HostLease();
  const sticky = new StickyClient(settings, tables, { ...deps, wants: (type) => membership.types.includes(type) });
  const shards = new RegionDriver({
    ...deps,
    tables,
    lease,
    mayHost: (type) => mayHost(type, roles),
    incarnation: () => membership.incarnation,
    outside: (type, id) => resolver.outsideShards(type, id),
    stopped: () => membership.notify(),
  });
  const parts = { ...deps, tables, lease, sticky, shards };
  const membership = new Membership(settings, parts);
  const resolver = new PlacementResolver(address, { ...parts, membership });
  return { address, membership, resolver, tables, sticky, shards };
}

/** The shards of this host, as its remembered actors use them. Without a lease the leader does not answer. */
export const knownShards = ({ membership, resolver, shards }: HostPlacement): ShardKnowledge => ({
  home: () => membership.incarnation,
  activation: (type, shard) => resolver.activation(type, shard),
  find: (type, numbers) => {
    if (resolver.hasLease) shards.find(type, numbers);
  },
});
