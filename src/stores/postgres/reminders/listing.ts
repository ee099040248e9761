// Serves operators: reads one reminder, a page of them, or counts; revives and forgets dead ones. Never on
// the path of a tick.
import { LIMITS } from "../../../kernel/limits.ts";
import type {
  DeadReminder,
  ReminderCounts,
  ReminderKey,
  ReminderQuery,
  StoredReminder,
} from "../../../ports/store/reminders.ts";
import type { Connections, Row, Statement } from "../connection/connections.ts";
import { inQueue, queueOf } from "./queue.ts";
import { MILLIS } from "./tables.ts";
import { ROW } from "./writes.ts";

const COMMON = "namespace, type, id, name, generation, at, due, number, attempt, schedule";
const LIVING = `leased_until, ${MILLIS}`;
const DEAD = "error, died_at";
/** The length of a text is known without reading it. */
const DATA = "data, octet_length(data)";
const NO_DATA = "NULL::text, octet_length(data)";
const KEY = "namespace = $1 AND type = $2 AND id = $3 AND name = $4";

type Data = [data: string | null, bytes: number | null];
type CommonRow = [string, string, string, string, number, number, number, number, number, string, ...Data];
type LivingRow = [...CommonRow, leasedUntil: number, now: number];
type DeadRow = [...CommonRow, error: string, diedAt: number];

export const getReminder = (schema: string): Statement => ({
  name: "limpet_get_reminder",
  text: `SELECT ${COMMON}, ${DATA}, ${LIVING} FROM ${schema}.reminders WHERE ${KEY}`,
});

/**
 * A page is one range of the index on names, read in its order. An id without a type is searched in the whole
 * namespace. The sizes of the rows' data are added up before any of it is read.
 */
export function listReminders(
  schema: string,
  which: "reminders" | "dead_reminders",
  { namespace, type, id, after, limit, isBrief }: ReminderQuery,
): { statement: Statement; values: unknown[] } {
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions = [`namespace = ${bind(namespace)}`];
  let name = `limpet_list_${which}`;
  if (type !== undefined) {
    conditions.push(`type = ${bind(type)}`);
    name += "_type";
  }
  if (id !== undefined) {
    conditions.push(`id = ${bind(id)}`);
    name += "_id";
  }
  if (after !== undefined) {
    conditions.push(`(type, id, name) > (${bind(after.type)}, ${bind(after.id)}, ${bind(after.name)})`);
    name += "_after";
  }
  const page = `SELECT * FROM ${schema}.${which} WHERE ${conditions.join(" AND ")} ORDER BY type, id, name LIMIT ${bind(limit)}`;
  const rest = which === "reminders" ? LIVING : DEAD;
  if (isBrief) name += "_brief";
  const text = isBrief
    ? `SELECT ${COMMON}, ${NO_DATA}, ${rest} FROM (${page}) r`
    : `SELECT ${COMMON}, ${DATA}, ${rest} FROM (
        SELECT r.*, sum(octet_length(r.data)) OVER (ORDER BY r.type, r.id, r.name ROWS UNBOUNDED PRECEDING) AS sum FROM (${page}) r) r
      WHERE coalesce(sum - coalesce(octet_length(data), 0), 0) < ${LIMITS.listBytes} ORDER BY type, id, name`;
  return { statement: { name, text }, values };
}

/**
 * The types of a namespace, found by skipping from one to the next in the index of names. For each type, the
 * rows that are due within `$3` and not leased, up to `$2` over all types.
 */
const dueRows = (schema: string): string => `
    WITH RECURSIVE types AS (
      (SELECT r.type, r.queue FROM ${schema}.reminders r WHERE r.namespace = $1 ORDER BY r.type LIMIT 1)
      UNION ALL
      SELECT n.type, n.queue FROM types t CROSS JOIN LATERAL (
        SELECT r.type, r.queue FROM ${schema}.reminders r WHERE r.namespace = $1 AND r.type > t.type ORDER BY r.type LIMIT 1) n
    ), clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), due AS (
      SELECT FROM types t CROSS JOIN LATERAL (
        SELECT FROM ${schema}.reminders r
        WHERE ${inQueue("$1", "t")} AND r.at < (SELECT now FROM clock) + $3 AND r.leased_until <= (SELECT now FROM clock)
        LIMIT $2) d
      LIMIT $2
    )`;

