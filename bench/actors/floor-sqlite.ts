// Least cost of a durable turn on SQLite: hand-written SQL in batches on the rows that Limpet writes, one
// prepared statement each, as durable as ours (WAL, synchronous=FULL). Nothing is routed, fenced or kept in
// order.
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Make } from "../case.ts";

interface Table {
  readonly database: DatabaseSync;
  readonly begin: StatementSync;
  readonly commit: StatementSync;
}

const COMMIT_ID = "abcdefghijklmnop";

function open(folder: string): Table {
  const database = new DatabaseSync(join(folder, "floor.db"));
  database.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
     CREATE TABLE actors (
       ref INTEGER PRIMARY KEY, namespace TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
       epoch INTEGER NOT NULL, version INTEGER NOT NULL, owner TEXT NOT NULL, taken_at INTEGER NOT NULL,
       commit_id TEXT, committed_at INTEGER, state TEXT, UNIQUE (namespace, type, id)
     ) STRICT`,
  );
  return { database, begin: database.prepare("BEGIN IMMEDIATE"), commit: database.prepare("COMMIT") };
}

function transaction({ begin, commit }: Table, work: () => void): void {
  begin.run();
  work();
  commit.run();
}

/** Returns a function that writes row number `i`, new or existing, with its state. */
function upsertOf({ database }: Table): (i: number, state: { n: number }) => void {
  const upsert = database.prepare(
    `INSERT INTO actors (namespace, type, id, epoch, version, owner, taken_at, commit_id, committed_at, state)
       VALUES ('default', 'Counter', ?, 1, 1, 'abcdefghijklmnopqrstuv', ?, ?, ?, ?)
       ON CONFLICT (namespace, type, id) DO UPDATE SET
         epoch = epoch + 1, version = version + 1, commit_id = excluded.commit_id, state = excluded.state`,
  );
  return (i, state) => {
    const now = Date.now();
    upsert.run(`counter-${i}`, now, `${COMMIT_ID}${i}`, now, JSON.stringify(state));
  };
}

/** Turns in batches of `batch` over `actors` rows; a batch of one is a turn at a time. */
export const turns: Make = async ({ folder, durationMs, warmupMs, params }) => {
  const table = open(folder);
  const { database } = table;
  const [actors, batch] = [Number(params.actors), Number(params.batch)];
  const states = Array.from({ length: actors }, () => ({ n: 0 }));
  const upsert = upsertOf(table);
  transaction(table, () => states.forEach((state, i) => void upsert(i, state)));
  const update = database.prepare(
    "UPDATE actors SET version = version + 1, commit_id = ?, committed_at = ?, state = ? WHERE ref = ?",
  );
  let next = 0;
  let total = 0;
  const turn = () => {
    const state = states[next]!;
    state.n++;
    next = next + 1 === actors ? 0 : next + 1;
    const ref = next === 0 ? actors : next;
    const { changes } = update.run(`${COMMIT_ID}${total}`, Date.now(), JSON.stringify(state), ref);
    if (changes !== 1) throw new Error(`row ${ref} was not there`);
    total++;
  };
  const measure = (ms: number) => {
    const start = performance.now();
    const before = total;
    do {
      transaction(table, () => {
        for (let i = 0; i < batch; i++) turn();
      });
    } while (performance.now() - start < ms);
    return (total - before) / ((performance.now() - start) / 1000);
  };
  measure(warmupMs);
  return {
    run: async () => measure(durationMs),
    async close() {
      const sum = database
        .prepare("SELECT sum(version - 1) AS v, sum(json_extract(state, '$.n')) AS n FROM actors")
        .get();
      database.close();
      if (sum?.v !== total || sum.n !== total) throw new Error(`${total} turns left ${sum?.v} and ${sum?.n} behind`);
    },
  };
};

/** New rows in batches of `batch`. */
export const activations: Make = async ({ folder, params, quick }) => {
  const table = open(folder);
  const batch = Number(params.batch);
  const upsert = upsertOf(table);
  let total = 0;
  const measure = (actors: number) => {
    const start = performance.now();
    const end = total + actors;
    while (total < end) {
      transaction(table, () => {
        for (const stop = Math.min(total + batch, end); total < stop; total++) upsert(total, { n: 1 });
      });
    }
    return actors / ((performance.now() - start) / 1000);
  };
  measure(2_000);
  return {
    run: async () => measure(Number(quick ? params.quickActors : params.actors)),
    async close() {
      const row = table.database.prepare("SELECT count(*) AS n FROM actors").get();
      table.database.close();
      if (row?.n !== total) throw new Error(`${total} activations left ${row?.n} rows`);
    },
  };
};
