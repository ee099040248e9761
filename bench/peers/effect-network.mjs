// Effect Cluster with two runner processes: calls from one to the other, and what callers feel when the other comes and
// goes. Volatile calls: nothing is stored, PostgreSQL holds the runners and the locks of the shards.
import { disturb } from "../cluster/disturbance.ts";
import { OtherProcess } from "../cluster/other-process.ts";
import { until } from "../until.ts";
import { inFlightLoops } from "./effect-pinger.mjs";
import { startRunner } from "./effect-runner.mjs";

const startOther = (parameter) => OtherProcess.start("peers/effect-runner-process.mjs", parameter);

export async function calls({ postgres, durationMs, warmupMs, params }) {
  const candidates = Array.from({ length: 4 * params.actors + 100 }, (_, i) => `pinger-${i}`);
  // They find each other sooner than by default. It makes no difference to calls.
  const parameter = { postgres, config: { refreshAssignmentsInterval: "500 millis" } };
  const [runner, other] = await Promise.all([startRunner(parameter), startOther(parameter)]);
  await until("each shard with one of two runners", () => shared(runner, other, candidates));
  const remote = candidates.filter((id) => !runner.holds(id)).slice(0, params.actors);
  const clients = remote.map((id) => runner.clientFor(id));
  const measure = (ms) => inFlightLoops(runner.runtime, clients, "Ping", params.inFlight, ms);
  await measure(params.warmups * warmupMs);
  return {
    async run() {
      const { rate } = await measure(durationMs);
      if (remote.some(runner.holds)) throw new Error("the calls were not remote");
      return rate;
    },
    async close() {
      await Promise.all([runner.stop(), other.end("SIGTERM")]);
    },
  };
}

/** Both hold some, and nobody's shard is held by nobody. */
async function shared(runner, other, ids) {
  const theirs = await other.ask(ids);
  const ours = ids.map(runner.holds);
  const enough = ids.length / 5;
  const [here, there] = [ours, theirs].map((held) => held.filter(Boolean).length);
  return here > enough && there > enough && ids.every((_, i) => ours[i] !== theirs[i]);
}

/** With the settings it comes with, but for simulated serialization, which is off. */
export async function disturbance({ postgres, quick, params }) {
  const ids = Array.from({ length: params.actors }, (_, i) => `pinger-${i}`);
  const runner = await startRunner({ postgres });
  let other;
  const clients = ids.map((id) => runner.clientFor(id));
  const cluster = {
    async ping(actor) {
      const answer = await runner.runtime.runPromise(clients[actor].Ping({ n: actor }));
      if (answer !== actor + 1) throw new Error(`the answer to ${actor} was ${answer}`);
    },
    owners: async () => ids.map(runner.holds),
    settled: (hosts) => (hosts === 1 ? ids.every(runner.holds) : shared(runner, other, ids)),
    async join() {
      other = await startOther({ postgres });
    },
    end: (signal) => other.end(signal),
  };
  const calmMs = quick ? 500 : 2_000;
  return {
    run: () => disturb(cluster, params.event, { actors: params.actors, everyMs: params.everyMs, calmMs }),
    async close() {
      await other?.end("SIGKILL");
      await runner.stop();
    },
  };
}
