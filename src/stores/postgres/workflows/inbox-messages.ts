// Delivers messages to the inboxes of runs: one statement for a whole batch.

import { setTimeout as pause } from "node:timers/promises";
import { backoffMs } from "../../../kernel/backoff.ts";
import type { DeliveryOutcome, InboxMessage, RunStatus } from "../../../ports/store/workflows.ts";
import { IDLE, READY } from "../../task-states.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Runner, Statement } from "../connection/connections.ts";
import { asAmbiguous, StoreFault } from "../connection/faults.ts";
import { whileHeld } from "../connection/while-held.ts";
import { MILLIS } from "../reminders/tables.ts";
import type { CommitNotifications } from "./commit-notifications.ts";
import { own, STATE_OF_KEY } from "./tables.ts";

/** The run that each of `w` addresses: a given one, or the latest, which is the open one if there is any. */
const aimed = (schema: string) => `CROSS JOIN LATERAL (
        (SELECT r.ref, r.run_id FROM ${schema}.workflow_runs r
         WHERE w.run_id IS NULL AND r.namespace = w.namespace AND r.workflow_id = w.workflow_id ORDER BY r.number DESC LIMIT 1)
        UNION ALL
        (SELECT r.ref, r.run_id FROM ${schema}.workflow_runs r
         WHERE r.run_id = w.run_id AND r.namespace IS NOT DISTINCT FROM w.namespace
           AND r.workflow_id IS NOT DISTINCT FROM w.workflow_id LIMIT 1)) r`;

const wanted = `unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (namespace, workflow_id, run_id, place)`;

/**
 * The statement computes keys and numbers from its snapshot. It changes a row only if `arrived` is still as
 * in the snapshot. Then no other transaction has delivered anything since, and the numbers have no gaps. The
 * other messages are retried. The row at the time of the write decides whether the task becomes ready.
 */
export const deliverToRuns = (schema: string): Statement => ({
  name: "limpet_arrive_at_runs",
  text: `
    WITH clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), found AS MATERIALIZED (
      SELECT w.place, r.ref, r.run_id, t.arrived, e.status, b.number AS there, w.key COLLATE "C" AS key, w.data,
             w.goes_along
      FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
        WITH ORDINALITY AS w (namespace, workflow_id, run_id, key, data, goes_along, place)
      ${aimed(schema)}
      LEFT JOIN LATERAL (SELECT t.arrived FROM ${schema}.workflow_tasks t WHERE t.ref = r.ref LIMIT 1) t ON true
      LEFT JOIN LATERAL (SELECT e.status FROM ${schema}.workflow_ends e WHERE e.ref = r.ref LIMIT 1) e ON true
      LEFT JOIN LATERAL (
        SELECT b.number FROM ${schema}.workflow_inbox b
        WHERE t.arrived IS NOT NULL AND b.ref = r.ref AND b.key = w.key LIMIT 1) b ON true
    ), grouped AS MATERIALIZED (
      SELECT f.*, f.arrived IS NOT NULL AND f.there IS NULL AND f.place = min(f.place) OVER k AS is_fresh, min(f.place) OVER k AS first
      FROM found f WINDOW k AS (PARTITION BY f.ref, f.key)
    ), numbered AS MATERIALIZED (
      SELECT g.*, g.arrived + count(*) FILTER (WHERE g.is_fresh) OVER (PARTITION BY g.ref ORDER BY g.first, g.place) AS number
      FROM grouped g
    ), totals AS MATERIALIZED (
      SELECT n.ref, min(n.arrived) AS before, max(n.number) AS after FROM numbered n WHERE n.is_fresh GROUP BY n.ref ORDER BY n.ref
    ), batch AS MATERIALIZED (
      SELECT ARRAY(SELECT o.ref FROM totals o) AS refs, ARRAY(SELECT o.before FROM totals o) AS before,
             ARRAY(SELECT o.after FROM totals o) AS after
    ), touched AS (
      UPDATE ${schema}.workflow_tasks t
      SET arrived = ((SELECT after FROM batch))[width_bucket(t.ref, (SELECT refs FROM batch))],
          state = CASE WHEN t.state = ${IDLE} THEN ${READY} ELSE t.state END,
          at = CASE WHEN t.state = ${IDLE} THEN (SELECT now FROM clock) ELSE t.at END
      WHERE t.ref = ANY ((SELECT refs FROM batch)::bigint[])
        AND t.arrived = ((SELECT before FROM batch))[width_bucket(t.ref, (SELECT refs FROM batch))]
      RETURNING t.ref, CASE WHEN t.state = ${READY} THEN t.namespace END AS ready_in
    ), reached AS MATERIALIZED (
      SELECT ARRAY(SELECT t.ref FROM touched t) AS refs
    ), put AS (
      INSERT INTO ${schema}.workflow_inbox (ref, number, key, data, goes_along)
      SELECT n.ref, n.number, n.key, n.data, n.goes_along = 1 FROM numbered n
      WHERE n.is_fresh AND n.ref = ANY ((SELECT refs FROM reached)::bigint[])
    )
    SELECT n.place, n.ref, n.run_id, n.status, n.there, n.ref = ANY ((SELECT refs FROM reached)::bigint[]), n.number, NULL::text
    FROM numbered n
    UNION ALL
    SELECT DISTINCT NULL::bigint, NULL::bigint, NULL, NULL, NULL::bigint, NULL::boolean, NULL::bigint, t.ready_in FROM touched t
    WHERE t.ready_in IS NOT NULL`,
});

