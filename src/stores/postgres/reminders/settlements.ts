// Statements that settle claimed rows: one for each kind, for a whole batch. A settlement counts while
// generation and token are the row's. The primary key finds the row and the token is compared there, so no
// plan can start anywhere else.
import type { Settlement } from "../../../ports/store/reminders.ts";
import type { Statement } from "../connection/connections.ts";
import { briefly } from "../connection/while-held.ts";
import { MILLIS } from "./tables.ts";

export type SettlementKind = Settlement["kind"] | "renew" | "rewrite";

/**
 * - `patient`: waits, briefly, for rows that other transactions hold, in the order of generations.
 * - `free`: skips such rows; each row is visited twice.
 */
export type Manner = "patient" | "free";

/**
 * The number of settlements that counted, their generations unless all did, and the namespaces with a row
 * that may be claimed now.
 */
const answer = `
    SELECT count(*), CASE WHEN count(*) < cardinality($1::bigint[]) THEN array_agg(s.generation)::text[] END,
           array_agg(DISTINCT s.free_in) FILTER (WHERE s.free_in IS NOT NULL)
    FROM settled s`;

const clock = `clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    )`;

/** One visit to the primary key for each row. */
const done = (schema: string, rows: string) => `
    WITH settled AS (
      DELETE FROM ${schema}.reminders r WHERE ${rows} RETURNING r.generation, NULL::text AS free_in
    )${answer}`;

const release = (schema: string, rows: string) => `
    WITH settled AS (
      UPDATE ${schema}.reminders r SET leased_until = 0, token = NULL WHERE ${rows}
      RETURNING r.generation, r.namespace AS free_in
    )${answer}`;

const renew = (schema: string, rows: string) => `
    WITH ${clock}, settled AS (
      UPDATE ${schema}.reminders r SET leased_until = (SELECT now FROM clock) + $4::bigint WHERE ${rows}
      RETURNING r.generation, NULL::text AS free_in
    )${answer}`;

/**
 * The value of the current row in an array of the batch. Generations are in order, so the row's place among
 * them is its place in the other arrays.
 */
const own = (array: string, type: string) => `(${array}::${type}[])[width_bucket(r.generation, $1::bigint[])]`;

/**
 * A tick before the row's current one comes too late. The time is indexed, so among all kinds only this one
 * leaves work for vacuum. `$8` is the length of the lease; it is negative when no process keeps the row. Then
 * other processes are notified of it if it is due within `$9`.
 */
const next = (schema: string, rows: string, more = "") => `
    WITH ${clock}, settled AS (
      UPDATE ${schema}.reminders r
      SET (at, due, number, attempt, leased_until, token) = (
        SELECT ($4::bigint[])[p.place], ($5::bigint[])[p.place], ($6::bigint[])[p.place], ($7::bigint[])[p.place],
               CASE WHEN ($8::bigint[])[p.place] < 0 THEN 0 ELSE (SELECT now FROM clock) + ($8::bigint[])[p.place] END,
               CASE WHEN ($8::bigint[])[p.place] < 0 THEN NULL ELSE r.token END
        FROM (SELECT width_bucket(r.generation, $1::bigint[]) AS place OFFSET 0) p)${more}
      WHERE ${rows} AND (${own("$6", "bigint")}, ${own("$7", "bigint")}) >= (r.number, r.attempt)
      RETURNING r.generation,
        CASE WHEN r.token IS NULL AND r.at <= (SELECT now FROM clock) + $9::bigint THEN r.namespace END AS free_in
    )${answer}`;

/**
 * The same, and `$10` is the new data of the rows. It is separate from the frequent statement, which leaves
 * the data alone.
 */
const rewrite = (schema: string, rows: string) => next(schema, rows, `, data = ${own("$10", "text")}`);

const DEAD_ROW = "namespace, type, id, name, generation, at, due, number, attempt, schedule, data, error, died_at";

/** Replaces an earlier dead reminder of the same key. */
export const insertDead = (schema: string, from: string): string => `
      INSERT INTO ${schema}.dead_reminders (${DEAD_ROW}) ${from}
      ON CONFLICT (namespace, type, id, name) DO UPDATE
      SET generation = excluded.generation, at = excluded.at, due = excluded.due, number = excluded.number,
          attempt = excluded.attempt, schedule = excluded.schedule, data = excluded.data, error = excluded.error,
          died_at = excluded.died_at`;

const dead = (schema: string, rows: string) => `
    WITH ${clock}, gone AS (
      DELETE FROM ${schema}.reminders r WHERE ${rows}
      RETURNING r.namespace, r.type, r.id, r.name, r.generation, ${own("$4", "bigint")} AS at, ${own("$5", "bigint")} AS due,
        ${own("$6", "bigint")} AS number, ${own("$7", "bigint")} AS attempt, r.schedule, r.data, ${own("$8", "text")} AS error
    ), buried AS (${insertDead(
      schema,
      `SELECT ${DEAD_ROW.replace("died_at", "(SELECT now FROM clock)")} FROM gone ORDER BY namespace, type, id, name`,
    )}
    ), settled AS (
      SELECT generation, NULL::text AS free_in FROM gone
    )${answer}`;

const KINDS = { done, release, renew, next, rewrite, dead } as const;

/** Tokens are few, so each travels once: `$2` has the tokens, and `$3` the place of each row's token. */
const isHeld = `r.token = ($2::text[])[${own("$3", "bigint")}]`;

/**
 * `$1` has the generations in order, `$2` and `$3` their tokens, and the rest depends on the kind. The
 * statement has no joins: the planner starts a join with the table as long as its statistics report an empty
 * one.
 */
export function settleReminders(schema: string, kind: SettlementKind, manner: Manner): Statement {
  const free = `ARRAY(
        SELECT f.generation FROM ${schema}.reminders f WHERE f.generation = ANY ($1::bigint[]) FOR UPDATE SKIP LOCKED)`;
  const rows = `${briefly} AND ${isHeld} AND r.generation = ANY (${manner === "free" ? free : "$1::bigint[]"})`;
  const name = `limpet_${kind}_reminders${manner === "free" ? "_free" : ""}`;
  return { name, text: KINDS[kind](schema, rows) };
}

/**
 * The rows of a batch that still have their tokens, with their ticks. One visit to the primary key for each.
 */
export const readHeld = (schema: string): Statement => ({
  name: "limpet_read_held_reminders",
  text: `
    SELECT r.generation, r.number, r.attempt FROM ${schema}.reminders r
    WHERE ${isHeld} AND r.generation = ANY ($1::bigint[])`,
});
