// The least a durable turn on SQLite can cost: the same rows written by hand, one prepared statement each, as durable as
// ours (WAL, synchronous=FULL). The rows are known by number and nothing is fenced.
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Make, Running, Settings } from "../case.ts";

interface Table {
  readonly database: DatabaseSync;
  readonly begin: StatementSync;
  readonly commit: StatementSync;
}

function open(folder: string): Table {
  const database = new DatabaseSync(join(folder, "floor.db"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  return { database, begin: database.prepare("BEGIN IMMEDIATE"), commit: database.prepare("COMMIT") };
}

function transaction({ begin, commit }: Table, work: () => void): void {
  begin.run();
  work();
  commit.run();
}

/** Turns in batches of `batch` over `actors` rows; a batch of one is a turn at a time. */
export const turns: Make = async ({ folder, durationMs, warmupMs, params }) => {
  const table = open(folder);
  const { database } = table;
  const [actors, batch] = [Number(params.actors), Number(params.batch)];
  database.exec("CREATE TABLE actors (ref INTEGER PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL)");
  const insert = database.prepare("INSERT INTO actors VALUES (?, 0, ?)");
  transaction(table, () => {
    for (let ref = 0; ref < actors; ref++) insert.run(ref, '{"n":0}');
  });
  const update = database.prepare("UPDATE actors SET version = version + 1, state = ? WHERE ref = ?");
  const states = Array.from({ length: actors }, () => ({ n: 0 }));
  let next = 0;
  let total = 0;
  const measure = (ms: number) => {
    const start = performance.now();
    let done = 0;
    do {
      transaction(table, () => {
        for (let i = 0; i < batch; i++) {
          const state = states[next]!;
          state.n++;
          if (update.run(JSON.stringify(state), next).changes !== 1) throw new Error("a row was not there");
          next = next + 1 === actors ? 0 : next + 1;
        }
      });
      done += batch;
    } while (performance.now() - start < ms);
    total += done;
    return done / ((performance.now() - start) / 1000);
  };
  measure(warmupMs);
  return {
    run: async () => measure(durationMs),
    async close() {
      const sum = database.prepare("SELECT sum(version) AS v, sum(json_extract(state, '$.n')) AS n FROM actors").get();
      database.close();
      if (sum?.v !== total || sum.n !== total) throw new Error(`${total} turns left ${sum?.v} behind`);
    },
  };
};

/** New rows in batches of `batch`, by type and id. */
export const activations: Make = async ({ folder, params, quick }: Settings): Promise<Running> => {
  const table = open(folder);
  const { database } = table;
  const count = Number(quick ? params.quickActors : params.actors);
  database.exec(
    `CREATE TABLE actors (ref INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,
      state TEXT NOT NULL, UNIQUE (type, id))`,
  );
  const upsert = database.prepare(
    `INSERT INTO actors (type, id, version, state) VALUES (?, ?, 1, ?)
      ON CONFLICT (type, id) DO UPDATE SET version = version + 1, state = excluded.state`,
  );
  let total = 0;
  const activate = (first: number, upTo: number) =>
    transaction(table, () => {
      for (let i = first; i < upTo; i++) upsert.run("Counter", `actor-${i}`, JSON.stringify({ n: 1 }));
    });
  const measure = (actors: number) => {
    const start = performance.now();
    const end = total + actors;
    for (; total < end; total = Math.min(total + Number(params.batch), end)) {
      activate(total, Math.min(total + Number(params.batch), end));
    }
    return actors / ((performance.now() - start) / 1000);
  };
  measure(2_000);
  return {
    run: async () => measure(count),
    async close() {
      const row = database.prepare("SELECT count(*) AS n FROM actors").get();
      database.close();
      if (row?.n !== total) throw new Error(`${total} activations left ${row?.n} rows`);
    },
  };
};
