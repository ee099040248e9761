// Renews and returns leases of tasks, and serves requests about runs from outside: wake, close, watch.

import { NOTIFY_AHEAD_MS } from "../../../ports/store/reminders.ts";
import type { Closing, TaskReturn, WorkflowKey } from "../../../ports/store/workflows.ts";
import { LEASED, READY } from "../../task-states.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Row, Runner, Statement } from "../connection/connections.ts";
import { whileHeld } from "../connection/while-held.ts";
import { MILLIS } from "../reminders/tables.ts";
import { type CommitNotifications, roundsOf } from "./commit-notifications.ts";
import type { InboxDelivery } from "./inbox-messages.ts";
import { own, STATE_OF_KEY } from "./tables.ts";

const clock = `clock AS MATERIALIZED (SELECT ${MILLIS} AS now)`;
/** `$1` has the refs in order, `$2` their tokens. */
const areHeld = `t.ref = ANY ($1::bigint[]) AND ${STATE_OF_KEY} = ${LEASED} AND t.token = ${own("$2", "text")}`;

/** The index stays unchanged, unless a lease becomes shorter (workflow-tables.ts). */
export const renewTasks = (schema: string): Statement => ({
  name: "limpet_renew_tasks",
  text: `
    WITH ${clock}
    UPDATE ${schema}.workflow_tasks t
    SET leased_until = (SELECT now FROM clock) + $3::bigint, at = least(t.at, (SELECT now FROM clock) + $3::bigint)
    WHERE ${areHeld}
    RETURNING t.ref`,
});

/** Removes the token, so that nothing of its former holder counts any more. */
export const returnTasks = (schema: string): Statement => ({
  name: "limpet_return_tasks",
  text: `
    WITH ${clock}
    UPDATE ${schema}.workflow_tasks t
    SET state = ${READY}, at = (SELECT now FROM clock) + ${own("$3", "bigint")}, leased_until = 0, token = NULL,
        problem = coalesce(${own("$4", "text")}, t.problem),
        attempt = CASE WHEN ${own("$4", "text")} IS NULL THEN greatest(t.attempt - 1, 0) ELSE t.attempt END,
        sticky = CASE WHEN ${own("$4", "text")} IS NULL THEN t.sticky ELSE '' END,
        sticky_until = CASE WHEN ${own("$4", "text")} IS NULL THEN t.sticky_until ELSE 0 END
    WHERE ${areHeld}
    RETURNING t.ref, t.namespace`,
});

/** The open run of a workflow is its latest run. */
const latest = (schema: string) => `SELECT r.ref FROM ${schema}.workflow_runs r
      WHERE r.namespace = $1 AND r.workflow_id = $2 ORDER BY r.number DESC LIMIT 1`;

export const wakeTask = (schema: string): Statement => ({
  name: "limpet_wake_task",
  text: `
    WITH ${clock}
    UPDATE ${schema}.workflow_tasks t
    SET at = CASE WHEN t.state = ${LEASED} THEN t.at ELSE least((SELECT now FROM clock), CASE WHEN t.state = ${READY} THEN t.at END) END,
        state = CASE WHEN t.state = ${LEASED} THEN t.state ELSE ${READY} END,
        lost = CASE WHEN $3::boolean AND t.state <> ${LEASED} THEN 0 ELSE t.lost END
    WHERE t.ref = ANY (ARRAY(${latest(schema)}))
    RETURNING t.state`,
});

/** Closing a run waits for a step in progress and applies after it. `$3` may be null. */
export const closeRun = (schema: string): Statement => ({
  name: "limpet_close_run",
  text: `
    WITH ${clock}, found AS MATERIALIZED (
      (SELECT l.ref FROM (${latest(schema)}) l WHERE $3::text IS NULL)
      UNION ALL
      (SELECT r.ref FROM ${schema}.workflow_runs r
       WHERE r.run_id = $3 AND r.namespace IS NOT DISTINCT FROM $1 AND r.workflow_id IS NOT DISTINCT FROM $2 LIMIT 1)
    ), gone AS (
      DELETE FROM ${schema}.workflow_tasks t WHERE t.ref = ANY (ARRAY(SELECT f.ref FROM found f))
      RETURNING t.ref, t.last, t.bytes, t.is_watched, t.namespace, t.arrived > t.taken AS has_messages
    ), paged AS (
      INSERT INTO ${schema}.workflow_pages (ref, first, count, data)
      SELECT g.ref, g.last + 1, $4::bigint, $5 FROM gone g WHERE $4::bigint > 0
    ), ended AS (
      INSERT INTO ${schema}.workflow_ends (ref, closed_at, events, bytes, is_watched, namespace, status, result)
      SELECT g.ref, (SELECT now FROM clock), g.last + $4::bigint, g.bytes + octet_length($5), g.is_watched, g.namespace, $6, $7
      FROM gone g
    ), emptied AS (
      DELETE FROM ${schema}.workflow_inbox b WHERE b.ref = ANY (ARRAY(SELECT g.ref FROM gone g))
    )
    SELECT g.is_watched, g.ref, g.has_messages FROM gone g`,
});

/** Returns a row if the workflow has an open run. */
export const isOpen = (schema: string): Statement => ({
  name: "limpet_is_open",
  text: `SELECT FROM ${schema}.workflow_tasks t WHERE t.ref = ANY (ARRAY(${latest(schema)}))`,
});

/** A run without a task is closed, and a read after this statement sees its end. */
export const watchTasks = (schema: string): Statement => ({
  name: "limpet_watch_tasks",
  text: `
    UPDATE ${schema}.workflow_tasks t SET is_watched = true WHERE t.ref = ANY ($1::bigint[]) AND NOT t.is_watched`,
});