/** Makes tasks of these runs ready now if they would be ready later. */
export const wakeTasks = (schema: string): Statement => ({
  name: "limpet_wake_tasks",
  text: `
    WITH clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    )
    UPDATE ${schema}.workflow_tasks t SET at = (SELECT now FROM clock)
    WHERE t.ref = ANY ($1::bigint[]) AND ${STATE_OF_KEY} = ${READY} AND t.at > (SELECT now FROM clock)
    RETURNING t.namespace`,
});

/**
 * Moves the messages for the workflow from closed runs to the runs that continue them, and deletes the rest.
 */
export const takeAlong = (schema: string): Statement => ({
  name: "limpet_take_along",
  text: `
    WITH gone AS (
      DELETE FROM ${schema}.workflow_inbox b WHERE b.ref = ANY ($1::bigint[])
      RETURNING b.ref, b.number, b.key, b.data, b.goes_along
    )
    SELECT r.namespace, r.workflow_id, g.key, g.data FROM gone g CROSS JOIN LATERAL (
      SELECT r.namespace, r.workflow_id FROM ${schema}.workflow_runs r WHERE r.ref = g.ref LIMIT 1) r
    WHERE g.goes_along AND g.number > ${own("$2", "bigint", "g")} ORDER BY g.ref, g.number`,
});

/** Deletes the inbox messages of closed runs. */
export const emptyInboxes = (schema: string): Statement => ({
  name: "limpet_empty_inboxes",
  text: `
    DELETE FROM ${schema}.workflow_inbox b WHERE b.ref = ANY (ARRAY(
      SELECT e.ref FROM ${schema}.workflow_ends e WHERE e.ref = ANY ($1::bigint[])))`,
});

/** The runs that messages address; a message without a run is left out. */
export const aimAtRuns = (schema: string): Statement => ({
  name: "limpet_aim_at_runs",
  text: `SELECT r.ref FROM ${wanted} ${aimed(schema)}`,
});

type DeliveryRow = [
  place: number | null,
  ref: number,
  runId: string,
  status: RunStatus | null,
  there: number | null,
  isTouched: boolean,
  number: number | null,
  readyIn: string | null,
];

/** Attempts for messages that each time met other messages for the same run. */
const TRIES = 50;

/** A delivery in progress. */
interface Pending {
  readonly message: InboxMessage;
  outcome: DeliveryOutcome | undefined;
}

export class InboxDelivery {
  readonly #connections: Connections;
  readonly #heldMs: number;
  readonly #notifications: () => CommitNotifications;
  readonly #deliver: Statement;
  readonly #aim: Statement;
  readonly #along: Statement;
  readonly #wake: Statement;
  readonly #empty: Statement;

  /** `heldMs`: how long rows that other transactions hold are retried. */
  constructor(connections: Connections, schema: string, heldMs: number, notifications: () => CommitNotifications) {
    this.#connections = connections;
    this.#heldMs = heldMs;
    this.#notifications = notifications;
    this.#deliver = deliverToRuns(schema);
    this.#aim = aimAtRuns(schema);
    this.#along = takeAlong(schema);
    this.#wake = wakeTasks(schema);
    this.#empty = emptyInboxes(schema);
  }

