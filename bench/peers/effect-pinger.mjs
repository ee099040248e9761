// The entity that Effect Cluster is measured with, and the loops that call it.
import { Effect, Schema } from "effect";
import { ClusterSchema, Entity } from "effect/unstable/cluster";
import { Rpc } from "effect/unstable/rpc";

const ping = { payload: { n: Schema.Number }, success: Schema.Number };
export const Pinger = Entity.make("Pinger", [
  Rpc.make("Ping", ping),
  Rpc.make("PingStored", ping).annotate(ClusterSchema.Persisted, true),
])
  .annotateRpcs(ClusterSchema.ClientTracingEnabled, false)
  .annotate(ClusterSchema.ClientTracingEnabled, false);

const answer = ({ payload }) => Effect.sync(() => payload.n + 1);
export const Live = Pinger.toLayer(
  Effect.sync(() => Pinger.of({ Ping: answer, PingStored: answer })),
  {
    maxIdleTime: "10 minutes",
  },
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

/** `inFlight` loops at once for `ms`. Returns how many calls were answered, and calls per second. */
export async function inFlightLoops(runtime, clients, tag, inFlight, ms) {
  const tally = { next: 0, done: 0 };
  const start = performance.now();
  const one = loop(clients, tag, start + ms, tally);
  await runtime.runPromise(
    inFlight === 1 ? one : Effect.all(Array(inFlight).fill(one), { concurrency: "unbounded", discard: true }),
  );
  return { done: tally.done, rate: tally.done / ((performance.now() - start) / 1000) };
}
