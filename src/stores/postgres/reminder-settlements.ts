// What becomes of claimed rows, as statements: one for each kind, for a whole batch of one token. A settlement counts while generation
// and token are those of the row. The primary key finds the row and the token is compared there, so no plan can begin anywhere else.
import type { Settlement } from "../../ports/reminders.ts";
import type { Statement } from "./connections.ts";
import { MILLIS } from "./reminder-tables.ts";

export type StepKind = Settlement["kind"] | "renew";

/**
 * - `patient`: waits for rows that somebody holds, in the order of generations.
 * - `free`: leaves them out, for which each row is visited twice.
 */
export type Manner = "patient" | "free";

/** How many counted, which ones unless all did, and the namespaces in which somebody may claim one of them now. */
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
      UPDATE ${schema}.reminders r SET leased_until = (SELECT now FROM clock) + $3::bigint WHERE ${rows}
      RETURNING r.generation, NULL::text AS free_in
    )${answer}`;

/**
 * A tick before the one the row has comes too late. The time is in an index, so of all kinds this is the one that leaves work for
 * vacuum. `lease_ms` is negative when nobody keeps the row; then others are told of it if it is due within `$8`.
 */
const next = (schema: string, rows: string) => `
    WITH ${clock}, settled AS (
      UPDATE ${schema}.reminders r
      SET at = i.at, due = i.due, number = i.number, attempt = i.attempt,
          leased_until = CASE WHEN i.lease_ms < 0 THEN 0 ELSE (SELECT now FROM clock) + i.lease_ms END,
          token = CASE WHEN i.lease_ms < 0 THEN NULL ELSE r.token END
      FROM unnest($1::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
        AS i (generation, at, due, number, attempt, lease_ms)
      WHERE ${rows} AND (i.number, i.attempt) >= (r.number, r.attempt)
      RETURNING r.generation,
        CASE WHEN i.lease_ms < 0 AND i.at <= (SELECT now FROM clock) + $8::bigint THEN r.namespace END AS free_in
    )${answer}`;

const DEAD_ROW = "namespace, type, id, name, generation, at, due, number, attempt, schedule, data, error, died_at";

/** Replaces an earlier dead one of the same key. */
export const bury = (schema: string, from: string): string => `
      INSERT INTO ${schema}.dead_reminders (${DEAD_ROW}) ${from}
      ON CONFLICT (namespace, type, id, name) DO UPDATE
      SET generation = excluded.generation, at = excluded.at, due = excluded.due, number = excluded.number,
          attempt = excluded.attempt, schedule = excluded.schedule, data = excluded.data, error = excluded.error,
          died_at = excluded.died_at`;

const dead = (schema: string, rows: string) => `
    WITH ${clock}, gone AS (
      DELETE FROM ${schema}.reminders r USING unnest($1::bigint[], $3::text[]) AS i (generation, error) WHERE ${rows}
      RETURNING r.*, i.error
    ), buried AS (${bury(
      schema,
      `SELECT ${DEAD_ROW.replace("died_at", "(SELECT now FROM clock)")} FROM gone ORDER BY namespace, type, id, name`,
    )}
    ), settled AS (
      SELECT generation, NULL::text AS free_in FROM gone
    )${answer}`;

/** Rows of a batch, for the kinds that say the same of each, and for those that have something to say of each. */
const TOGETHER = "r.token = $2 AND r.generation = ANY ($1::bigint[])";
const EACH = "r.token = $2 AND r.generation = i.generation";

const KINDS = { done, release, renew, next, dead } as const;
const CHOICE = { done: TOGETHER, release: TOGETHER, renew: TOGETHER, next: EACH, dead: EACH } as const;

/** `$1` the generations in order, `$2` the token, and what each kind needs. */
export function settleReminders(schema: string, kind: StepKind, manner: Manner): Statement {
  const free = ` AND r.generation = ANY (ARRAY(
        SELECT f.generation FROM ${schema}.reminders f WHERE f.generation = ANY ($1::bigint[]) FOR UPDATE SKIP LOCKED))`;
  const rows = CHOICE[kind] + (manner === "free" ? free : "");
  const name = `limpet_${kind}_reminders${manner === "free" ? "_free" : ""}`;
  return { name, text: KINDS[kind](schema, rows) };
}

/** Which of a batch are still the token's, and at which tick. One visit to the primary key for each. */
export const readHeld = (schema: string): Statement => ({
  name: "limpet_read_held_reminders",
  text: `
    SELECT r.generation, r.number, r.attempt FROM ${schema}.reminders r
    WHERE r.token = $2 AND r.generation = ANY ($1::bigint[])`,
});
