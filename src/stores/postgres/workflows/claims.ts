// Claims tasks: one statement leases tasks that are ready or whose lease has ended, and returns when there
// will be more.
//
// In the index, the tasks of a pool are in *lanes*: one for tasks that no worker has in memory, and one for
// each worker that has some. A claim reads each lane from its beginning: the worker's own first, then all
// others. From the lane of another living worker it takes only tasks whose affinity has ended.

import type { ClaimedTask, ReplayMode, TaskClaim, TaskClaims } from "../../../ports/store/workflows.ts";
import { IDLE, LEASED, READY } from "../../task-states.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Statement } from "../connection/connections.ts";
import { MILLIS } from "../reminders/tables.ts";
import { poolOf } from "./pools.ts";
import { COLD, FORCED, HIT, LOST_SO_FAR, MODES, own, STATE_OF_KEY } from "./tables.ts";

/**
 * The first tasks of a lane that a claim reads although it may not claim them: to find out when it can, and
 * to skip them from then on. In the lane of another worker a claim reads no more than these. So a long
 * backlog of one worker costs the others next to nothing.
 */
const PASSED = 256;
/** Later tasks of one lane whose leases are read. */
const BEHIND = 16;

const now = "(SELECT now FROM clock)";
const inLane = `t.state <> ${IDLE} AND t.pool = l.pool AND t.sticky = l.sticky`;
const isFree = `(t.state = ${READY} OR t.leased_until <= ${now})`;
/** In the lane of another worker: tasks whose affinity has ended. */
const mayHave = (lane: string) => `(NOT ${lane}.is_held OR t.sticky_until <= ${now})`;
/**
 * The affinity had ended when the task became ready. It is negative if it was ended early. A task that was
 * leased is not new.
 */
const wasOver = `(t.state = ${READY} AND abs(t.sticky_until) <= t.at)`;
/**
 * The index finds tasks by a number; this checks the names behind the number. As a scalar it cannot be
 * joined, and is read by key.
 */
const isOurs = (schema: string) => `(
          SELECT r.namespace = $1 AND r.queue = $2 AND r.type = l.type AND r.build IS NOT DISTINCT FROM l.bound
          FROM ${schema}.workflow_runs r WHERE r.ref = t.ref)`;

/**
 * Implements the rules of src/workflows/matching.md: `is_own` is rule 1, `is_held` is rule 3.
 *
 * Candidates are found first and then locked in order, until there are enough; rows that other transactions
 * hold are skipped. The statement reads twice as many as requested, because another claim may be about to
 * take the first half.
 *
 * If a lease was renewed beyond the time in the index (tables.ts), the claim corrects that time. So
 * the task does not slow down later claims.
 *
 * The first row of the result has no ref: it has the order of the others, the clock, and the time of the next
 * task.
 */
