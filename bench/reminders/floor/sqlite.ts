// Least cost of draining and registering on SQLite, with hand-written SQL on rows like Limpet's.
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Make } from "../../case.ts";
import { type Backlog, makeDrain } from "../drain.ts";
import { Handlers } from "../handlers.ts";
import { ACTORS, idOf, nameOf, planText } from "../ours.ts";
import { openFile } from "./sqlite-table.ts";

const INSERT = `
  INSERT INTO reminders (type_ref, id, name, at, due, number, attempt, leased_until, schedule, data)
  VALUES (1, ?, ?, ?, ?, 1, 0, 0, ?, ?)
  ON CONFLICT (type_ref, id, name) DO UPDATE SET at = excluded.at, due = excluded.due, schedule = excluded.schedule`;

class Table implements Backlog {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.exec("PRAGMA busy_timeout = 10000");
  }

  async load(count: number): Promise<void> {
    const at = Date.now();
    const plan = planText(at);
    const insert = this.#database.prepare(INSERT);
    this.#database.exec("BEGIN IMMEDIATE");
    for (let item = 0; item < count; item++) insert.run(idOf(item, ACTORS), nameOf(item), at, at, plan, `${item}`);
    this.#database.exec("COMMIT");
  }

  async left(): Promise<number> {
    return (this.#database.prepare("SELECT count(*) AS n FROM reminders").get() as { n: number }).n;
  }

  async close(): Promise<void> {
    this.#database.close();
  }
}

export const drain = makeDrain(async ({ folder, params }) => {
  const file = join(folder, "floor.db");
  const backlog = new Table(openFile(file));
  const handlers = await Handlers.start(
    "reminders/floor/sqlite-process.ts",
    { file, batch: 1_000 },
    Number(params.processes),
  );
  return { handlers, backlog };
});

/** As many rows per transaction as there are callers. */
export const register: Make = async ({ folder, durationMs, warmupMs, params }) => {
  const database = openFile(join(folder, "floor.db"));
  const insert = database.prepare(INSERT);
  const inFlight = Number(params.inFlight);
  let next = 0;
  const measure = async (ms: number) => {
    const [start, before] = [performance.now(), next];
    do {
      const at = Date.now() + 3_600_000;
      database.exec("BEGIN IMMEDIATE");
      for (let i = 0; i < inFlight; i++, next++) {
        insert.run(idOf(next, ACTORS), nameOf(next), at, at, planText(at), `${next}`);
      }
      database.exec("COMMIT");
    } while (performance.now() - start < ms);
    return (next - before) / ((performance.now() - start) / 1_000);
  };
  await measure(warmupMs);
  return {
    run: () => measure(durationMs),
    async close() {
      database.close();
    },
  };
};
