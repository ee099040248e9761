// How many shards of each type live at this host, and for how many calls wait here. Set when somebody looks.
import type { Catalog } from "../actors/catalog.ts";
import type { Meter } from "../ports/meter.ts";
import type { ShardMember } from "./shard-member.ts";

export function measureShards(shards: ShardMember, catalog: Catalog, namespace: string, meter: Meter): void {
  for (const { name: type, options } of catalog.types.values()) {
    if (options.sharded === undefined) continue;
    const { homes, waiting } = shards.here(type);
    const labels = { namespace, type };
    meter.gauge("limpet_host_shards", "Shards that this host is the home of.", labels).set(homes.size);
    const help =
      "Shards for which calls wait at this host, because it is not known where they live or because they move.";
    meter.gauge("limpet_host_shards_waited_for", help, labels).set(waiting.size);
  }
}