export const claimTasks = (schema: string): Statement => ({
  name: "limpet_claim_tasks",
  text: `
    WITH RECURSIVE clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), asked AS MATERIALIZED (
      SELECT a.* FROM unnest($3::text[], $4::text[], $5::bigint[]) AS a (type, bound, pool)
    ), live AS MATERIALIZED (
      SELECT w.worker, w.seen_at + $11::bigint AS until FROM ${schema}.workflow_workers w
      WHERE w.namespace = $1 AND w.worker <> $7 AND w.is_sticky AND NOT w.is_draining AND w.seen_at > ${now} - $11::bigint
    ), steps AS (
      SELECT a.type, a.bound, a.pool, '' COLLATE "C" AS sticky FROM asked a
      UNION ALL
      SELECT l.type, l.bound, l.pool, n.sticky FROM steps l CROSS JOIN LATERAL (
        SELECT t.sticky FROM ${schema}.workflow_tasks t
        WHERE t.state <> ${IDLE} AND t.pool = l.pool AND t.sticky > l.sticky ORDER BY t.sticky LIMIT 1) n
    ), lanes AS MATERIALIZED (
      SELECT s.*, $10::boolean AND v.until IS NOT NULL AS is_held, v.until, $10::boolean AND s.sticky = $7 AS is_own
      FROM steps s LEFT JOIN LATERAL (SELECT v.until FROM live v WHERE v.worker = s.sticky LIMIT 1) v ON true
    ), near AS MATERIALIZED (
      SELECT n.*, l.is_held FROM lanes l CROSS JOIN LATERAL (
        SELECT t.ref, t.at, l.pool, NOT (l.is_own AND t.sticky_until > ${now}) AS is_cold FROM (
          SELECT t.ref, t.at, t.state, t.leased_until, t.sticky_until FROM ${schema}.workflow_tasks t
          WHERE ${inLane} AND t.at <= ${now} ORDER BY t.at LIMIT CASE WHEN l.is_held THEN ${PASSED} END) t
        WHERE ${isFree} AND ${mayHave("l")} AND ${isOurs(schema)}
        ORDER BY t.at LIMIT 2 * $6::bigint + 2) n
      ORDER BY n.is_cold, n.at, n.ref LIMIT 2 * $6::bigint + 2
    ), locked AS MATERIALIZED (
      SELECT n.ref FROM near n CROSS JOIN LATERAL (
        SELECT FROM ${schema}.workflow_tasks t
        WHERE t.ref = n.ref AND t.pool = n.pool AND ${STATE_OF_KEY} <> ${IDLE} AND t.at <= ${now} AND ${isFree} AND ${mayHave("n")}
        FOR UPDATE SKIP LOCKED) t
      LIMIT $6::bigint + 1
    ), mine AS MATERIALIZED (
      SELECT l.ref FROM locked l LIMIT $6::bigint
    ), more AS MATERIALIZED (
      SELECT (SELECT count(*) FROM locked) > (SELECT count(*) FROM mine) OR (SELECT count(*) FROM near) = 2 * $6::bigint + 2 AS is_ready
    ), passed AS MATERIALIZED (
      SELECT t.ref, t.state, CASE WHEN ${isFree} THEN least(t.sticky_until, l.until) ELSE t.leased_until END AS until
      FROM lanes l CROSS JOIN LATERAL (
        SELECT t.ref, t.state, t.leased_until, t.sticky_until FROM ${schema}.workflow_tasks t
        WHERE ${inLane} AND t.at <= ${now} ORDER BY t.at LIMIT ${PASSED}) t
      WHERE NOT (${isFree} AND ${mayHave("l")})
    ), kept AS MATERIALIZED (
      SELECT t.ref FROM ${schema}.workflow_tasks t
      WHERE t.ref = ANY (ARRAY(SELECT p.ref FROM passed p WHERE p.state = ${LEASED}))
        AND ${STATE_OF_KEY} = ${LEASED} AND t.at <= ${now} AND t.leased_until > ${now}
      FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE ${schema}.workflow_tasks t SET at = t.leased_until WHERE t.ref = ANY (ARRAY(SELECT k.ref FROM kept k))
    ), later AS MATERIALIZED (
      SELECT min(CASE WHEN b.state = ${LEASED} THEN greatest(b.leased_until, b.at) ELSE b.at END) AS at
      FROM lanes l CROSS JOIN LATERAL (
        SELECT t.state, t.at, t.leased_until FROM ${schema}.workflow_tasks t
        WHERE ${inLane} AND t.at > ${now} ORDER BY t.at LIMIT ${BEHIND}) b
    ), claimed AS (
      UPDATE ${schema}.workflow_tasks t
      SET state = ${LEASED}, token = $8, worker = $7, leased_until = ${now} + $9::bigint, at = ${now} + $9::bigint,
          claimed_at = ${now}, attempt = t.attempt + 1, lost = ${LOST_SO_FAR},
          mode = CASE WHEN t.sticky = '' OR ${wasOver} THEN ${COLD} WHEN $10::boolean AND t.sticky = $7 AND t.sticky_until > ${now} THEN ${HIT}
                      ELSE ${FORCED} END
      WHERE t.ref = ANY (ARRAY(SELECT m.ref FROM mine m))
      RETURNING t.ref, t.attempt, t.lost, t.mode, t.last, t.taken, t.arrived
    )
    SELECT NULL::bigint, array_to_string(ARRAY(SELECT m.ref FROM mine m), ','), NULL::text, NULL::text, NULL::integer, NULL::smallint, ${now},
           CASE WHEN (SELECT is_ready FROM more) THEN ${now}
                ELSE least((SELECT min(p.until) FROM passed p), (SELECT at FROM later)) END, NULL::bigint,
           NULL::text, NULL::integer
    UNION ALL
    SELECT c.ref, r.workflow_id, r.run_id, r.type, c.attempt, c.mode, c.last, c.taken, c.arrived, r.build, c.lost
    FROM claimed c CROSS JOIN LATERAL (
      SELECT r.workflow_id, r.run_id, r.type, r.build FROM ${schema}.workflow_runs r WHERE r.ref = c.ref LIMIT 1) r`,
});

