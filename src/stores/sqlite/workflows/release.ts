// Releases the tasks of a worker for all workers. No index lists the tasks of a worker, because every step of
// every run would have to maintain it. So the tasks of open runs are read in key order, some at a time. That
// happens when a worker is replaced or leaves.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LEASED, READY } from "../../task-states.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import { LOST_ATTEMPTS } from "./codes.ts";

/** Tasks that one request reads before other requests get their turn. */
const LOOKED_AT = 20_000;

export interface Released {
  /** Tasks that were leased to the worker. */
  readonly released: number;
  /** Released tasks, and tasks that had affinity to it. */
  readonly changed: number;
  /** The last task that was read; there are more behind it. */
  readonly after: number | undefined;
}

export class SqliteWorkflowRelease {
  readonly #end: StatementSync;
  readonly #release: StatementSync;
  readonly #letGo: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // Ranges of the table, in its order.
    this.#end = asArrays(
      `SELECT count(*), max(ref) FROM (SELECT ref FROM workflow_tasks WHERE ref > ? ORDER BY ref LIMIT ${LOOKED_AT})`,
    );
    const inRange = `ref > ?1 AND ref <= ?2 AND +kind IN (SELECT ref FROM workflow_kinds WHERE namespace = ?3)`;
    // Attempts stay, as when a lease ends. Nothing of the former holder counts any more.
    this.#release = db.prepare(
      `UPDATE workflow_tasks SET state = ${READY}, at = ?5, token = NULL, worker = NULL, lost = CASE WHEN ?6 THEN ${LOST_ATTEMPTS} ELSE lost END
       WHERE ${inRange} AND state = ${LEASED} AND worker = ?4`,
    );
    this.#letGo = db.prepare(
      `UPDATE workflow_tasks SET sticky_until = -sticky_until WHERE ${inRange} AND sticky_worker = ?4 AND sticky_until > ?5`,
    );
  }

  /** Releases among the tasks behind `after`, as many as one request may read. */
  release(namespace: string, worker: string, isDead: boolean, after: number, now: number): Released {
    const [looked, last] = this.#end.get(after) as unknown as [number, number | null];
    if (last === null) return { released: 0, changed: 0, after: undefined };
    const range = [after, last, namespace, worker] as const;
    const released = Number(this.#release.run(...range, now, isDead ? 1 : 0).changes);
    const changed = released + Number(this.#letGo.run(...range, now).changes);
    return { released, changed, after: looked < LOOKED_AT ? undefined : last };
  }
}
