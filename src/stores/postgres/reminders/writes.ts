// Sets and cancels reminders: one statement for a whole batch.
import { invariant } from "../../../kernel/errors.ts";
import type { ReminderKey, ReminderOutcome, ReminderWrite } from "../../../ports/store/reminders.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Runner, Statement } from "../connection/connections.ts";
import { briefly, whileHeld } from "../connection/while-held.ts";
import { queueOf } from "./queue.ts";
import { MILLIS } from "./tables.ts";

export type SetWrite = Extract<ReminderWrite, { kind: "set" }>;

/** Arrays from `$first` on, as rows; with the ref of a commit in front when `ref` is given. */
const rowsOf = (
  first: number,
  ref: string | undefined,
  columns: readonly (readonly [name: string, type: string])[],
) => {
  const all = ref === undefined ? columns : [[ref, "bigint"] as const, ...columns];
  const arrays = all.map(([, type], i) => `$${first + i}::${type}[]`).join(", ");
  return { arrays: `unnest(${arrays})`, names: all.map(([name]) => name).join(", ") };
};

const KEY = ["namespace", "type", "id", "name"].map((name) => [name, "text"] as const);
const TICK = ["at", "due", "number", "attempt"].map((name) => [name, "bigint"] as const);
const REST = [
  ["queue", "bigint"],
  ["schedule", "text"],
  ["data", "text"],
  ["lease_ms", "bigint"],
  ["token", "text"],
  ["is_new", "bigint"],
] as const;

/** With the `place` of each, from 1, when `place` is given. */
export const setColumns = (first: number, ref?: string, place?: string): string => {
  const { arrays, names } = rowsOf(first, ref, [...KEY, ...TICK, ...REST]);
  return place === undefined ? `${arrays} AS i (${names})` : `${arrays} WITH ORDINALITY AS i (${names}, ${place})`;
};

export const setValues = (sets: readonly SetWrite[]): Buffer[] => [
  texts(sets.map(({ key }) => key.namespace)),
  texts(sets.map(({ key }) => key.type)),
  texts(sets.map(({ key }) => key.id)),
  texts(sets.map(({ key }) => key.name)),
  bigints(sets.map(({ tick }) => tick.at)),
  bigints(sets.map(({ tick }) => tick.due)),
  bigints(sets.map(({ tick }) => tick.number)),
  bigints(sets.map(({ tick }) => tick.attempt)),
  bigints(sets.map(({ key }) => queueOf(key.namespace, key.type))),
  texts(sets.map(({ content }) => content.schedule)),
  texts(sets.map(({ content }) => content.data)),
  bigints(sets.map(({ lease }) => lease?.leaseMs ?? 0)),
  texts(sets.map(({ lease }) => lease?.token)),
  bigints(sets.map(({ isNew }) => (isNew ? 1 : 0))),
];

/** Numbered from 1, in their order. */
export const keyColumns = (first: number, alias: string, ref?: string): string => {
  const { arrays, names } = rowsOf(first, ref, KEY);
  return `${arrays} WITH ORDINALITY AS ${alias} (${names}, number)`;
};

export const keyValues = (keys: readonly ReminderKey[]): Buffer[] => [
  texts(keys.map(({ namespace }) => namespace)),
  texts(keys.map(({ type }) => type)),
  texts(keys.map(({ id }) => id)),
  texts(keys.map(({ name }) => name)),
];

export const sameKey = (a: string, b: string): string =>
  ["namespace", "type", "id", "name"].map((word) => `${a}.${word} = ${b}.${word}`).join(" AND ");

/**
 * Inserts a row or replaces the row of its key. A write that requires a new key replaces nothing and returns
 * no row.
 */
export const putRow = `
      ON CONFLICT (namespace, type, id, name) DO UPDATE
      SET generation = excluded.generation, at = excluded.at, due = excluded.due, number = excluded.number,
          attempt = excluded.attempt, schedule = excluded.schedule, data = excluded.data,
          leased_until = excluded.leased_until, token = excluded.token
      WHERE NOT excluded.is_new`;

export const ROW = `generation, namespace, type, id, name, queue, at, due, number, attempt, schedule, data, leased_until, token, is_new`;

const put = (schema: string): string => `put AS (
      INSERT INTO ${schema}.reminders AS r (${ROW})
      SELECT w.generation, w.namespace, w.type, w.id, w.name, w.queue, w.at, w.due, w.number, w.attempt, w.schedule, w.data,
             CASE WHEN w.token IS NULL THEN 0 ELSE c.now + w.lease_ms END, w.token, w.is_new = 1
      FROM ready c, wanted w${putRow}
      RETURNING r.generation
    )`;

/** The clock, the generation of each write in order, and the stored ones unless all were stored. */
const wasSet = `
    SELECT (SELECT now FROM ready),
           (SELECT array_agg(generation)::text[] FROM wanted),
           CASE WHEN (SELECT count(*) FROM put) < cardinality($1::text[]) THEN
             (SELECT coalesce(array_agg(generation), '{}')::text[] FROM put) END`;

/**
 * Sets all reminders of a batch in key order: it locks existing rows and inserts new ones in that order.
 * Unlike the order of generations, key order is the same before and after a row is set. So two batches wait
 * for each other but never deadlock.
 */
