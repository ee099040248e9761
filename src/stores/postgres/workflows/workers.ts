// The workers of workflows, and counts of the runs that they have in memory.

import type { StickyCounts, StoredWorker, WorkerRow } from "../../../ports/store/workflows.ts";
import { IDLE, LEASED, READY } from "../../task-states.ts";
import { texts } from "../connection/arrays.ts";
import type { Connections, Statement } from "../connection/connections.ts";
import { MILLIS } from "../reminders/tables.ts";

export const seeWorker = (schema: string): Statement => ({
  name: "limpet_see_worker",
  text: `
    INSERT INTO ${schema}.workflow_workers (seen_at, is_sticky, is_draining, namespace, worker, queue, build, about)
    VALUES (${MILLIS}, $1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (namespace, worker) DO UPDATE
    SET seen_at = excluded.seen_at, is_sticky = excluded.is_sticky, is_draining = excluded.is_draining, queue = excluded.queue,
        build = excluded.build, about = excluded.about`,
});

export const forgetWorker = (schema: string): Statement => ({
  name: "limpet_forget_worker",
  text: `DELETE FROM ${schema}.workflow_workers w WHERE w.namespace = $1 AND w.worker = $2 RETURNING true`,
});

export const listWorkersStatement = (schema: string): Statement => ({
  name: "limpet_list_workers",
  text: `
    SELECT w.worker, w.queue, w.build, w.is_sticky, w.is_draining, w.about, w.seen_at FROM ${schema}.workflow_workers w
    WHERE w.namespace = $1 ORDER BY w.worker`,
});

/** For display: it reads the tasks of all open runs. */
export const countSticky = (schema: string): Statement => ({
  name: "limpet_count_sticky",
  text: `
    SELECT count(*), count(*) FILTER (WHERE t.state = ${READY}), count(*) FILTER (WHERE t.state = ${LEASED}),
           count(*) FILTER (WHERE t.state <> ${IDLE} AND t.sticky = ANY ($2::text[]))
    FROM ${schema}.workflow_tasks t WHERE t.ref > 0 AND t.namespace = $1 AND t.sticky <> '' AND t.sticky_until > ${MILLIS}`,
});

export class PostgresWorkflowWorkers {
  readonly #connections: Connections;
  readonly #schema: string;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#schema = schema;
  }

  async seen({ namespace, worker, queue, build, isSticky, isDraining, about }: WorkerRow): Promise<void> {
    const values = [isSticky, isDraining, namespace, worker, queue, build, about];
    await this.#connections.run(seeWorker(this.#schema), values, "doubtful");
  }

  async forget(namespace: string, worker: string): Promise<boolean> {
    return (await this.#connections.run(forgetWorker(this.#schema), [namespace, worker], "doubtful")).length > 0;
  }

  async list(namespace: string): Promise<StoredWorker[]> {
    const rows = await this.#connections.run(listWorkersStatement(this.#schema), [namespace], "harmless");
    return (rows as unknown as [string, string, string, boolean, boolean, string, number][]).map(
      ([worker, queue, build, isSticky, isDraining, about, seenAt]) => ({
        namespace,
        worker,
        queue,
        build,
        isSticky,
        isDraining,
        about,
        seenAt,
      }),
    );
  }

  async stickiness(namespace: string, owners: readonly string[]): Promise<StickyCounts> {
    const values = [namespace, texts(owners)];
    const [row] = await this.#connections.run(countSticky(this.#schema), values, "harmless");
    const [runs, ready, leased, owned] = row as [number, number, number, number];
    return { runs, ready, leased, owned };
  }
}
