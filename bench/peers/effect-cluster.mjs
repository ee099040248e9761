// Effect Cluster in its best configuration: no simulated serialization, client tracing off, everything in one process
// (volatile calls with nothing stored; persisted calls on PostgreSQL).
// Every answer is checked, and persisted calls are counted again in the database.
import { NodeCrypto } from "@effect/platform-node";
import { PgClient } from "@effect/sql-pg";
import { Effect, Layer, ManagedRuntime, Redacted, Schema } from "effect";
import * as cluster from "effect/unstable/cluster";
import { Rpc } from "effect/unstable/rpc";
import { SqlClient } from "effect/unstable/sql";

const { ClusterSchema, Entity, MessageStorage, RunnerHealth, RunnerStorage, Runners, Sharding, ShardingConfig } =
  cluster;

const ping = { payload: { n: Schema.Number }, success: Schema.Number };
const Pinger = Entity.make("Pinger", [
  Rpc.make("Ping", ping),
  Rpc.make("PingStored", ping).annotate(ClusterSchema.Persisted, true),
])
  .annotateRpcs(ClusterSchema.ClientTracingEnabled, false)
  .annotate(ClusterSchema.ClientTracingEnabled, false);

const answer = ({ payload }) => Effect.sync(() => payload.n + 1);
const Live = Pinger.toLayer(
  Effect.sync(() => Pinger.of({ Ping: answer, PingStored: answer })),
  {
    maxIdleTime: "10 minutes",
  },
);

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

/** A loop that calls one entity after the other until the time is up; `next` hands out entities. */
const loop = (clients, tag, until, tally) =>
  Effect.gen(function* () {
    let n = 0;
    while (performance.now() < until) {
      const client = clients[tally.next++ % clients.length];
      const got = yield* client[tag]({ n });
      if (got !== n + 1) throw new Error(`the answer to ${n} was ${got}`);
      n = got;
      tally.done++;
    }
  });

async function contender({ layer, tag, actors, inFlight, durationMs, warmupMs, verify }) {
  const runtime = ManagedRuntime.make(Live.pipe(Layer.provideMerge(layer)));
  const clientFor = await runtime.runPromise(Pinger.client);
  const ids = Array.from({ length: actors }, (_, i) => `pinger-${i}`);
  await shardsAcquired(runtime, ids);
  const clients = ids.map((id) => clientFor(id));
  let total = 0;
  const measure = async (ms) => {
    const tally = { next: 0, done: 0 };
    const start = performance.now();
    const one = loop(clients, tag, start + ms, tally);
    await runtime.runPromise(
      inFlight === 1 ? one : Effect.all(Array(inFlight).fill(one), { concurrency: "unbounded", discard: true }),
    );
    total += tally.done;
    return tally.done / ((performance.now() - start) / 1000);
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