export interface LeaseOptions {
  readonly connections: Connections;
  readonly schema: string;
  /** How long rows that other transactions hold are retried. */
  readonly heldMs: number;
  readonly inbox: InboxDelivery;
  readonly notifications: () => CommitNotifications;
}

export class WorkflowLeases {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #heldMs: number;
  readonly #inbox: InboxDelivery;
  readonly #notifications: () => CommitNotifications;
  readonly #renew: Statement;
  readonly #return: Statement;
  readonly #wake: Statement;
  readonly #close: Statement;
  readonly #watch: Statement;
  readonly #isOpen: Statement;

  constructor({ connections, schema, heldMs, inbox, notifications }: LeaseOptions) {
    this.#connections = connections;
    this.#schema = schema;
    this.#heldMs = heldMs;
    this.#inbox = inbox;
    this.#notifications = notifications;
    this.#renew = renewTasks(schema);
    this.#return = returnTasks(schema);
    this.#wake = wakeTask(schema);
    this.#close = closeRun(schema);
    this.#watch = watchTasks(schema);
    this.#isOpen = isOpen(schema);
  }

  async renew(tasks: readonly { readonly ref: number; readonly token: string }[], leaseMs: number): Promise<number[]> {
    const lost: number[] = [];
    // A holder never has a task twice, but may list it with an earlier token.
    for (const round of roundsOf(tasks, ({ ref }) => `${ref}`)) {
      const rows = await this.#run(this.#renew, [...holders(inOrder(round)), leaseMs]);
      const renewed = new Set(rows.map(([ref]) => ref));
      lost.push(...round.map(({ ref }) => ref).filter((ref) => !renewed.has(ref)));
    }
    return lost;
  }

  async giveBack(batch: readonly TaskReturn[]): Promise<boolean[]> {
    const notifications = this.#notifications();
    const counted = new Set<TaskReturn>();
    for (const round of roundsOf(batch, ({ ref }) => `${ref}`)) {
      const returns = inOrder(round);
      const values = [
        ...holders(returns),
        bigints(returns.map(({ pauseMs }) => pauseMs)),
        texts(returns.map(({ problem }) => problem)),
      ];
      const rows = await this.#run(this.#return, values);
      const namespaces = new Map(rows.map(([ref, namespace]) => [ref as number, namespace as string]));
      for (const one of returns) {
        const namespace = namespaces.get(one.ref);
        if (namespace === undefined) continue;
        counted.add(one);
        if (one.pauseMs <= NOTIFY_AHEAD_MS) notifications.add(namespace);
      }
    }
    notifications.send();
    return batch.map((one) => counted.has(one));
  }

  async wake({ namespace, workflowId }: WorkflowKey, forgives: boolean): Promise<boolean> {
    const wake = () => this.#run(this.#wake, [namespace, workflowId, forgives]);
    const rows = await this.#openOf(namespace, workflowId, wake);
    if (rows[0]?.[0] === READY) {
      const notifications = this.#notifications();
      notifications.add(namespace);
      notifications.send();
    }
    return rows.length > 0;
  }

  async close(closing: Closing): Promise<boolean> {
    const { namespace, workflowId, runId } = closing;
    const close = () => whileHeld(this.#heldMs, () => this.#closeOnce(closing));
    const rows = await (runId === undefined ? this.#openOf(namespace, workflowId, close) : close());
    const late = rows.filter(([, , hasMessages]) => hasMessages === true).map(([, ref]) => ref as number);
    if (late.length > 0) await this.#inbox.emptyEnded(late);
    return rows.length > 0;
  }

  /** Messages to other runs are delivered in the same transaction. */
  async #closeOnce(closing: Closing): Promise<Row[]> {
    const { namespace, workflowId, runId, status, batch, result, reminders, messages } = closing;
    const values = [namespace, workflowId, runId ?? null, batch.count, batch.data, status, result];
    let notifications = this.#notifications();
    const work = async (runner: Runner) => {
      notifications = this.#notifications();
      const done = await runner.run(this.#close, values, "doubtful");
      if (done[0]?.[0] === true) notifications.add(namespace);
      if (done.length === 0) return done;
      await this.#inbox.deliverAll(runner, messages, notifications);
      await notifications.remind(runner, this.#schema, reminders);
      return done;
    };
    const isAlone = messages.length + reminders.length === 0;
    const rows = await (isAlone ? work(this.#connections) : this.#connections.transaction(work));
    notifications.send();
    return rows;
  }

  async watch(refs: readonly number[]): Promise<void> {
    await this.#run(this.#watch, [bigints(refs)]);
  }

  /**
   * The latest run may end while the statement waits for it, and continue as a new run: then the request is
   * for the new run.
   */
  async #openOf(namespace: string, workflowId: string, work: () => Promise<Row[]>): Promise<Row[]> {
    for (;;) {
      const rows = await work();
      if (rows.length > 0) return rows;
      const open = await this.#connections.run(this.#isOpen, [namespace, workflowId], "harmless");
      if (open.length === 0) return rows;
    }
  }

  #run(statement: Statement, values: unknown[]) {
    return whileHeld(this.#heldMs, () => this.#connections.run(statement, values, "doubtful"));
  }
}

const inOrder = <T extends { readonly ref: number }>(tasks: readonly T[]): T[] =>
  tasks.slice().sort((a, b) => a.ref - b.ref);

const holders = (tasks: readonly { readonly ref: number; readonly token: string }[]): Buffer[] => [
  bigints(tasks.map(({ ref }) => ref)),
  texts(tasks.map(({ token }) => token)),
];
