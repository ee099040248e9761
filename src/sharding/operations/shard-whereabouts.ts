// Address of an actor in a sharded type: the home of its shard, as known here or as the leader reports it.

import type { KnownTables } from "../../ports/cluster/host-feature.ts";
import type { Whereabouts } from "../../ports/host-admin.ts";
import type { ShardsView } from "../../ports/shard-admin.ts";
import type { RegionDriver } from "../host/region-driver.ts";

export interface ShardsOfThisHost {
  readonly address: string;
  readonly shards: RegionDriver;
  readonly tables: KnownTables;
}

/** `table`: the entry by the type's table, which does not apply to shards. */
export async function inShard(
  { type, id, activeHere, version, term, since }: Whereabouts,
  { shards, address, tables }: ShardsOfThisHost,
  viewOf: (type: string) => Promise<ShardsView>,
): Promise<Whereabouts> {
  const table = { type, id, activeHere, version, term, since, sticky: undefined };
  const shard = shards.shardOf(type, id);
  const nowhere = { ...table, owner: undefined, ownerName: undefined, here: false };
  if (shard === undefined) return { ...nowhere, why: shards.whyNoShard(type, id) };
  const known = shards.holds(type, id) ? address : shards.cachedOwner(type, id);
  const owner = known ?? (await homeOf(shard, () => viewOf(type)));
  if (owner === undefined) return { ...nowhere, why: `it is in shard ${shard}, which gets a home with its first call` };
  const ownerName = tables.hostAt(type, owner)?.name;
  return { ...table, owner, ownerName, here: owner === address, why: `it is in shard ${shard}, which lives there` };
}

async function homeOf(shard: number, view: () => Promise<ShardsView>): Promise<string | undefined> {
  const found = await view().catch(() => undefined);
  return found?.hosts.find(({ shards }) => shards.includes(shard))?.address;
}
