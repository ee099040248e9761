// The statement that completes one task of many runs: event batches, tasks, ends, and messages that leave the
// inbox.

import type { RunStatus, TaskCompletion } from "../../../ports/store/workflows.ts";
import { IDLE, LEASED, READY } from "../../task-states.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Statement } from "../connection/connections.ts";
import { MILLIS } from "../reminders/tables.ts";
import { own, STATE_OF_KEY, taskPlaceOf } from "./tables.ts";

const KEEP = 0;
const REST = 1;
const CLOSE = 2;
const OUTCOMES = { keep: KEEP, rest: REST, close: CLOSE } as const;

/** The contents of a batch; the statement has no other parts. */
export interface CompletionParts {
  /** Runs end with it. */
  readonly closes: boolean;
  /** Inbox messages were taken. */
  readonly takes: boolean;
}

/**
 * The row still has the state that this step expects. Tokens are few, so each travels once, and `$3` has its
 * place.
 */
const isMine = `${STATE_OF_KEY} = ${LEASED} AND t.last = ${own("$4", "bigint")} AND t.token = ($2::text[])[${own("$3", "bigint")}]`;

/**
 * Rows are found by the primary key, in the order of refs. The new state of a task depends on its row at the
 * time of the write: if the statement waited for a delivery, `arrived` includes it, and the task becomes
 * ready.
 *
 * `sticky` is indexed, and stays unchanged while the same worker goes on; `at` only gets earlier here
 * (workflow-tables.ts).
 */
const step = (schema: string) => `stepped AS (
      UPDATE ${schema}.workflow_tasks t
      SET (last, bytes, cleared, taken, state, at, leased_until, sticky, sticky_until, attempt, problem) = (
        SELECT t.last + n.count, t.bytes + n.bytes, t.taken, n.taken,
               CASE WHEN n.fate = ${KEEP} THEN ${LEASED} WHEN t.arrived > n.taken THEN ${READY} ELSE ${IDLE} END,
               CASE WHEN n.fate = ${KEEP} THEN least(t.at, n.now + n.lease_ms) ELSE n.now END,
               CASE WHEN n.fate = ${KEEP} THEN n.now + n.lease_ms ELSE 0 END,
               CASE WHEN n.worker > 0 THEN ($10::text[])[n.worker] ELSE '' END,
               CASE WHEN n.worker > 0 THEN n.now + ($12::bigint[])[n.place] ELSE 0 END,
               CASE WHEN n.fate = ${KEEP} THEN t.attempt ELSE 0 END,
               CASE WHEN n.fate = ${KEEP} THEN t.problem END
        FROM (SELECT p.place, ($5::bigint[])[p.place] AS count, ($6::bigint[])[p.place] AS bytes,
                     greatest(t.taken, ($7::bigint[])[p.place]) AS taken, ($8::bigint[])[p.place] AS fate,
                     ($9::bigint[])[p.place] AS lease_ms, ($11::bigint[])[p.place] AS worker, (SELECT now FROM clock) AS now
              FROM (SELECT ${taskPlaceOf("t")} AS place OFFSET 0) p OFFSET 0) n)
      WHERE t.ref = ANY ($13::bigint[]) AND ${isMine}
      RETURNING t.ref, t.arrived, t.taken, t.cleared, t.is_watched,
                CASE WHEN t.state = ${READY} AND t.sticky = '' THEN t.namespace END AS free_in
    )`;

const close = (schema: string) => `gone AS (
      DELETE FROM ${schema}.workflow_tasks t WHERE t.ref = ANY ($15::bigint[]) AND ${isMine}
      RETURNING t.ref, t.last, t.bytes, t.arrived, t.is_watched, t.namespace
    ), ended AS (
      INSERT INTO ${schema}.workflow_ends (ref, closed_at, events, bytes, is_watched, namespace, status, token, result)
      SELECT g.ref, (SELECT now FROM clock), g.last + ${own("$5", "bigint", "g")}, g.bytes + ${own("$6", "bigint", "g")},
             g.is_watched, g.namespace, ${own("$16", "text", "g")}, ($2::text[])[${own("$3", "bigint", "g")}], ${own("$17", "text", "g")}
      FROM gone g
    ), emptied AS (
      DELETE FROM ${schema}.workflow_inbox b
      WHERE b.ref = ANY (ARRAY(SELECT g.ref FROM gone g WHERE g.arrived > 0 AND ${own("$16", "text", "g")} <> 'continued'))
    )`;

/** Deletes only the messages that this very step took: the row has the position before it. */
const take = (schema: string) => `received AS (
      DELETE FROM ${schema}.workflow_inbox b
      WHERE b.ref = ANY (ARRAY(SELECT s.ref FROM stepped s WHERE s.taken > s.cleared)) AND b.number <= ${own("$7", "bigint", "b")}
    )`;

/**
 * The result has one row with the number of applied steps, and one for each step with more to report; or one
 * for each applied step, unless all were applied.
 */
