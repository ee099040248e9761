// graphile-worker in its best configurations. Backlogs: a local queue of 500 and completions in batches without delay. Due now: the
// settings it comes with, which are the quickest for single jobs. Due later: the same queue, and a look every 100 ms.
import { Logger, makeWorkerUtils } from "graphile-worker";
import { repeat } from "../load.ts";
import { makeDrain } from "../reminders/drain.ts";
import { Handlers } from "../reminders/handlers.ts";
import { makeDueLater, makeDueNow } from "../reminders/timing.ts";
import { poolOf } from "./graphile-pool.mjs";

const BATCHED = { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const FILE = "peers/graphile-process.mjs";

const open = async (url) => {
  const pgPool = poolOf(url);
  const utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => {}) });
  await utils.migrate();
  return { pgPool, utils };
};

/** All of them become visible with the commit, which also tells the workers. */
const LOAD = `
  SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
    SELECT ROW('sink', json_build_object('item', i), NULL, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
    FROM generate_series(0, $1::int - 1) AS i))`;

export const drain = makeDrain(async ({ postgres, params }) => {
  const { pgPool, utils } = await open(postgres);
  const handlers = await Handlers.start(FILE, { url: postgres, worker: BATCHED }, params.processes);
  const backlog = {
    async load(count) {
      const client = await pgPool.connect();
      await client.query("BEGIN");
      await client.query(LOAD, [count]);
      await client.query("ANALYZE graphile_worker._private_jobs");
      await client.query("COMMIT");
      client.release();
    },
    async left() {
      const { rows } = await pgPool.query("SELECT count(*)::int AS n FROM graphile_worker._private_jobs");
      return rows[0].n;
    },
    async close() {
      await utils.release();
      await pgPool.end();
    },
  };
  return { handlers, backlog };
});

export const register = async ({ postgres, durationMs, warmupMs, params }) => {
  const { pgPool, utils } = await open(postgres);
  let next = 0;
  const set = () => utils.addJob("sink", { item: next++ }, { runAt: new Date(Date.now() + 3_600_000) });
  await repeat(set, params.inFlight, warmupMs);
  return {
    run: async () => (await repeat(set, params.inFlight, durationMs)).rate,
    async close() {
      const { rows } = await pgPool.query("SELECT count(*)::int AS n FROM graphile_worker._private_jobs");
      await utils.release();
      await pgPool.end();
      if (rows[0].n !== next) throw new Error(`${next} were added, and ${rows[0].n} are stored`);
    },
  };
};

const timed =
  (worker) =>
  async ({ postgres }) => {
    const { pgPool, utils } = await open(postgres);
    const handlers = await Handlers.start(FILE, { url: postgres, worker }, 1);
    return {
      handlers,
      set: (item, due) => utils.addJob("sink", { item }, due === undefined ? {} : { runAt: new Date(due) }),
      async close() {
        await handlers.end();
        await utils.release();
        await pgPool.end();
      },
    };
  };

export const now = makeDueNow(timed({ concurrentJobs: 10 }));
export const later = makeDueLater(timed({ ...BATCHED, pollInterval: 100 }));
