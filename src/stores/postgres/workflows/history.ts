// Reads the history of a run and its inbox.
import type { EventBatch, RunBatches, StoredInboxMessage } from "../../../ports/store/workflows.ts";
import type { Connections, Statement } from "../connection/connections.ts";

/** The most event batches of one result, however small they are. */
const BATCHES = 4_096;

/**
 * The first event batch is in the row of the run. If the whole history fits into the requested size, as its
 * task or its end records, the batches are read in order. For a longer history the statement first adds up
 * sizes, without reading the data, until there is enough; that takes the server as long again. The last row
 * has no data: it reports whether there is more.
 */
export const readBatches = (schema: string): Statement => ({
  name: "limpet_read_pages",
  text: `
    WITH asked AS MATERIALIZED (
      SELECT coalesce((SELECT t.bytes FROM ${schema}.workflow_tasks t WHERE t.ref = $1),
                      (SELECT e.bytes FROM ${schema}.workflow_ends e WHERE e.ref = $1)) <= $3::numeric AS is_all,
             coalesce((SELECT q.first FROM ${schema}.workflow_pages q WHERE q.ref = $1 AND q.first <= $2::bigint + 1
                       ORDER BY q.first DESC LIMIT 1), 0) AS first
    ), sizes AS MATERIALIZED (
      SELECT 1::bigint AS first, r.first_count AS count, octet_length(r.first_page)::bigint AS bytes
      FROM ${schema}.workflow_runs r WHERE r.ref = $1 AND r.first_count > $2::bigint AND NOT (SELECT is_all FROM asked)
      UNION ALL
      SELECT p.* FROM (
        SELECT p.first, p.count, octet_length(p.data)::bigint FROM ${schema}.workflow_pages p
        WHERE NOT (SELECT is_all FROM asked)
          AND p.ref = $1 AND p.first + p.count > $2::bigint + 1 AND p.first >= (SELECT first FROM asked)
        ORDER BY p.first LIMIT ${BATCHES} + 1) p
    ), summed AS MATERIALIZED (
      SELECT s.first, s.count, sum(s.bytes) OVER w <= $3::numeric OR row_number() OVER w = 1 AS fits, row_number() OVER w AS number
      FROM sizes s WINDOW w AS (ORDER BY s.first ROWS UNBOUNDED PRECEDING)
    ), chosen AS MATERIALIZED (
      SELECT min(s.first) AS first, max(s.first) AS last FROM summed s WHERE s.fits AND s.number <= ${BATCHES}
    )
    (SELECT 1::bigint, r.first_count, r.first_page FROM ${schema}.workflow_runs r
     WHERE r.ref = $1 AND ((SELECT first FROM chosen) = 1 OR (r.first_count > $2::bigint AND (SELECT is_all FROM asked))))
    UNION ALL
    (SELECT p.first, p.count, p.data FROM ${schema}.workflow_pages p
     WHERE (SELECT is_all FROM asked)
       AND p.ref = $1 AND p.first + p.count > $2::bigint + 1 AND p.first >= (SELECT first FROM asked)
     ORDER BY p.first LIMIT ${BATCHES} + 1)
    UNION ALL
    (SELECT p.first, p.count, p.data FROM ${schema}.workflow_pages p
     WHERE p.ref = $1 AND p.first >= (SELECT first FROM chosen) AND p.first <= (SELECT last FROM chosen) ORDER BY p.first)
    UNION ALL
    SELECT (SELECT count(*) FROM summed s WHERE NOT s.fits OR s.number > ${BATCHES}), 0, NULL`,
});

export const readInbox = (schema: string): Statement => ({
  name: "limpet_read_inbox",
  text: `
    SELECT b.number, b.key, b.data FROM ${schema}.workflow_inbox b
    WHERE b.ref = $1 AND b.number > $2 AND EXISTS (SELECT FROM ${schema}.workflow_tasks t WHERE t.ref = $1)
    ORDER BY b.number LIMIT $3`,
});

export class WorkflowHistory {
  readonly #connections: Connections;
  readonly #batches: Statement;
  readonly #inbox: Statement;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#batches = readBatches(schema);
    this.#inbox = readInbox(schema);
  }

  async batches(ref: number, after: number, bytes: number): Promise<RunBatches> {
    const rows = await this.#connections.run(this.#batches, [ref, after, bytes], "harmless");
    const batches: (EventBatch & { from: number })[] = [];
    let isCut = false;
    for (const [from, count, data] of rows as unknown as [number, number, string | null][]) {
      if (data === null) isCut = from > 0;
      else batches.push({ from, count, data });
    }
    if (batches.length > BATCHES) {
      batches.length = BATCHES;
      isCut = true;
    }
    return { batches, isCut };
  }

  async inbox(ref: number, after: number, limit: number): Promise<StoredInboxMessage[]> {
    const rows = await this.#connections.run(this.#inbox, [ref, after, limit], "harmless");
    return (rows as unknown as [number, string, string][]).map(([number, key, data]) => ({ number, key, data }));
  }
}