  async deliver(batch: readonly InboxMessage[]): Promise<DeliveryOutcome[]> {
    const notifications = this.#notifications();
    const all = pendingOf(batch);
    try {
      await whileHeld(this.#heldMs, () => this.#all(this.#connections, all, notifications));
    } catch (error) {
      throw all.some(({ outcome }) => outcome !== undefined) ? asAmbiguous(error) : error;
    } finally {
      notifications.send();
    }
    return all.map(({ outcome }) => outcome!);
  }

  /** Runs as part of a transaction. */
  deliverAll(runner: Runner, messages: readonly InboxMessage[], notifications: CommitNotifications): Promise<void> {
    return this.#all(runner, pendingOf(messages), notifications);
  }

  /**
   * The messages for the workflow of closed runs, in their order. Each run has taken all messages up to a
   * number.
   */
  async takeAlong(
    runner: Runner,
    runs: readonly { readonly ref: number; readonly taken: number }[],
  ): Promise<InboxMessage[]> {
    if (runs.length === 0) return [];
    const values = [bigints(runs.map(({ ref }) => ref)), bigints(runs.map(({ taken }) => taken))];
    const rows = await runner.run(this.#along, values, "doubtful");
    return (rows as unknown as [string, string, string, string][]).map(([namespace, workflowId, key, data]) => {
      return { namespace, workflowId, runId: undefined, key, data, goesAlong: true };
    });
  }

  /**
   * A statement that ends a run does not see a message that commits while the statement waits for the row of
   * the task. A second statement does. When it fails, prune() deletes the message together with the run.
   */
  async emptyEnded(refs: readonly number[]): Promise<void> {
    await this.#connections.run(this.#empty, [bigints(refs)], "harmless").catch(() => undefined);
  }

  /** The runs that the messages address. */
  async refsOf(runner: Runner, messages: readonly InboxMessage[]): Promise<number[]> {
    const rows = await runner.run(this.#aim, valuesOf(messages).slice(0, 3), "harmless");
    return rows.map(([ref]) => ref as number);
  }

  async #all(runner: Runner, all: readonly Pending[], notifications: CommitNotifications): Promise<void> {
    for (let tries = 1; ; tries++) {
      const left = all.filter(({ outcome }) => outcome === undefined);
      if (left.length === 0) return this.#wakeThose(runner, all, notifications);
      if (tries > TRIES)
        throw new StoreFault("STORE_UNAVAILABLE", "locked", "other processes send to the same runs at the same time");
      if (tries > 1) await pause(Math.random() * backoffMs(tries, 1, 20));
      await this.#once(runner, left, notifications);
    }
  }

  async #once(runner: Runner, pending: readonly Pending[], notifications: CommitNotifications): Promise<void> {
    const values = valuesOf(pending.map(({ message }) => message));
    const rows = (await runner.run(this.#deliver, values, "doubtful")) as unknown as DeliveryRow[];
    const found = new Set<number>();
    for (const [place, ref, runId, status, there, isTouched, number, readyIn] of rows) {
      if (readyIn !== null) notifications.add(readyIn);
      if (place === null) continue;
      found.add(place);
      const one = pending[place - 1]!;
      if (status !== null) one.outcome = { kind: "closed", status };
      else if (there !== null) one.outcome = { kind: "delivered", ref, runId, number: there };
      else if (isTouched && number !== null) one.outcome = { kind: "delivered", ref, runId, number };
    }
    for (const [i, one] of pending.entries()) {
      if (!found.has(i + 1)) one.outcome = { kind: "closed", status: undefined };
    }
  }

  /** Few messages wake a task, so this is a statement of its own. */
  async #wakeThose(runner: Runner, pending: readonly Pending[], notifications: CommitNotifications): Promise<void> {
    const refs = pending.filter(isWaking).map(({ outcome }) => (outcome as { readonly ref: number }).ref);
    if (refs.length === 0) return;
    const sorted = [...new Set(refs)].sort((a, b) => a - b);
    for (const [namespace] of await runner.run(this.#wake, [bigints(sorted)], "doubtful"))
      notifications.add(namespace as string);
  }
}

const isWaking = ({ message, outcome }: Pending): boolean => message.wakes === true && outcome?.kind === "delivered";

const pendingOf = (messages: readonly InboxMessage[]): Pending[] =>
  messages.map((message) => ({ message, outcome: undefined }));

const valuesOf = (messages: readonly InboxMessage[]): Buffer[] => [
  texts(messages.map(({ namespace }) => namespace)),
  texts(messages.map(({ workflowId }) => workflowId)),
  texts(messages.map(({ runId }) => runId)),
  texts(messages.map(({ key }) => key)),
  texts(messages.map(({ data }) => data)),
  bigints(messages.map(({ goesAlong }) => (goesAlong ? 1 : 0))),
];
