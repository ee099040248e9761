// Claims reminders: one statement leases the rows that are due soon, and returns when more will be due.
import { LIMITS } from "../../../kernel/limits.ts";
import type { Claim, ClaimedReminder, ClaimRequest } from "../../../ports/store/reminders.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Row, Statement } from "../connection/connections.ts";
import { goneOf, type Holders, isOfGone } from "./holders.ts";
import { askedOf, atOrBehind, IN_ORDER, type LowMarks } from "./low-marks.ts";
import { inQueue, queueOf } from "./queue.ts";
import { MILLIS } from "./tables.ts";

/**
 * Leased rows whose end a claim reads to find the next time to claim. They are in the order of their claims.
 */
const LEASES_SEEN = 256;

/** Its lease is over, or the process that holds it is dead. */
const isFree = `(r.leased_until <= (SELECT now FROM clock) OR ${isOfGone})`;
const ofType = inQueue("$1", "a");
const isSoon = `r.at <= (SELECT now FROM clock) + $6`;
const isNear = `${atOrBehind("a")} AND ${isSoon}`;

/**
 * For one type: the index returns the rows in order; each is locked in turn, or skipped if another
 * transaction holds it.
 */
const lockOne = (schema: string) => `locked AS MATERIALIZED (
      SELECT l.* FROM asked a CROSS JOIN LATERAL (
        SELECT r.ctid AS place, r.at, octet_length(r.data) AS bytes FROM ${schema}.reminders r
        WHERE ${ofType} AND ${isNear} AND ${isFree}
        ORDER BY ${IN_ORDER} LIMIT $5 + 1 FOR UPDATE SKIP LOCKED) l
    ), unseen AS MATERIALIZED (
      SELECT false AS are_due
    )`;

/**
 * For several types: the statement finds the earliest rows over all types first and then locks them in order,
 * until there are enough. Locking during the search would lock a whole claim's worth of each type. It reads
 * twice as many rows as requested, because another claim may be about to take the first half. If other claims
 * take all of them, there may be more rows that were not read.
 */
const lockSome = (schema: string) => `near AS MATERIALIZED (
      SELECT n.place, n.at FROM asked a CROSS JOIN LATERAL (
        SELECT r.ctid AS place, r.at FROM ${schema}.reminders r WHERE ${ofType} AND ${isNear} AND ${isFree}
        ORDER BY ${IN_ORDER} LIMIT 2 * $5 + 2) n
      ORDER BY n.at LIMIT 2 * $5 + 2
    ), locked AS MATERIALIZED (
      SELECT l.* FROM near n CROSS JOIN LATERAL (
        SELECT r.ctid AS place, r.at, octet_length(r.data) AS bytes FROM ${schema}.reminders r
        WHERE r.ctid = n.place AND ${isFree} AND ${isSoon} FOR UPDATE SKIP LOCKED) l
      LIMIT $5 + 1
    ), unseen AS MATERIALIZED (
      SELECT count(*) = 2 * $5 + 2 AS are_due FROM near
    )`;

/**
 * Rows are locked before they are leased, so that claims of several processes never wait for each other. One
 * more row than requested is locked, to find out whether there are more. Rows are leased by their place in
 * the table, which cannot change while they are locked. A row that another transaction changed just before is
 * left for the next claim. The arrays prevent joins, so the planner can only visit these places. Data that
 * would make the response huge is left for the next claim, too.
 *
 * The first rows of the result have no generation: one with the clock and whether more is due now, and one
 * for each type. If nothing more is due now, the row of a type has two times: of the next row, and of the
 * first end of a lease among earlier rows. On request it also has the place of the first row of all
 * (low-marks.ts).
 *
 * In a claimed row, a column with its usual value is NULL: decoding a value costs this process more than the
 * server.
 */
