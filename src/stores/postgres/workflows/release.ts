// Releases the tasks of a worker for all workers. No index lists the tasks of a worker, because every step of
// every run would have to maintain it. So the statement reads the tasks of open runs in key order, some at a
// time. That happens when a worker is replaced or leaves.
import { LEASED, READY } from "../../task-states.ts";
import type { Connections, Statement } from "../connection/connections.ts";
import { whileHeld } from "../connection/while-held.ts";
import { MILLIS } from "../reminders/tables.ts";
import type { CommitNotifications } from "./commit-notifications.ts";
import { LOST_SO_FAR, STATE_OF_KEY } from "./tables.ts";

/** Tasks that one statement reads. */
const LOOKED_AT = 10_000;

/** Tasks that are leased to the worker, and tasks with affinity to it. */
const isHeld = (row: string, state = `${row}.state`) => `(${state} = ${LEASED} AND ${row}.worker = $2)`;
const isKept = (row: string) => `(${row}.sticky = $2 AND ${row}.sticky_until > (SELECT now FROM clock))`;

/**
 * `$3` is the last task of the portion before. The statement finds rows without locks, and checks the
 * matching ones again under locks. It removes the token, so that nothing of the former holder counts any
 * more. Attempts stay, as when a lease ends.
 */
export const releaseTasks = (schema: string): Statement => ({
  name: "limpet_release_tasks",
  text: `
    WITH clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), looked AS MATERIALIZED (
      SELECT t.ref, t.namespace, t.state, t.worker, t.sticky, t.sticky_until FROM ${schema}.workflow_tasks t
      WHERE t.ref > $3::bigint ORDER BY t.ref LIMIT ${LOOKED_AT}
    ), mine AS MATERIALIZED (
      SELECT t.ref, ${isHeld("t", STATE_OF_KEY)} AS is_held FROM ${schema}.workflow_tasks t
      WHERE t.ref = ANY (ARRAY(SELECT l.ref FROM looked l WHERE l.namespace = $1 AND (${isHeld("l")} OR ${isKept("l")})))
        AND (${isHeld("t", STATE_OF_KEY)} OR ${isKept("t")})
      ORDER BY t.ref FOR UPDATE
    ), released AS (
      UPDATE ${schema}.workflow_tasks t
      SET state = CASE WHEN ${isHeld("t")} THEN ${READY} ELSE t.state END,
          at = CASE WHEN ${isHeld("t")} THEN (SELECT now FROM clock) ELSE t.at END,
          leased_until = CASE WHEN ${isHeld("t")} THEN 0 ELSE t.leased_until END,
          token = CASE WHEN ${isHeld("t")} THEN NULL ELSE t.token END,
          lost = CASE WHEN $4::boolean AND ${isHeld("t")} THEN ${LOST_SO_FAR} ELSE t.lost END,
          sticky_until = CASE WHEN ${isKept("t")} THEN -t.sticky_until ELSE t.sticky_until END
      WHERE t.ref = ANY (ARRAY(SELECT m.ref FROM mine m))
    )
    SELECT (SELECT count(*) FROM mine m WHERE m.is_held), (SELECT count(*) FROM looked), (SELECT max(l.ref) FROM looked l)`,
});

export class PostgresWorkflowRelease {
  readonly #connections: Connections;
  readonly #statement: Statement;
  readonly #heldMs: number;
  readonly #notifications: () => CommitNotifications;

  constructor(connections: Connections, schema: string, heldMs: number, notifications: () => CommitNotifications) {
    this.#connections = connections;
    this.#statement = releaseTasks(schema);
    this.#heldMs = heldMs;
    this.#notifications = notifications;
  }

  /** Returns the number of tasks that were leased to it. */
  async release(namespace: string, worker: string, isDead: boolean): Promise<number> {
    let released = 0;
    for (let after = 0; ; ) {
      const run = () => this.#connections.run(this.#statement, [namespace, worker, after, isDead], "harmless");
      const [row] = await whileHeld(this.#heldMs, run);
      const [held, looked, last] = row as unknown as [number, number, number | null];
      released += held;
      if (looked < LOOKED_AT || last === null) break;
      after = last;
    }
    // Tasks with affinity to the worker may be claimed now, too.
    const notifications = this.#notifications();
    notifications.add(namespace);
    notifications.send();
    return released;
  }
}
