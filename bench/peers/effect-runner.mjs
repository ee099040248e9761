// A runner of Effect Cluster in a process of its own: TCP between runners in its binary serialization, runners and locks
// in PostgreSQL. All other settings are its defaults, unless a case says otherwise.
import { NodeClusterSocket } from "@effect/platform-node";
import { PgClient } from "@effect/sql-pg";
import { Effect, Layer, Logger, ManagedRuntime, Option, Redacted } from "effect";
import { RunnerAddress, Sharding } from "effect/unstable/cluster";
import { freePort } from "../free-port.ts";
import { Live, Pinger } from "./effect-pinger.mjs";

/** `holds(id)` says whether this runner has the lock of the id's shard. */
export async function startRunner({ postgres, config = {} }) {
  const network = NodeClusterSocket.layer({
    storage: "sql",
    serialization: "binary",
    shardingConfig: {
      ...config,
      simulateRemoteSerialization: false,
      runnerAddress: Option.some(RunnerAddress.make("127.0.0.1", await freePort())),
    },
  }).pipe(Layer.provide(PgClient.layer({ url: Redacted.make(postgres) })), Layer.provide(Logger.layer([])));
  const runtime = ManagedRuntime.make(Live.pipe(Layer.provideMerge(network)));
  const clientFor = await runtime.runPromise(Pinger.client);
  const sharding = await runtime.runPromise(Effect.flatMap(Sharding.Sharding, Effect.succeed));
  return {
    runtime,
    clientFor,
    holds: (id) => sharding.hasShardId(sharding.getShardId(id, "default")),
    stop: () => runtime.dispose(),
  };
}