export const completeTasks = (schema: string, { closes, takes }: CompletionParts): Statement => ({
  name: `limpet_append${takes ? "_take" : ""}${closes ? "_close" : ""}`,
  text: `
    WITH clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), ${step(schema)}${takes ? `, ${take(schema)}` : ""}${closes ? `, ${close(schema)}` : ""}, done AS (
      SELECT s.ref, s.arrived, s.taken, s.is_watched, s.free_in FROM stepped s${
        closes
          ? `
      UNION ALL
      SELECT g.ref, g.arrived, NULL, g.is_watched, CASE WHEN g.is_watched THEN g.namespace END FROM gone g`
          : ""
      }
    ), counted AS MATERIALIZED (
      SELECT count(*) AS count FROM done
    ), paged AS (
      INSERT INTO ${schema}.workflow_pages (ref, first, count, data)
      SELECT i.ref, i.last + 1, i.count, i.data FROM unnest($1::bigint[], $4::bigint[], $5::bigint[], $14::text[])
        AS i (ref, last, count, data)
      WHERE i.data IS NOT NULL
        AND ((SELECT count FROM counted) = cardinality($1::bigint[]) OR i.ref = ANY (ARRAY(SELECT d.ref FROM done d)))
    )
    SELECT NULL::bigint, count, NULL::boolean, NULL::text FROM counted
    UNION ALL
    SELECT d.ref, d.arrived, d.is_watched, d.free_in FROM done d
    WHERE d.arrived IS DISTINCT FROM d.taken OR d.is_watched OR (SELECT count FROM counted) < cardinality($1::bigint[])`,
});

export type CompletionRow = [ref: number | null, delivered: number, isWatched: boolean, notifiedIn: string | null];

/** In the order of refs. */
export function completionValues(steps: readonly TaskCompletion[], { closes }: CompletionParts): unknown[] {
  const tokens = [...new Set(steps.map(({ token }) => token))];
  const tokenPlaces = new Map(tokens.map((token, i) => [token, i + 1]));
  const workers = [...new Set(steps.flatMap(({ affinity }) => affinity?.worker ?? []))];
  const workerPlaces = new Map(workers.map((worker, i) => [worker, i + 1]));
  const values: unknown[] = [
    bigints(steps.map(({ ref }) => ref)),
    texts(tokens),
    bigints(steps.map(({ token }) => tokenPlaces.get(token)!)),
    bigints(steps.map(({ last }) => last)),
    bigints(steps.map(({ batch }) => batch?.count ?? 0)),
    bigints(steps.map(({ batch }) => (batch === undefined ? 0 : Buffer.byteLength(batch.data)))),
    bigints(steps.map(({ taken }) => taken)),
    bigints(steps.map(({ outcome }) => OUTCOMES[outcome.kind])),
    bigints(steps.map(({ outcome }) => (outcome.kind === "keep" ? outcome.leaseMs : 0))),
    texts(workers),
    bigints(steps.map(({ affinity }) => (affinity === undefined ? 0 : workerPlaces.get(affinity.worker)!))),
    bigints(steps.map(({ affinity }) => affinity?.ms ?? 0)),
    bigints(steps.flatMap(({ ref, outcome }) => (outcome.kind === "close" ? [] : ref))),
    texts(steps.map(({ batch }) => batch?.data)),
  ];
  if (!closes) return values;
  const ends = steps.map(({ outcome }) => (outcome.kind === "close" ? outcome : undefined));
  values.push(
    bigints(steps.flatMap(({ ref, outcome }) => (outcome.kind === "close" ? ref : []))),
    texts(ends.map((end) => end?.status)),
    texts(ends.map((end) => end?.result)),
  );
  return values;
}

/** The current rows of steps that were not applied: of open runs, and of closed ones. */
export const readSteps = (schema: string): Statement => ({
  name: "limpet_read_steps",
  text: `
    SELECT t.ref, t.token, t.last, t.arrived, t.is_watched, t.state, NULL FROM ${schema}.workflow_tasks t
    WHERE t.ref = ANY ($1::bigint[])
    UNION ALL
    SELECT e.ref, e.token, e.events, NULL, e.is_watched, NULL, e.status FROM ${schema}.workflow_ends e WHERE e.ref = ANY ($1::bigint[])`,
});

/** The event batches of the input that are stored in their place with the same data. */
export const findBatches = (schema: string): Statement => ({
  name: "limpet_find_pages",
  text: `
    SELECT i.ref FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS i (ref, first, data)
    CROSS JOIN LATERAL (SELECT p.data FROM ${schema}.workflow_pages p WHERE p.ref = i.ref AND p.first = i.first LIMIT 1) p
    WHERE p.data = i.data`,
});

export type StepRow = [
  ref: number,
  token: string | null,
  last: number,
  /** Null: the run is closed. */
  delivered: number | null,
  isWatched: boolean,
  /** Null: the run is closed. */
  state: number | null,
  /** Null: the run is open. */
  status: RunStatus | null,
];

/** The row is as this step left it: its token, its last event, and the expected state of the task. */
export function isAfter({ token, last, batch, outcome }: TaskCompletion, row: StepRow): boolean {
  const [, holder, reached, , , state, status] = row;
  if (holder !== token || reached !== last + (batch?.count ?? 0)) return false;
  if (outcome.kind === "close") return status === outcome.status;
  return state !== null && (state === LEASED) === (outcome.kind === "keep");
}

/** Replaces attributes and memo; a null leaves the stored value. */
export const rewriteRuns = (schema: string): Statement => ({
  name: "limpet_rewrite_runs",
  text: `
    UPDATE ${schema}.workflow_runs r
    SET (attributes, tags, memo) = (
      SELECT CASE WHEN n.attributes IS NULL THEN r.attributes ELSE n.attributes END,
             CASE WHEN n.attributes IS NULL THEN r.tags ELSE n.tags::text[] END,
             CASE WHEN n.memo IS NULL THEN r.memo ELSE n.memo END
      FROM (SELECT ($2::text[])[p.place] AS attributes, ($3::text[])[p.place] AS tags, ($4::text[])[p.place] AS memo
            FROM (SELECT ${taskPlaceOf("r")} AS place OFFSET 0) p OFFSET 0) n)
    WHERE r.ref = ANY ($1::bigint[])`,
});
