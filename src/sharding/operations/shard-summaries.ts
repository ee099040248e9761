// Summaries of all sharded types of a namespace: the leader's view of each, without the individual shards.
import { isLimpetError } from "../../kernel/errors.ts";
import type { ShardsSummary, ShardsView } from "../../ports/shard-admin.ts";

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
