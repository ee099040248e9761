// The public API for the shards of a type: `app.shards(Cart)`.
import type { ActorClass } from "../actors/routing/remote.ts";
import { LimpetError } from "../kernel/errors.ts";
import { checkType } from "../kernel/names.ts";
import { checkPlace } from "../kernel/shards.ts";
import type { Host } from "../ports/host-admin.ts";
import type { ShardPlace, ShardsHere, ShardsView } from "../ports/shard-admin.ts";

export interface AppShards {
  /** The home of each shard, its number of actors, and moves in progress; from the leader. */
  view(): Promise<ShardsView>;
  /** The shards of this process. */
  here(): ShardsHere;
  /** The shard of an actor. This process must host the type. */
  shardOf(id: string): number;
  /** Moves a shard once to a host, by name or address. Resolves when the move has begun. */
  move(shard: number, host: string): Promise<void>;
  /** Stops rebalancing until `resume()`, also under later leaders. Shards of a leaving host still move. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Assigns shards to hosts, by name or address, for a type with the strategy `"external"`; undefined: any
   * host. The assignment applies from now on, also to hosts that join later, and survives leader changes.
   * Resolves when it is durable.
   */
  allocate(
    places: Readonly<Record<number, string | undefined>> | ReadonlyMap<number, string | undefined>,
  ): Promise<void>;
}

export interface LocalShards {
  here(type: string): ShardsHere;
  shardOf(type: string, id: string): number;
}

export function appShards(
  of: ActorClass | string,
  host: Pick<Host, "shards" | "steerShards">,
  local: LocalShards,
): AppShards {
  const type = typeof of === "string" ? of : (of?.options?.name ?? of?.name);
  checkType(type);
  return {
    view: () => host.shards(type),
    here: () => local.here(type),
    shardOf: (id) => local.shardOf(type, id),
    async move(shard, to) {
      checkPlace(shard, to);
      await host.steerShards(type, { kind: "move", shard, host: to });
    },
    pause: () => host.steerShards(type, { kind: "pause", paused: true }),
    resume: () => host.steerShards(type, { kind: "pause", paused: false }),
    async allocate(places) {
      await host.steerShards(type, { kind: "allocate", places: readPlaces(places) });
    },
  };
}

/** A shard without an assignment may have null as its host, as in JSON. */
function readPlaces(given: unknown): ShardPlace[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new LimpetError(
      "ARGUMENT_INVALID",
      'places must be an object or a Map from shards to hosts, such as { 7: "beta" }',
    );
  }
  const entries: [unknown, unknown][] = given instanceof Map ? [...given] : Object.entries(given);
  return entries.map(([key, to]) => {
    // Keys of an object are always texts.
    const shard = given instanceof Map || !/^\d{1,9}$/.test(String(key)) ? key : Number(key);
    checkPlace(shard, to ?? "anywhere");
    return { shard: shard as number, host: (to as string | null | undefined) ?? undefined };
  });
}
