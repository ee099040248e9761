// Commits that carry reminders: heads, chunks, settlements and writes in one statement, so that all of them
// apply or none does.
import type { ReminderKey, ReminderWrite, Settlement } from "../../../ports/store/reminders.ts";
import type { Commit } from "../../../ports/store/store.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Statement } from "../connection/connections.ts";
import { briefly } from "../connection/while-held.ts";
import { insertDead } from "./settlements.ts";
import { MILLIS } from "./tables.ts";
import { byKey, keyColumns, keyValues, putRow, ROW, type SetWrite, sameKey, setColumns, setValues } from "./writes.ts";

const DONE = 0;
const NEXT = 1;
const RELEASE = 2;
const DEAD = 3;
const KINDS = { done: DONE, next: NEXT, release: RELEASE, dead: DEAD } as const;

/** Finds the row of each `k` by the index on keys. LIMIT prevents the planner from choosing another join. */
const rowOfKey = (schema: string): string =>
  `CROSS JOIN LATERAL (SELECT r.generation FROM ${schema}.reminders r WHERE ${sameKey("r", "k")} LIMIT 1) r`;

/** Number of the last parameter: the incarnations of this process. */
export const OWNERS_PARAMETER = 37;

/**
 * `lockMine` locks the heads that this process owns, and `writeMine` writes the rows of `mine`. Both come
 * from commit.ts and use `$1` to `$6` and the owners.
 *
 * The statement locks existing rows that are free. It leaves out a commit if another transaction holds its
 * head or one of its reminders. It waits, briefly, only for a new reminder whose key another transaction is
 * inserting.
 *
 * A commit may settle and write the same row, and a statement must not change a row twice. The statement
 * therefore computes first which rows it overwrites, and does not settle them: settling precedes writing, so
 * nothing of the settlement would remain. (A reminder settled as dead is still recorded as dead. A reminder
 * settled as done no longer blocks a write that requires a new key.)
 *
 * `counting` reads the rows again after they are locked, so it sees their current values. A commit that
 * settles a missing reminder, or one that it no longer owns, changes nothing.
 */
