// Views of shards for operators: a summary of each sharded type of a namespace, and the place of one actor.
import { isLimpetError } from "../../kernel/errors.ts";
import type { KnownTables } from "../../ports/cluster/host-feature.ts";
import type { Whereabouts } from "../../ports/host-admin.ts";
import type { ShardsSummary, ShardsView } from "../../ports/shard-admin.ts";
import type { RegionDriver } from "../host/region-driver.ts";

/**
 * Calls `viewOf` for every type at the same time, because each may wait for hosts that do not report their
 * actors. Leaves out types without shards. Leaves out types that the leader cannot describe now, unless there
 * are no others.
 */
export async function summarise(
  types: readonly string[],
  viewOf: (type: string) => Promise<ShardsView>,
): Promise<ShardsSummary[]> {
  let unclear: unknown;
  const summaries = types.map(async (type) => {
    try {
      return summaryOf(await viewOf(type));
    } catch (error) {
      if (isLimpetError(error, "NOT_READY")) unclear = error;
      else if (!isLimpetError(error, "NOT_SHARDED")) throw error;
      return undefined;
    }
  });
  const found = (await Promise.all(summaries)).filter((summary) => summary !== undefined);
  if (found.length === 0 && unclear !== undefined) throw unclear;
  return found.sort((a, b) => (a.type < b.type ? -1 : 1));
}

function summaryOf({ type, shards, strategy, paused, hosts, moving, faults }: ShardsView): ShardsSummary {
  const isSilent = hosts.some(({ actors }) => actors === undefined);
  const counts = hosts.flatMap(({ actors }) => actors ?? []);
  return {
    type,
    shards,
    strategy,
    paused,
    faults,
    moving: moving.length,
    hosts: hosts.length,
    used: hosts.reduce((sum, host) => sum + host.shards.length, 0),
    actors: isSilent ? undefined : counts.reduce((sum, count) => sum + count, 0),
  };
}

export interface ShardsOfThisHost {
  readonly address: string;
  readonly shards: RegionDriver;
  readonly tables: KnownTables;
}

/**
 * The place of an actor in a sharded type: the home of its shard, as known here or as the leader reports it.
 */
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