/**
 * Pins runs, which moves their tasks into other pools. The tasks are leased already, so no other claim can
 * take them meanwhile; the holder learns of it afterwards. If another process has claimed one since, the
 * statement leaves it alone.
 */
export const bindRuns = (schema: string): Statement => ({
  name: "limpet_bind_runs",
  text: `
    WITH held AS MATERIALIZED (
      SELECT t.ref FROM ${schema}.workflow_tasks t WHERE t.ref = ANY ($1::bigint[]) AND t.token = $4 ORDER BY t.ref FOR UPDATE
    ), bound AS (
      UPDATE ${schema}.workflow_runs r SET build = ${own("$3", "text", "r")} WHERE r.ref = ANY (ARRAY(SELECT h.ref FROM held h))
    )
    UPDATE ${schema}.workflow_tasks t SET pool = ${own("$2", "bigint")} WHERE t.ref = ANY (ARRAY(SELECT h.ref FROM held h))`,
});

type ClockRow = [ref: null, order: string, null, null, null, null, now: number, next: number | null, null, null, null];
type ClaimedRow = [
  ...[number, string, string, string, number, number, number, number, number, pinned: string | null],
  lost: number,
];

export class PostgresWorkflowClaims {
  readonly #connections: Connections;
  readonly #claim: Statement;
  readonly #bind: Statement;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#claim = claimTasks(schema);
    this.#bind = bindRuns(schema);
  }

  async claim(request: TaskClaim): Promise<TaskClaims> {
    const { namespace, queue, types, limit, lease, isSticky, staleMs } = request;
    const pinsByType = new Map(types.map((one) => [one.type, one.pins]));
    const asked = [...pinsByType].flatMap(([type, some]) =>
      some.map(({ pinned }) => ({ namespace, queue, type, pinned })),
    );
    const values = [
      ...[namespace, queue, texts(asked.map(({ type }) => type)), texts(asked.map(({ pinned }) => pinned))],
      ...[bigints(asked.map(poolOf)), limit],
      ...[lease.worker, lease.token, lease.leaseMs, isSticky, staleMs],
    ];
    const rows = await this.#connections.run(this.#claim, values, "harmless");
    const [first, ...claimed] = rows as unknown as [ClockRow, ...ClaimedRow[]];
    const [, order, , , , , clock, next] = first;
    const places = new Map(order.split(",").map((ref, i) => [Number(ref), i]));
    claimed.sort((a, b) => places.get(a[0])! - places.get(b[0])!);
    const tasks = claimed.map((row) => taskOf(row, namespace, lease.token));
    const pins = tasks.map(({ type, pinned }) => pinsByType.get(type)!.find((one) => one.pinned === pinned)!.pins);
    const bind = tasks.flatMap((task, i) => (pins[i] === task.pinned ? [] : [{ ...task, queue, pinned: pins[i] }]));
    if (bind.length > 0) await this.#bindAll(bind, lease.token);
    return { now: clock, tasks: tasks.map((task, i) => ({ ...task, pinned: pins[i] })), next: next ?? undefined };
  }

  async #bindAll(tasks: (ClaimedTask & { readonly queue: string })[], token: string): Promise<void> {
    tasks.sort((a, b) => a.ref - b.ref);
    const refs = bigints(tasks.map(({ ref }) => ref));
    const values = [refs, bigints(tasks.map(poolOf)), texts(tasks.map(({ pinned }) => pinned)), token];
    await this.#connections.run(this.#bind, values, "harmless");
  }
}

/** The task as the claim found it. */
function taskOf(row: ClaimedRow, namespace: string, token: string): ClaimedTask {
  const [ref, workflowId, runId, type, attempt, mode, last, taken, delivered, pinned, lost] = row;
  return {
    namespace,
    workflowId,
    ref,
    runId,
    type,
    token,
    attempt,
    lost,
    mode: MODES[mode] as ReplayMode,
    pinned: pinned ?? undefined,
    last,
    taken,
    delivered,
  };
}