export const commitWithReminders = (schema: string, lockMine: string, writeMine: string): Statement => ({
  name: "limpet_commit_with_reminders",
  text: `
    WITH ours AS MATERIALIZED (${lockMine}
    ), clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), ends AS MATERIALIZED (
      SELECT i.* FROM unnest($7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
                             $14::bigint[], $16::text[])
        AS i (ref, generation, token, kind, at, due, number, attempt, error)
      WHERE i.ref = ANY (ARRAY(SELECT o.ref FROM ours o))
    ), cancels AS MATERIALIZED (
      SELECT i.* FROM ${keyColumns(17, "i", "ref")} WHERE i.ref = ANY (ARRAY(SELECT o.ref FROM ours o))
    ), sets AS MATERIALIZED (
      SELECT i.* FROM ${setColumns(22, "ref", "place")} WHERE i.ref = ANY (ARRAY(SELECT o.ref FROM ours o))
    ), there AS MATERIALIZED (
      SELECT k.ref, r.generation, k.is_new, false AS is_cancelled FROM sets k ${rowOfKey(schema)}
      UNION ALL
      SELECT k.ref, r.generation, 0, true FROM cancels k ${rowOfKey(schema)}
    ), claimed AS MATERIALIZED (
      SELECT e.ref, r.generation FROM ends e CROSS JOIN LATERAL (
        SELECT r.generation FROM ${schema}.reminders r WHERE r.generation = e.generation AND r.token = e.token LIMIT 1) r
    ), locked AS MATERIALIZED (
      SELECT r.generation FROM ${schema}.reminders r
      WHERE r.generation = ANY (ARRAY(SELECT c.generation FROM claimed c UNION ALL SELECT t.generation FROM there t))
      FOR UPDATE SKIP LOCKED
    ), held AS MATERIALIZED (
      SELECT s.ref FROM (SELECT c.ref, c.generation FROM claimed c UNION ALL SELECT t.ref, t.generation FROM there t) s
      WHERE s.generation <> ALL (ARRAY(SELECT l.generation FROM locked l))
    ), counting AS MATERIALIZED (
      SELECT e.*, r.namespace, r.type, r.id, r.name, r.schedule, r.data FROM ends e CROSS JOIN LATERAL (
        SELECT r.namespace, r.type, r.id, r.name, r.schedule, r.data
        FROM ${schema}.reminders r
        WHERE r.generation = e.generation AND r.token = e.token
          AND (e.kind <> ${NEXT} OR (e.number, e.attempt) >= (r.number, r.attempt))
        FOR UPDATE) r
      WHERE e.ref <> ALL (ARRAY(SELECT h.ref FROM held h))
    ), voided AS MATERIALIZED (
      SELECT e.ref FROM ends e
      WHERE e.ref <> ALL (ARRAY(SELECT h.ref FROM held h))
        AND e.generation <> ALL (ARRAY(SELECT c.generation FROM counting c))
    ), mine AS MATERIALIZED (
      SELECT o.* FROM ours o
      WHERE o.ref <> ALL (ARRAY(SELECT h.ref FROM held h UNION ALL SELECT v.ref FROM voided v))
    ), settling AS MATERIALIZED (
      SELECT c.* FROM counting c WHERE c.ref = ANY (ARRAY(SELECT m.ref FROM mine m))
    ), ended AS MATERIALIZED (
      SELECT s.generation FROM settling s WHERE s.kind IN (${DONE}, ${DEAD})
    ), overwritten AS MATERIALIZED (
      SELECT t.generation, t.is_cancelled FROM there t
      WHERE t.ref = ANY (ARRAY(SELECT m.ref FROM mine m))
        AND (t.is_new = 0 OR t.generation = ANY (ARRAY(SELECT e.generation FROM ended e)))
    ), ${writeMine}, moved AS (
      UPDATE ${schema}.reminders r
      SET (at, due, number, attempt, leased_until, token) = (
        SELECT CASE p.kind WHEN ${NEXT} THEN ($11::bigint[])[p.place] ELSE r.at END,
               CASE p.kind WHEN ${NEXT} THEN ($12::bigint[])[p.place] ELSE r.due END,
               CASE p.kind WHEN ${NEXT} THEN ($13::bigint[])[p.place] ELSE r.number END,
               CASE p.kind WHEN ${NEXT} THEN ($14::bigint[])[p.place] ELSE r.attempt END,
               CASE WHEN p.lease_ms < 0 THEN 0 ELSE (SELECT now FROM clock) + p.lease_ms END,
               CASE WHEN p.lease_ms < 0 THEN NULL ELSE r.token END
        FROM (SELECT p.place, ($10::bigint[])[p.place] AS kind, ($15::bigint[])[p.place] AS lease_ms
              FROM (SELECT width_bucket(r.generation, $8::bigint[]) AS place OFFSET 0) p OFFSET 0) p)
      WHERE r.generation = ANY (ARRAY(
        SELECT s.generation FROM settling s
        WHERE s.kind IN (${NEXT}, ${RELEASE}) AND s.generation <> ALL (ARRAY(SELECT o.generation FROM overwritten o))))
    ), removed AS (
      DELETE FROM ${schema}.reminders r WHERE r.generation = ANY (ARRAY(
        SELECT e.generation FROM ended e WHERE e.generation <> ALL (ARRAY(SELECT o.generation FROM overwritten o))
        UNION ALL
        SELECT o.generation FROM overwritten o WHERE o.is_cancelled))
    ), buried AS (${insertDead(
      schema,
      `SELECT s.namespace, s.type, s.id, s.name, s.generation, s.at, s.due, s.number, s.attempt, s.schedule, s.data, s.error,
             (SELECT now FROM clock)
      FROM settling s WHERE s.kind = ${DEAD} ORDER BY s.namespace, s.type, s.id, s.name`,
    )}
    ), wanted AS MATERIALIZED (
      SELECT nextval('${schema}.reminder_generations') AS generation, s.* FROM sets s
      WHERE s.ref = ANY (ARRAY(SELECT m.ref FROM mine m))
    ), put AS (
      INSERT INTO ${schema}.reminders AS r (${ROW})
      SELECT s.generation, s.namespace, s.type, s.id, s.name, s.queue, s.at, s.due, s.number,
             s.attempt, s.schedule, s.data, CASE WHEN s.token IS NULL THEN 0 ELSE (SELECT now FROM clock) + s.lease_ms END,
             s.token, CASE s.is_new WHEN 1 THEN NOT coalesce((
               SELECT r.generation = ANY (ARRAY(SELECT e.generation FROM ended e))
               FROM ${schema}.reminders r WHERE ${sameKey("r", "s")}), false) ELSE false END
      FROM wanted s WHERE ${briefly}${putRow}
      RETURNING r.generation
    )
    SELECT count(*), CASE WHEN count(*) < cardinality($1::bigint[]) THEN array_agg(ref)::text[] END, (SELECT now FROM clock),
           (SELECT array_agg(DISTINCT v.ref)::text[] FROM voided v),
           (SELECT array_agg(w.place || ' ' || w.generation) FROM wanted w WHERE w.token IS NOT NULL),
           CASE WHEN (SELECT count(*) FROM put) < (SELECT count(*) FROM wanted) THEN
             (SELECT coalesce(array_agg(p.generation), '{}')::text[] FROM put p) END
    FROM heads`,
});