/** All rows are counted by an index, up to `$2`. */
export const countReminders = (schema: string): Statement => ({
  name: "limpet_count_reminders",
  text: `${dueRows(schema)}
    SELECT (SELECT count(*) FROM (SELECT FROM ${schema}.reminders WHERE namespace = $1 LIMIT $2) r),
           (SELECT count(*) FROM due),
           (SELECT count(*) FROM (SELECT FROM ${schema}.dead_reminders WHERE namespace = $1 LIMIT $2) d)`,
});

export const areDue = (schema: string): Statement => ({
  name: "limpet_are_reminders_due",
  text: `${dueRows(schema)} SELECT EXISTS (SELECT FROM due)`,
});

/** If two requests revive the same reminder, the second waits for the first and finds nothing. */
export const reviveReminder = (schema: string): Statement => ({
  name: "limpet_revive_reminder",
  text: `
    WITH dead AS MATERIALIZED (
      SELECT * FROM ${schema}.dead_reminders WHERE ${KEY} FOR UPDATE
    ), revived AS (
      INSERT INTO ${schema}.reminders (${ROW})
      SELECT nextval('${schema}.reminder_generations'), d.namespace, d.type, d.id, d.name, $5, ${MILLIS}, d.due, d.number, 0,
             d.schedule, d.data, 0, NULL, true
      FROM dead d
      ON CONFLICT (namespace, type, id, name) DO NOTHING
      RETURNING at
    ), gone AS (
      DELETE FROM ${schema}.dead_reminders WHERE ${KEY} AND EXISTS (SELECT FROM revived)
    )
    SELECT at FROM revived`,
});

export const forgetReminder = (schema: string): Statement => ({
  name: "limpet_forget_reminder",
  text: `DELETE FROM ${schema}.dead_reminders WHERE ${KEY} RETURNING true`,
});

export class PostgresReminderListing {
  readonly #connections: Connections;
  readonly #schema: string;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#schema = schema;
  }

  async get(key: ReminderKey): Promise<StoredReminder | undefined> {
    const [row] = await this.#ask(getReminder(this.#schema), keyValues(key));
    return row && storedOf(row);
  }

  async list(query: ReminderQuery): Promise<StoredReminder[]> {
    const { statement, values } = listReminders(this.#schema, "reminders", query);
    return (await this.#ask(statement, values)).map(storedOf);
  }

  async listDead(query: ReminderQuery): Promise<DeadReminder[]> {
    const { statement, values } = listReminders(this.#schema, "dead_reminders", query);
    return (await this.#ask(statement, values)).map(deadOf);
  }

  async count(namespace: string, limit: number): Promise<ReminderCounts> {
    const [row] = await this.#ask(countReminders(this.#schema), [namespace, limit, 0]);
    const [all, overdue, dead] = row as [number, number, number];
    return { all, overdue, dead };
  }

  /** True if a reminder without a lease is due within `withinMs`. */
  async areDue(namespace: string, withinMs: number): Promise<boolean> {
    const [row] = await this.#ask(areDue(this.#schema), [namespace, 1, withinMs]);
    return row?.[0] as boolean;
  }

  async revive(key: ReminderKey): Promise<boolean> {
    const values = [...keyValues(key), queueOf(key.namespace, key.type)];
    const rows = await this.#connections.run(reviveReminder(this.#schema), values, "doubtful");
    return rows.length > 0;
  }

  async forget(key: ReminderKey): Promise<boolean> {
    const rows = await this.#connections.run(forgetReminder(this.#schema), keyValues(key), "doubtful");
    return rows.length > 0;
  }

  #ask(statement: Statement, values: unknown[]): Promise<Row[]> {
    return this.#connections.run(statement, values, "harmless");
  }
}

const keyValues = ({ namespace, type, id, name }: ReminderKey): string[] => [namespace, type, id, name];

function contentOf(row: readonly unknown[]) {
  const [namespace, type, id, name, generation, at, due, number, attempt, schedule, data, bytes] = row as CommonRow;
  const key = { namespace, type, id, name };
  return { key, generation, tick: { at, due, number, attempt }, schedule, data: data ?? undefined, bytes: bytes ?? 0 };
}

function storedOf(row: Row): StoredReminder {
  const [leasedUntil, now] = (row as unknown as LivingRow).slice(-2) as [number, number];
  return { ...contentOf(row), leasedUntil: leasedUntil > now ? leasedUntil : undefined };
}

function deadOf(row: Row): DeadReminder {
  const [error, diedAt] = (row as unknown as DeadRow).slice(-2) as [string, number];
  return { ...contentOf(row), error, diedAt };
}
