// Where an actor lives whose type has shards: at the home of its shard, as far as that is known here, or as the leader says.

import type { Membership } from "../../placement/host/membership.ts";
import type { Whereabouts } from "../../ports/host-admin.ts";
import type { ShardsView } from "../../ports/shard-admin.ts";

/** `table`: what the table of the type says of it, which does not count for shards. */
export async function inShard(
  { type, id, activeHere, version, term, since }: Whereabouts,
  { shards, address, tables }: Membership,
  ask: (type: string) => Promise<ShardsView>,
): Promise<Whereabouts> {
  const table = { type, id, activeHere, version, term, since, sticky: undefined };
  const shard = shards.shardOf(type, id);
  const nowhere = { ...table, owner: undefined, ownerName: undefined, here: false };
  if (shard === undefined) return { ...nowhere, why: shards.whyNoShard(type, id) };
  const known = shards.holds(type, id) ? address : shards.belief(type, id);
  const owner = known ?? (await homeOf(shard, () => ask(type)));
  if (owner === undefined) return { ...nowhere, why: `it is in shard ${shard}, which gets a home with its first call` };
  const ownerName = tables.hostAt(type, owner)?.name;
  return { ...table, owner, ownerName, here: owner === address, why: `it is in shard ${shard}, which lives there` };
}

async function homeOf(shard: number, ask: () => Promise<ShardsView>): Promise<string | undefined> {
  const view = await ask().catch(() => undefined);
  return view?.hosts.find(({ shards }) => shards.includes(shard))?.address;
}
