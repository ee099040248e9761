// Limpet: calls to running actors without state, in shards and placed by the hash of their id, in turn.
import { join } from "node:path";
import type { App } from "../../src/index.ts";
import type { Make, Running, Settings } from "../case.ts";
import { compareCalls, idsOf } from "../warm-calls.ts";
import { answered, HashPinger, openHost, ShardedPinger, settled, startOtherHost } from "./actors.ts";
import { CALL_RATIO, HASH_CALLS, SHARDED_CALLS } from "./figures.ts";

/** Both share the warm-up. */
const WARM_UPS = 2;

async function measured(app: App, here: boolean, settings: Settings): Promise<Omit<Running, "close">> {
  const { params, warmupMs, durationMs } = settings;
  const count = Number(params.actors);
  // A shard lives nowhere before it was asked for.
  const touch = (id: string) => app.actor(ShardedPinger, id).ping(0);
  const inShards = await idsOf(app, ShardedPinger.name, count, here, touch);
  const sharded = inShards.map((id) => app.actor(ShardedPinger, id));
  const hash = (await idsOf(app, HashPinger.name, count, here)).map((id) => app.actor(HashPinger, id));
  const compare = (ms: number) => compareCalls(sharded, hash, Number(params.inFlight), ms);
  await compare(WARM_UPS * warmupMs);
  return {
    async run() {
      const { one, other, ratio } = await compare(durationMs);
      return { [SHARDED_CALLS]: one, [HASH_CALLS]: other, [CALL_RATIO]: ratio };
    },
  };
}

/** In the process of the caller, which is a cluster of one. */
export const local: Make = async (settings) => {
  const app = await openHost({ store: join(settings.folder, "ours.db") });
  const { run } = await measured(app, true, settings);
  return { run, close: () => app.stop() };
};

/** In another process. */
export const remote: Make = async (settings) => {
  const store = settings.postgres;
  const app = await openHost({ store });
  const other = await startOtherHost({ store });
  await settled(app, 2);
  const { run } = await measured(app, false, settings);
  answered.pings = 0;
  return {
    async run() {
      const rates = await run();
      if (answered.pings > 0) throw new Error(`${answered.pings} calls were answered where they were made`);
      return rates;
    },
    async close() {
      await other.end("SIGTERM");
      await app.stop();
    },
  };
};
