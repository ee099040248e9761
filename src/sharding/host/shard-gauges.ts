// Gauges of this host: its shards by type, and the shards and calls that wait here. Set when metrics are
// collected.
import type { ActorHost } from "../../ports/actor-host.ts";
import type { Meter } from "../../ports/meter.ts";
import type { RegionDriver } from "./region-driver.ts";

/** `calls`: number of calls of a type that wait here for a route. */
export function measureShards(
  shards: RegionDriver,
  calls: (type: string) => number,
  catalog: ActorHost,
  namespace: string,
  meter: Meter,
): void {
  for (const { name: type, options } of catalog.types.values()) {
    if (options.sharded === undefined) continue;
    const { homes, waiting } = shards.here(type);
    const labels = { namespace, type };
    meter.gauge("limpet_host_shards", "Shards that this host is the home of.", labels).set(homes.size);
    const help = "Shards for which calls wait at this host, because their home is unknown or because they move.";
    meter.gauge("limpet_host_shards_waited_for", help, labels).set(waiting.size);
    const callsHelp = "Calls to sharded actors that wait at this host for a route.";
    meter.gauge("limpet_host_shard_calls_waiting", callsHelp, labels).set(calls(type));
  }
}

export function countRefused(type: string, namespace: string, meter: Meter): void {
  const help = "Calls to sharded actors rejected with BUFFER_FULL, because too many wait at this host already.";
  meter.counter("limpet_host_shard_calls_refused_total", help, { namespace, type }).add(1);
}
