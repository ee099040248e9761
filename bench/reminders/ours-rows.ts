// Rows of Limpet's reminders, written straight into its tables: any number within seconds, all at the same
// moment.
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { queueOf } from "../../src/stores/postgres/reminders/queue.ts";
import type { Backlog } from "./drain.ts";
import { ACTORS, idOf, nameOf, planText, Sink } from "./ours.ts";

const NAMESPACE = "default";
const QUEUE = queueOf(NAMESPACE, Sink.name);

/** `$1` rows from `$2` on, due at `$3` and then one each `$4` ms; `$5` actors. */
const INSERT = `
  INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id, name,
                                schedule, data)
  SELECT nextval('limpet.reminder_generations'), ${QUEUE}, m.at, m.at, 1, 0, 0, false, '${NAMESPACE}', '${Sink.name}',
         'sink-' || i % $5::bigint, 'reminder-' || i, replace($6, '"first":0', '"first":' || m.at), i::text
  FROM generate_series($2::bigint, $2::bigint + $1::bigint - 1) AS i,
       LATERAL (SELECT $3::bigint + floor((i - $2::bigint) * $4::float8)::bigint AS at) m`;

export interface Rows {
  readonly count: number;
  /** Number of the first one. */
  readonly from: number;
  /** When the first one is due, in milliseconds since 1970. */
  readonly at: number;
  /** Interval between due times, in milliseconds. */
  readonly apartMs: number;
  readonly actors: number;
}

export async function insertRows(client: pg.Client, { count, from, at, apartMs, actors }: Rows): Promise<void> {
  await client.query(INSERT, [count, from, at, apartMs, actors, planText(0)]);
}

/** Notifies all processes with the type. */
const NOTIFY = `SELECT pg_notify('limpet', '{"namespace":"${NAMESPACE}","from":"bench"}')`;

export class PostgresBacklog implements Backlog {
  readonly client: pg.Client;
  readonly #actors: number;
  readonly #spanMs: number;
  /** When the first one was due. */
  #first = 0;

  private constructor(client: pg.Client, actors: number, spanMs: number) {
    this.client = client;
    this.#actors = actors;
    this.#spanMs = spanMs;
  }

  /** `spanMs`: from the due time of the first one until now. */
  static async open(url: string, actors = ACTORS, spanMs = 0): Promise<PostgresBacklog> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return new PostgresBacklog(client, actors, spanMs);
  }

  async load(count: number): Promise<void> {
    await this.client.query("BEGIN");
    const [at, apartMs] = [Date.now() - this.#spanMs, this.#spanMs / count];
    this.#first = at;
    await insertRows(this.client, { count, from: 0, at, apartMs, actors: this.#actors });
    await this.client.query("ANALYZE limpet.reminders");
    await this.client.query(NOTIFY);
    await this.client.query("COMMIT");
  }

  /** Rows that are not due do not count, and rows of earlier backlogs are not read. */
  async left(): Promise<number> {
    const { rows } = await this.client.query<{ n: string }>(
      `SELECT count(*) AS n FROM limpet.reminders WHERE queue = ${QUEUE} AND at >= $1 AND at <= $2`,
      [this.#first, Date.now()],
    );
    return Number(rows[0]!.n);
  }

  close(): Promise<void> {
    return this.client.end();
  }
}

export class SqliteBacklog implements Backlog {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { timeout: 10_000 });
    this.#database.exec("PRAGMA synchronous = FULL");
  }

  async load(count: number): Promise<void> {
    const database = this.#database;
    const at = Date.now();
    database.exec("BEGIN IMMEDIATE");
    const type = database.prepare("INSERT OR IGNORE INTO reminder_types (namespace, type) VALUES (?, ?)");
    type.run(NAMESPACE, Sink.name);
    const { ref } = database
      .prepare("SELECT ref FROM reminder_types WHERE namespace = ? AND type = ?")
      .get(NAMESPACE, Sink.name) as { ref: number };
    const { last } = database.prepare("UPDATE reminder_generations SET last = last + ? RETURNING last").get(count) as {
      last: number;
    };
    const insert = database.prepare(
      `INSERT INTO reminders (generation, type_ref, id, name, at, due, number, attempt, schedule, data, data_bytes)
       VALUES (?, ?, ?, ?, ?, ?, 1, 0, ?, ?, 0)`,
    );
    const plan = planText(at);
    for (let item = 0; item < count; item++) {
      insert.run(last - count + 1 + item, ref, idOf(item, ACTORS), nameOf(item), at, at, plan, `${item}`);
    }
    database.exec("COMMIT");
  }

  async left(): Promise<number> {
    return (this.#database.prepare("SELECT count(*) AS n FROM reminders").get() as { n: number }).n;
  }

  async close(): Promise<void> {
    this.#database.close();
  }
}