export const claimReminders = (schema: string, several: boolean): Statement => ({
  name: several ? "limpet_claim_several" : "limpet_claim",
  text: `
    WITH clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), asked AS MATERIALIZED (
      SELECT a.* FROM ${askedOf("$2", "$3", "$4", "$10")}
    ), ${goneOf("$11")}, ${(several ? lockSome : lockOne)(schema)}, total AS MATERIALIZED (
      SELECT coalesce(sum(l.bytes), 0) <= ${LIMITS.claimBytes} AS fits, count(*) FROM locked l
    ), mine AS MATERIALIZED (
      (SELECT l.place FROM locked l WHERE (SELECT fits FROM total) LIMIT $5)
      UNION ALL
      SELECT l.place FROM (
        SELECT l.place, row_number() OVER w AS number, sum(l.bytes) OVER w - coalesce(l.bytes, 0) AS bytes_before
        FROM locked l WHERE NOT (SELECT fits FROM total) WINDOW w AS (ORDER BY l.at ROWS UNBOUNDED PRECEDING)) l
      WHERE l.number <= $5 AND coalesce(l.bytes_before, 0) <= ${LIMITS.claimBytes}
    ), more AS MATERIALIZED (
      SELECT (SELECT count(*) FROM mine) < t.count OR u.are_due AS is_due FROM total t, unseen u
    ), claimed AS (
      UPDATE ${schema}.reminders r SET leased_until = (SELECT now FROM clock) + $7, token = $8
      WHERE r.ctid = ANY (ARRAY(SELECT m.place FROM mine m))
      RETURNING r.generation, ${several ? "r.type" : "NULL::text"}, r.id, r.name, r.at, nullif(r.due, r.at), nullif(r.number, 1),
                nullif(r.attempt, 0), r.schedule, r.data
    )
    SELECT NULL::bigint, NULL::text, NULL::text, NULL::text, now, (SELECT is_due::int::bigint FROM more), NULL::bigint, NULL::bigint,
           NULL::text, NULL::text
    FROM clock
    UNION ALL
    SELECT NULL, a.type, NULL, NULL, behind.at, leased.until, first.at, first.generation, NULL, NULL
    FROM asked a
    LEFT JOIN LATERAL (
      SELECT r.at, r.generation FROM ${schema}.reminders r
      WHERE $9::boolean AND ${ofType} AND ${atOrBehind("a")} ORDER BY ${IN_ORDER} LIMIT 1
    ) first ON true
    LEFT JOIN LATERAL (
      SELECT r.at FROM ${schema}.reminders r
      WHERE NOT (SELECT is_due FROM more) AND ${ofType} AND r.at > (SELECT now FROM clock) + $6 ORDER BY r.at LIMIT 1
    ) behind ON true
    LEFT JOIN LATERAL (
      SELECT min(l.leased_until) AS until FROM (
        SELECT r.leased_until FROM ${schema}.reminders r
        WHERE NOT (SELECT is_due FROM more) AND ${ofType} AND ${isNear} AND r.leased_until > (SELECT now FROM clock)
        ORDER BY ${IN_ORDER} LIMIT ${LEASES_SEEN}) l
    ) leased ON true
    UNION ALL
    SELECT * FROM claimed`,
});

type ClockRow = [null, null, null, null, now: number, isMore: number];
type TypeRow = [
  null,
  type: string,
  null,
  null,
  behind: number | null,
  until: number | null,
  firstAt: number | null,
  firstGeneration: number | null,
];
type ClaimedRow = [
  generation: number,
  type: string | null,
  id: string,
  name: string,
  at: number,
  due: number | null,
  number: number | null,
  attempt: number | null,
  schedule: string,
  data: string | null,
];

export class PostgresReminderClaims {
  readonly #connections: Connections;
  readonly #lows: LowMarks;
  readonly #one: Statement;
  readonly #several: Statement;
  readonly #holders: Holders | undefined;

  constructor(connections: Connections, schema: string, lows: LowMarks, holders?: Holders) {
    this.#connections = connections;
    this.#holders = holders;
    this.#lows = lows;
    this.#one = claimReminders(schema, false);
    this.#several = claimReminders(schema, true);
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const { namespace, types, limit, aheadMs, leaseMs, token } = request;
    const asked = [...new Set(types)];
    const lows = this.#lows.of(namespace, asked);
    const statement = asked.length > 1 ? this.#several : this.#one;
    const queues = asked.map((type) => queueOf(namespace, type));
    const arrays = [texts(asked), bigints(queues), bigints(lows.marks.map(({ at }) => at))];
    const generations = bigints(lows.marks.map(({ generation }) => generation));
    const values = [namespace, ...arrays, limit, aheadMs, leaseMs, token, lows.areUsed, generations];
    values.push(texts(this.#holders?.gone(request) ?? []));
    // A claim whose response is lost ends with its lease, so it is harmless.
    const rows = await this.#connections.run(statement, values, "harmless");
    const [, , , , now, isMore] = rows[0] as unknown as ClockRow;
    let next = isMore === 1 ? now : Number.POSITIVE_INFINITY;
    for (const row of rows.slice(1, asked.length + 1)) {
      const [, type, , , behind, until, at, generation] = row as unknown as TypeRow;
      next = Math.min(next, (behind ?? Number.POSITIVE_INFINITY) - aheadMs, until ?? Number.POSITIVE_INFINITY);
      const first = at === null || generation === null ? undefined : { at, generation };
      if (lows.areUsed) this.#lows.saw(namespace, type, first, now, lows);
    }
    const reminders = rows.slice(asked.length + 1).map((row) => claimedOf(namespace, asked[0]!, row));
    reminders.sort((a, b) => a.tick.at - b.tick.at || a.generation - b.generation);
    return { now, reminders, next: next === Number.POSITIVE_INFINITY ? undefined : next };
  }
}

/** `only`: the requested type, when there was one. */
function claimedOf(namespace: string, only: string, row: Row): ClaimedReminder {
  const [generation, type, id, name, at, due, number, attempt, schedule, data] = row as unknown as ClaimedRow;
  const key = { namespace, type: type ?? only, id, name };
  const tick = { at, due: due ?? at, number: number ?? 1, attempt: attempt ?? 0 };
  return { generation, key, tick, schedule, data: data ?? undefined };
}