export const setReminders = (schema: string): Statement => ({
  name: "limpet_set_reminders",
  text: `
    WITH ready AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), wanted AS MATERIALIZED (
      SELECT nextval('${schema}.reminder_generations') AS generation, i.* FROM ${setColumns(1)}
    ), ${put(schema)}${wasSet}`,
});

/**
 * Sets and cancels. Setting and deleting are two passes, so the statement first locks the existing rows, in
 * the order of all keys. It inserts new rows after that, so it waits only briefly. `$19` marks the keys to
 * cancel. The result marks which of them existed, and which of them are now deleted. A key that existed and
 * is not deleted was set again while the statement waited for it.
 */
export const writeReminders = (schema: string): Statement => ({
  name: "limpet_write_reminders",
  text: `
    WITH wanted AS MATERIALIZED (
      SELECT nextval('${schema}.reminder_generations') AS generation, i.* FROM ${setColumns(1)}
    ), locked AS MATERIALIZED (
      SELECT k.number, r.generation FROM ${keyColumns(15, "k")}
      CROSS JOIN LATERAL (SELECT r.generation FROM ${schema}.reminders r WHERE ${sameKey("r", "k")} FOR UPDATE) r
      WHERE ${briefly}
    ), ready AS MATERIALIZED (
      SELECT ${MILLIS} AS now, (SELECT count(*) FROM locked)
    ), unwanted AS MATERIALIZED (
      SELECT l.number, l.generation FROM ready, locked l WHERE l.number = ANY ($19::bigint[])
    ), ${put(schema)}, dropped AS (
      DELETE FROM ${schema}.reminders r WHERE r.generation = ANY (ARRAY(SELECT u.generation FROM unwanted u))
      RETURNING r.generation
    )${wasSet},
           (SELECT array_agg(u.number)::text[] FROM unwanted u),
           (SELECT array_agg(u.number)::text[] FROM unwanted u
            WHERE u.generation = ANY (ARRAY(SELECT d.generation FROM dropped d)))`,
});

type WrittenRow = [
  now: number,
  given: string[] | null,
  put: string[] | null,
  there?: string[] | null,
  dropped?: string[] | null,
];

export interface Written {
  /** The server's clock. */
  readonly now: number;
  readonly outcomes: ReminderOutcome[];
}

/** A write, and its place in the batch. */
interface Placed<T extends ReminderWrite = ReminderWrite> {
  readonly write: T;
  readonly i: number;
}

export class ReminderWrites {
  readonly #runner: Runner;
  readonly #set: Statement;
  readonly #write: Statement;
  readonly #heldMs: number;

  /** `heldMs`: how long rows that other transactions hold are retried. */
  constructor(runner: Runner, schema: string, heldMs: number) {
    this.#runner = runner;
    this.#set = setReminders(schema);
    this.#write = writeReminders(schema);
    this.#heldMs = heldMs;
  }

  async write(batch: readonly ReminderWrite[]): Promise<Written> {
    const inOrder = batch.map((write, i) => ({ write, i })).sort((a, b) => byKey(a.write.key, b.write.key));
    for (let i = 1; i < inOrder.length; i++) {
      invariant(byKey(inOrder[i - 1]!.write.key, inOrder[i]!.write.key) !== 0, "no reminder is twice in one batch");
    }
    const outcomes: ReminderOutcome[] = batch.map(() => ({ kind: "exists" }));
    const { now, contested } = await this.#once(inOrder, outcomes);
    // These keys were set again meanwhile, and the cancel comes after that.
    for (let left = contested; left.length > 0; ) left = (await this.#once(left, outcomes)).contested;
    return { now, outcomes };
  }

  async #once(writes: readonly Placed[], outcomes: ReminderOutcome[]) {
    const sets = writes.filter((one): one is Placed<SetWrite> => one.write.kind === "set");
    const values = setValues(sets.map(({ write }) => write));
    const cancels = writes.flatMap(({ write, i }, place) =>
      write.kind === "cancel" ? [{ i, number: place + 1 }] : [],
    );
    if (cancels.length > 0) {
      values.push(...keyValues(writes.map(({ write }) => write.key)), bigints(cancels.map(({ number }) => number)));
    }
    const statement = cancels.length > 0 ? this.#write : this.#set;
    const [row] = await whileHeld(this.#heldMs, () => this.#runner.run(statement, values, "doubtful"));
    const [now, given, put, there, dropped] = row as unknown as WrittenRow;
    const stands = put && new Set(put);
    for (const [place, { i }] of sets.entries()) {
      const generation = given![place]!;
      if (stands?.has(generation) !== false) outcomes[i] = { kind: "set", generation: Number(generation) };
    }
    const [existed, gone] = [new Set(there), new Set(dropped)];
    for (const { i, number } of cancels) {
      const before = outcomes[i];
      const wasThere = before?.kind === "cancelled" && before.existed;
      outcomes[i] = { kind: "cancelled", existed: wasThere || existed.has(`${number}`) };
    }
    const isContested = (number: number) => existed.has(`${number}`) && !gone.has(`${number}`);
    return { now, contested: writes.filter((_, place) => isContested(place + 1)) };
  }
}

/** Any order suffices that is the same in every process. */
export function byKey(a: ReminderKey, b: ReminderKey): number {
  return compare(a.id, b.id) || compare(a.name, b.name) || compare(a.type, b.type) || compare(a.namespace, b.namespace);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
