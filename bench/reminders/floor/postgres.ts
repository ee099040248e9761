// Least cost of draining and registering on PostgreSQL, with hand-written SQL on the rows that Limpet writes.
import type pg from "pg";
import type { Make } from "../../case.ts";
import { type Backlog, makeDrain } from "../drain.ts";
import { Handlers } from "../handlers.ts";
import { ACTORS, idOf, nameOf, planText } from "../ours.ts";
import { openTable } from "./table.ts";

const INSERT = `
  INSERT INTO reminders
  SELECT i, 1, $2::bigint, $2, 1, 0, 0, 'default', 'Sink', 'sink-' || i % ${ACTORS}, 'reminder-' || i, $3, i::text
  FROM generate_series(0, $1::int - 1) AS i`;

class Table implements Backlog {
  readonly #client: pg.Client;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  async load(count: number): Promise<void> {
    const at = Date.now();
    await this.#client.query("BEGIN");
    await this.#client.query(INSERT, [count, at, planText(at)]);
    await this.#client.query("ANALYZE reminders");
    await this.#client.query("COMMIT");
  }

  async left(): Promise<number> {
    const { rows } = await this.#client.query<{ n: string }>("SELECT count(*) AS n FROM reminders");
    return Number(rows[0]!.n);
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

export const drain = makeDrain(async ({ postgres, params }) => {
  const backlog = new Table(await openTable(postgres));
  const file = "reminders/floor/postgres-process.ts";
  const handlers = await Handlers.start(file, { url: postgres, batch: 1_000 }, Number(params.processes));
  return { handlers, backlog };
});

const UPSERT = {
  name: "upsert",
  text: `
    INSERT INTO reminders
    SELECT generation, 1, at, at, 1, 0, 0, 'default', 'Sink', id, name, schedule, data
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
      AS new (generation, at, id, name, schedule, data)
    ON CONFLICT (namespace, type, id, name) DO UPDATE
    SET generation = excluded.generation, at = excluded.at, due = excluded.due, schedule = excluded.schedule, data = excluded.data`,
};

/** As many rows at a time as there are callers, one batch after the other on one connection. */
export const register: Make = async ({ postgres, durationMs, warmupMs, params }) => {
  const client = await openTable(postgres);
  const inFlight = Number(params.inFlight);
  let next = 0;
  const batch = async () => {
    const at = Date.now() + 3_600_000;
    const columns: (string | number)[][] = [[], [], [], [], [], []];
    for (let i = 0; i < inFlight; i++) {
      const item = next++;
      const row = [item, at, idOf(item, ACTORS), nameOf(item), JSON.stringify(planText(at)), item];
      for (const [place, value] of row.entries()) columns[place]!.push(value);
    }
    // The driver would write arrays much slower.
    const { rowCount } = await client.query({ ...UPSERT, values: columns.map((column) => `{${column.join()}}`) });
    if (rowCount !== inFlight) throw new Error(`${rowCount} of ${inFlight} rows were written`);
  };
  const measure = async (ms: number) => {
    const [start, before] = [performance.now(), next];
    do await batch();
    while (performance.now() - start < ms);
    return (next - before) / ((performance.now() - start) / 1_000);
  };
  await measure(warmupMs);
  return { run: () => measure(durationMs), close: () => client.end() };
};
