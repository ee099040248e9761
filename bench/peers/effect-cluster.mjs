// Effect Cluster in its best configuration: no simulated serialization, client tracing off, everything in one process
// (volatile calls with nothing stored; persisted calls on PostgreSQL).
// Every answer is checked, and persisted calls are counted again in the database.
import { NodeCrypto } from "@effect/platform-node";
import { PgClient } from "@effect/sql-pg";
import { Effect, Layer, ManagedRuntime, Redacted } from "effect";
import * as cluster from "effect/unstable/cluster";
import { SqlClient } from "effect/unstable/sql";
import { inFlightLoops, Live, Pinger } from "./effect-pinger.mjs";

const { MessageStorage, RunnerHealth, RunnerStorage, Runners, Sharding, ShardingConfig } = cluster;

const config = { simulateRemoteSerialization: false };

const inMemory = () =>
  Sharding.layer.pipe(
    Layer.provideMerge(Runners.layerNoop),
    Layer.provideMerge(MessageStorage.layerMemory),
    Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
    Layer.provide(ShardingConfig.layer(config)),
  );

const onPostgres = (url) =>
  cluster.SingleRunner.layer({ runnerStorage: "memory", shardingConfig: config }).pipe(
    Layer.provide(NodeCrypto.layer),
    Layer.provideMerge(PgClient.layer({ url: Redacted.make(url) })),
  );

async function contender({ layer, tag, actors, inFlight, durationMs, warmupMs, verify }) {
  const runtime = ManagedRuntime.make(Live.pipe(Layer.provideMerge(layer)));
  const clientFor = await runtime.runPromise(Pinger.client);
  const ids = Array.from({ length: actors }, (_, i) => `pinger-${i}`);
  await shardsAcquired(runtime, ids);
  const clients = ids.map((id) => clientFor(id));
  let total = 0;
  const measure = async (ms) => {
    const { done, rate } = await inFlightLoops(runtime, clients, tag, inFlight, ms);
    total += done;
    return rate;
  };
  await measure(warmupMs);
  return {
    async run() {
      const rate = await measure(durationMs);
      await verify?.(runtime, total);
      return rate;
    },
    close: () => runtime.dispose(),
  };
}

/** A call sent before its shard is acquired would wait for the next poll of the storage, ten seconds later. */
async function shardsAcquired(runtime, ids) {
  const sharding = await runtime.runPromise(Effect.flatMap(Sharding.Sharding, Effect.succeed));
  for (let attempt = 0; attempt < 1_000; attempt++) {
    if (ids.every((id) => sharding.hasShardId(sharding.getShardId(id, "default")))) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("the shards were not acquired");
}

async function countReplies(runtime, expected) {
  const rows = await runtime.runPromise(
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT count(*)::int AS n FROM cluster_messages WHERE processed`),
  );
  if (rows[0].n !== expected) throw new Error(`${expected} calls were answered, but ${rows[0].n} are stored`);
}

export const calls = ({ durationMs, warmupMs, params }) =>
  contender({ layer: inMemory(), tag: "Ping", actors: params.actors, inFlight: params.inFlight, durationMs, warmupMs });

export const persistedCalls = ({ durationMs, warmupMs, postgres, params }) =>
  contender({
    layer: onPostgres(postgres),
    tag: "PingStored",
    actors: params.actors,
    inFlight: params.inFlight,
    durationMs,
    warmupMs,
    verify: countReplies,
  });
