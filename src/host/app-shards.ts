// The shards of a type, as the code around the actors looks at them and steers them: `app.shards(Cart)`.
import type { ActorClass } from "../actors/routing/remote.ts";
import { LimpetError } from "../kernel/errors.ts";
import { checkType } from "../kernel/names.ts";
import { checkPlace } from "../kernel/shard-place.ts";
import type { Host } from "../ports/host-admin.ts";
import type { ShardPlace, ShardsHere, ShardsView } from "../ports/shard-admin.ts";

export interface AppShards {
  /** Where each lives, how many actors it has, and how they move; from the leader. */
  view(): Promise<ShardsView>;
  /** Those of this process. */
  here(): ShardsHere;
  /** The shard of an actor. This process has to host the type. */
  shardOf(id: string): number;
  /** Has one move to a host, by name or address, now and once. Resolves when that has begun. */
  move(shard: number, host: string): Promise<void>;
  /** None moves for the sake of balance until `resume()`, also when another process leads; those of a host that leaves do. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Says where shards are to live, by name or address of hosts, for a type whose strategy is `"told"`; undefined: wherever. It counts from
   * now on, also for hosts that are not there yet, and for every later leader. Resolves when it is durable.
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

/** A host that is left open may be written as null, as in JSON. */
function readPlaces(given: unknown): ShardPlace[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new LimpetError(
      "ARGUMENT_INVALID",
      'places are an object or a Map from shards to hosts, such as { 7: "beta" }',
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