type AttachedWrite<T extends ReminderWrite = ReminderWrite> = { readonly ref: number; readonly write: T };

/** All reminder writes of the commits, in key order. */
function writesOf(commits: readonly Commit[]): AttachedWrite[] {
  const writes = commits.flatMap(({ ref, reminders }) => (reminders ?? []).map((write) => ({ ref, write })));
  return writes.sort((a, b) => byKey(a.write.key, b.write.key));
}

const isSet = (one: AttachedWrite): one is AttachedWrite<SetWrite> => one.write.kind === "set";

/**
 * Generations of the reminders that were set with a lease. `given` lists places among all set writes.
 * `stands` lists the places that are stored; null means all of them.
 */
export function generationsOf(
  commits: readonly Commit[],
  given: readonly string[],
  stands: readonly string[] | null,
): Map<ReminderWrite, number> {
  const sets = writesOf(commits).filter(isSet);
  const there = stands && new Set(stands);
  const generations = new Map<ReminderWrite, number>();
  for (const pair of given) {
    const [place, generation] = pair.split(" ") as [string, string];
    if (there?.has(generation) !== false) generations.set(sets[Number(place) - 1]!.write, Number(generation));
  }
  return generations;
}

/** `$7` to `$36`. The caller has put commits that touch the same reminder into different rounds. */
export function reminderValues(commits: readonly Commit[]): Buffer[] {
  const ends = commits.flatMap(({ ref, settle }) => (settle ?? []).map((end) => ({ ref, end })));
  ends.sort((a, b) => a.end.generation - b.end.generation);
  const writes = writesOf(commits);
  const cancels = writes.filter(({ write }) => write.kind === "cancel");
  const sets = writes.filter(isSet);
  const tick = (end: Settlement) => ("tick" in end ? end.tick : NO_TICK);
  return [
    bigints(ends.map(({ ref }) => ref)),
    bigints(ends.map(({ end }) => end.generation)),
    texts(ends.map(({ end }) => end.token)),
    bigints(ends.map(({ end }) => KINDS[end.kind])),
    bigints(ends.map(({ end }) => tick(end).at)),
    bigints(ends.map(({ end }) => tick(end).due)),
    bigints(ends.map(({ end }) => tick(end).number)),
    bigints(ends.map(({ end }) => tick(end).attempt)),
    bigints(ends.map(({ end }) => (end.kind === "next" ? (end.leaseMs ?? -1) : -1))),
    texts(ends.map(({ end }) => (end.kind === "dead" ? end.error : undefined))),
    bigints(cancels.map(({ ref }) => ref)),
    ...keyValues(cancels.map(({ write }) => write.key)),
    bigints(sets.map(({ ref }) => ref)),
    ...setValues(sets.map(({ write }) => write)),
  ];
}

const NO_TICK = { at: 0, due: 0, number: 0, attempt: 0 };

export const bringsReminders = ({ settle, reminders }: Commit): boolean =>
  (settle?.length ?? 0) > 0 || (reminders?.length ?? 0) > 0;

/**
 * Splits commits into rounds in which no two touch the same reminder. Two actors rarely write the same
 * reminder at once, so there is nearly always one round.
 */
export function commitRounds<T extends { readonly commit: Commit }>(pending: readonly T[]): T[][] {
  const rounds: { members: T[]; touched: Set<string | number> }[] = [];
  for (const one of pending) {
    const touched = touchedBy(one.commit);
    let round = rounds.find((candidate) => touched.every((name) => !candidate.touched.has(name)));
    if (round === undefined) {
      round = { members: [], touched: new Set() };
      rounds.push(round);
    }
    round.members.push(one);
    for (const name of touched) round.touched.add(name);
  }
  return rounds.map(({ members }) => members);
}

const touchedBy = ({ settle, reminders }: Commit): (string | number)[] => [
  ...(settle ?? []).map(({ generation }) => generation),
  ...(reminders ?? []).map(({ key }) => nameOf(key)),
];

/** The lengths make the name unambiguous. */
const nameOf = ({ namespace, type, id, name }: ReminderKey): string =>
  `${namespace.length}:${type.length}:${id.length}:${namespace}${type}${id}${name}`;
