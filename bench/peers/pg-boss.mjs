// pg-boss in its best configurations. Backlogs: four workers that take 1,000 jobs at a time and fetch again at once while there are
// more. Due now: woken by NOTIFY. Due later: the shortest interval it allows, half a second.
import pg from "pg";
import { PgBoss } from "pg-boss";
import { repeat } from "../load.ts";
import { makeDrain } from "../reminders/drain.ts";
import { Handlers } from "../reminders/handlers.ts";
import { makeDueLater, makeDueNow } from "../reminders/timing.ts";

const FILE = "peers/pg-boss-process.mjs";
const QUEUE = "sink";
const POLL = { pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5 };
const BATCHED = { ...POLL, batchSize: 1_000, localConcurrency: 4, burstWhenBatchFull: true };
const LOAD_STEP = 10_000;

const open = async (url, notify) => {
  const boss = new PgBoss({ connectionString: url, max: 20, supervise: false, schedule: false });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE, { notify });
  return boss;
};

export const drain = makeDrain(async ({ postgres, params }) => {
  const boss = await open(postgres, true);
  const client = new pg.Client({ connectionString: postgres });
  await client.connect();
  const handlers = await Handlers.start(FILE, { url: postgres, work: BATCHED }, params.processes);
  const backlog = {
    async load(count) {
      const db = { executeSql: (text, values) => client.query(text, values) };
      await client.query("BEGIN");
      for (let from = 0; from < count; from += LOAD_STEP) {
        const length = Math.min(LOAD_STEP, count - from);
        const jobs = Array.from({ length }, (_, i) => ({ data: { item: from + i } }));
        await boss.insert(QUEUE, jobs, { db });
      }
      await client.query("ANALYZE pgboss.job");
      await client.query("COMMIT");
    },
    async left() {
      const { rows } = await client.query(
        "SELECT count(*)::int AS n FROM pgboss.job WHERE name = $1 AND state < 'completed'",
        [QUEUE],
      );
      return rows[0].n;
    },
    async close() {
      await client.end();
      await boss.stop();
    },
  };
  return { handlers, backlog };
});

export const register = async ({ postgres, durationMs, warmupMs, params }) => {
  const boss = await open(postgres, false);
  let next = 0;
  const set = () => boss.send(QUEUE, { item: next++ }, { startAfter: new Date(Date.now() + 3_600_000) });
  await repeat(set, params.inFlight, warmupMs);
  return {
    run: async () => (await repeat(set, params.inFlight, durationMs)).rate,
    async close() {
      const { rows } = await boss.getDb().executeSql("SELECT count(*)::int AS n FROM pgboss.job");
      await boss.stop();
      if (rows[0].n !== next) throw new Error(`${next} were sent, and ${rows[0].n} are stored`);
    },
  };
};

const timed =
  (work, notify) =>
  async ({ postgres }) => {
    const boss = await open(postgres, notify);
    const handlers = await Handlers.start(FILE, { url: postgres, work }, 1);
    return {
      handlers,
      set: (item, due) => boss.send(QUEUE, { item }, due === undefined ? {} : { startAfter: new Date(due) }),
      async close() {
        await handlers.end();
        await boss.stop();
      },
    };
  };

export const now = makeDueNow(timed({ ...POLL, localConcurrency: 4 }, true));
export const later = makeDueLater(timed({ ...POLL, batchSize: 1_000, burstWhenBatchFull: true }, false));
