// Limpet: the same backlog drained twice, in turns: from a table without other rows, and from one with
// millions of rows that are not due, or with dead rows that an old transaction keeps vacuum from removing.
import pg from "pg";
import type { Make } from "../case.ts";
import { drainOnce } from "./drain.ts";
import { BURDEN_RATIO, BURDENED, PLAIN } from "./figures.ts";
import { ACTORS, IN_LARGE_PIECES, startHosts } from "./ours.ts";
import { insertRows, PostgresBacklog } from "./ours-rows.ts";

/** Rows of one INSERT. */
const STEP = 250_000;
const DAY_MS = 86_400_000;

interface Side {
  readonly drain: (count: number) => Promise<number>;
  readonly backlog: PostgresBacklog;
  close(): Promise<void>;
}

/** `spanMs`: the time over which the backlog became due. */
async function open(url: string, spanMs: number): Promise<Side> {
  const handlers = await startHosts({ store: url, ...IN_LARGE_PIECES }, 1);
  const backlog = await PostgresBacklog.open(url, ACTORS, spanMs);
  return {
    backlog,
    drain: (count) => drainOnce(handlers, backlog, count),
    async close() {
      await handlers.end();
      await backlog.close();
    },
  };
}

export const burdened: Make = async ({ postgres, quick, params }) => {
  const other = await createDatabase(postgres);
  const spanMs = Number(params.spanMs);
  const [plain, laden] = [await open(postgres, spanMs), await open(other.url, spanMs)];
  const [count, future] = quick ? [params.quickCount, params.quickFuture] : [params.count, params.future];
  for (const side of [plain, laden]) await side.drain(Number(count));
  const old = params.oldTransaction ? await beginOld(other.url) : undefined;
  const isLoaded = { yet: false };
  return {
    async run() {
      // Here, because it takes longer than a contender may take to start.
      if (!isLoaded.yet) await loadFuture(laden.backlog, Number(future));
      isLoaded.yet = true;
      const turns: [plain: number, laden: number][] = [];
      for (let turn = 0; turn < Number(params.turns); turn++) {
        turns.push([await plain.drain(Number(count)), await laden.drain(Number(count))]);
      }
      const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
      return {
        [PLAIN]: median(turns.map(([one]) => one)),
        [BURDENED]: median(turns.map(([, one]) => one)),
        [BURDEN_RATIO]: median(turns.map(([without, one]) => one / without)),
      };
    },
    async close() {
      await old?.end();
      await plain.close();
      await laden.close();
      await other.drop();
    },
  };
};

async function loadFuture({ client }: PostgresBacklog, count: number): Promise<void> {
  const at = Date.now() + DAY_MS;
  for (let from = 0; from < count; from += STEP) {
    // Their names begin far behind those of the backlog.
    const rows = { count: Math.min(STEP, count - from), from: 1e9 + from, at, apartMs: 100, actors: 100_000 };
    await insertRows(client, rows);
  }
  if (count > 0) await client.query("VACUUM ANALYZE limpet.reminders");
}

/** Sees the rows at its start, so vacuum must not remove any that were alive then. */
async function beginOld(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await client.query("SELECT count(*) FROM limpet.reminders");
  return client;
}

async function createDatabase(beside: string): Promise<{ url: string; drop(): Promise<void> }> {
  const url = new URL(beside);
  const name = `${url.pathname.slice(1)}_laden`;
  const command = async (sql: string) => {
    const client = new pg.Client({ connectionString: beside });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  await command(`CREATE DATABASE ${name}`);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => command(`DROP DATABASE ${name} WITH (FORCE)`) };
}
