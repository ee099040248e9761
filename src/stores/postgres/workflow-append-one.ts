// A step that travels alone, as a statement. It does what that of a batch does (workflow-appends.ts) in half of the server's time, because
// nothing has to be looked up in arrays: a single run is as fast as its steps follow one another.
import type { Append } from "../../ports/workflows.ts";
import type { Statement } from "./connections.ts";
import { MILLIS } from "./reminder-tables.ts";
import { IDLE, LEASED, READY, STATE_OF_KEY } from "./workflow-tables.ts";

type Fate = Append["fate"]["kind"];

const NOW = "(SELECT now FROM clock)";
const TAKEN = "greatest(t.taken, $7::bigint)";

const IS_MINE = `t.ref = $1::bigint AND ${STATE_OF_KEY} = ${LEASED} AND t.last = $3::bigint AND t.token = $2::text`;

/** What becomes of the task, from its row as it is when it is written. */
const KEEP = `at = least(t.at, ${NOW} + $10::bigint), leased_until = ${NOW} + $10::bigint`;
const REST = `at = ${NOW}, leased_until = 0, attempt = 0, problem = NULL,
          state = CASE WHEN t.arrived > ${TAKEN} THEN ${READY} ELSE ${IDLE} END`;

const step = (schema: string, fate: "keep" | "rest", takes: boolean): string => `done AS (
      UPDATE ${schema}.workflow_tasks t
      SET last = t.last + $4::bigint, bytes = t.bytes + $5::bigint, cleared = t.taken, taken = ${TAKEN},
          sticky = $8::text, sticky_until = CASE WHEN $8::text = '' THEN 0 ELSE ${NOW} + $9::bigint END,
          ${fate === "keep" ? KEEP : REST}
      WHERE ${IS_MINE}
      RETURNING t.ref, t.arrived, t.taken, t.cleared, t.is_watched,
                CASE WHEN t.state = ${READY} AND t.sticky = '' THEN t.namespace END AS told_in
    )${
      takes
        ? `, received AS (
      DELETE FROM ${schema}.workflow_inbox b
      WHERE b.ref = (SELECT d.ref FROM done d WHERE d.taken > d.cleared) AND b.number <= $7::bigint
    )`
        : ""
    }`;

const close = (schema: string): string => `done AS (
      DELETE FROM ${schema}.workflow_tasks t WHERE ${IS_MINE}
      RETURNING t.ref, t.last, t.bytes, t.arrived, t.is_watched, t.namespace,
                CASE WHEN t.is_watched THEN t.namespace END AS told_in
    ), ended AS (
      INSERT INTO ${schema}.workflow_ends (ref, closed_at, events, bytes, is_watched, namespace, status, token, result)
      SELECT d.ref, ${NOW}, d.last + $4::bigint, d.bytes + $5::bigint, d.is_watched, d.namespace, $7::text, $2::text, $8::text
      FROM done d
    ), emptied AS (
      DELETE FROM ${schema}.workflow_inbox b
      WHERE b.ref = (SELECT d.ref FROM done d WHERE d.arrived > 0 AND $7::text <> 'continued')
    )`;

/** It answers with one row if the step was done, and with none if it was not. `takes`: arrivals were taken; a close empties the inbox anyway. */
export const appendOne = (schema: string, fate: Fate, takes: boolean): Statement => ({
  name: `limpet_append_one_${fate}${takes && fate !== "close" ? "_take" : ""}`,
  text: `
    WITH clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), ${fate === "close" ? close(schema) : step(schema, fate, takes)}, paged AS (
      INSERT INTO ${schema}.workflow_pages (ref, first, count, data)
      SELECT d.ref, $3::bigint + 1, $4::bigint, $6::text FROM done d WHERE $6::text IS NOT NULL
    )
    SELECT d.ref, d.arrived, d.is_watched, d.told_in FROM done d`,
});

export function appendOneValues({ ref, token, last, page, taken, fate, affinity }: Append): unknown[] {
  const data = page?.data ?? null;
  const bytes = data === null ? 0 : Buffer.byteLength(data);
  const common = [ref, token, last, page?.count ?? 0, bytes, data];
  if (fate.kind === "close") return [...common, fate.status, fate.result];
  const stays = [...common, taken, affinity?.worker ?? "", affinity?.ms ?? 0];
  return fate.kind === "keep" ? [...stays, fate.leaseMs] : stays;
}
