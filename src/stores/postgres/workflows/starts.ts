// Starts runs: one statement for a whole batch, and one for a single run. Starts with reminders run in a
// transaction.

import { setTimeout as pause } from "node:timers/promises";
import { backoffMs } from "../../../kernel/backoff.ts";
import { invariant } from "../../../kernel/errors.ts";
import { NOTIFY_AHEAD_MS } from "../../../ports/store/reminders.ts";
import type { RunStart, RunStatus, StartOutcome } from "../../../ports/store/workflows.ts";
import { LEASED, READY } from "../../task-states.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Runner, Statement } from "../connection/connections.ts";
import { StoreFault } from "../connection/faults.ts";
import { isLocked, whileHeld } from "../connection/while-held.ts";
import { MILLIS } from "../reminders/tables.ts";
import { type CommitNotifications, roundsOf } from "./commit-notifications.ts";
import { poolOf } from "./pools.ts";
import { startOne, startOneValues } from "./start-one.ts";
import { COLD } from "./tables.ts";
import { tagsText } from "./tags.ts";

const START = 0;
const UNLESS_COMPLETED = 1;
const KEEP = 2;
const IF_CLOSED = { start: START, "start unless completed": UNLESS_COMPLETED, keep: KEEP } as const;

/**
 * The run of `w` with its own id: an earlier attempt at the same start. No index can serve this comparison of
 * the name.
 */
const earlier = (schema: string) => `LEFT JOIN LATERAL (
        SELECT r.ref, r.number FROM ${schema}.workflow_runs r
        WHERE r.run_id = w.run_id AND r.namespace IS NOT DISTINCT FROM w.namespace
          AND r.workflow_id IS NOT DISTINCT FROM w.workflow_id LIMIT 1) k ON true
      LEFT JOIN LATERAL (SELECT e.status FROM ${schema}.workflow_ends e WHERE e.ref = k.ref LIMIT 1) ke ON true`;

/** The latest run of the workflow of `w`, and its end if it has one. */
const latest = (schema: string) => `LEFT JOIN LATERAL (
        SELECT r.ref, r.run_id, r.number FROM ${schema}.workflow_runs r
        WHERE r.namespace = w.namespace AND r.workflow_id = w.workflow_id ORDER BY r.number DESC LIMIT 1) l ON true
      LEFT JOIN LATERAL (SELECT e.status FROM ${schema}.workflow_ends e WHERE e.ref = l.ref LIMIT 1) le ON true`;

/**
 * The stored runs decide, as this statement sees them, and the next number is unique. If another run was
 * started since, it has that number, and this start is decided again. So an outdated snapshot does no harm.
 * Refs are given in the order of the batch. Rows are inserted in the order of names, so two starts of the
 * same workflows wait for each other but never deadlock.
 */
export const startRuns = (schema: string): Statement => ({
  name: "limpet_start_runs",
  text: `
    WITH clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), wanted AS MATERIALIZED (
      SELECT i.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
                             $9::text[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[],
                             $16::text[], $17::text[], $18::bigint[])
        WITH ORDINALITY AS i (namespace, workflow_id, run_id, type, queue, build, pool, first_count, first_page, bytes, attributes,
                              memo, tags, delay_ms, if_closed, token, worker, lease_ms, place)
    ), decided AS MATERIALIZED (
      SELECT w.*, k.ref AS known, ke.status AS known_status, l.ref AS latest, l.run_id AS latest_run, le.status AS latest_status,
             coalesce(l.number, 0) + 1 AS number,
             CASE WHEN k.ref IS NULL AND (l.ref IS NULL OR le.status IS NOT NULL AND (
                    w.if_closed = ${START} OR w.if_closed = ${UNLESS_COMPLETED} AND le.status <> 'completed'))
                  THEN nextval('${schema}.workflow_refs') END AS ref
      FROM wanted w
      ${earlier(schema)}
      ${latest(schema)}
    ), made AS (
      INSERT INTO ${schema}.workflow_runs
        (ref, number, started_at, first_count, namespace, workflow_id, run_id, type, queue, build, attributes, memo, first_page, tags)
      SELECT d.ref, d.number, (SELECT now FROM clock), d.first_count, d.namespace, d.workflow_id, d.run_id, d.type, d.queue, d.build,
             d.attributes, d.memo, d.first_page, d.tags::text[]
      FROM decided d WHERE d.ref IS NOT NULL ORDER BY d.namespace COLLATE "C", d.workflow_id COLLATE "C"
      ON CONFLICT (namespace, workflow_id, number) DO NOTHING
      RETURNING ref
    ), started AS MATERIALIZED (
      SELECT ARRAY(SELECT m.ref FROM made m) AS refs
    ), tasks AS (
      INSERT INTO ${schema}.workflow_tasks
        (ref, pool, at, last, bytes, leased_until, claimed_at, attempt, state, mode, namespace, worker, token)
      SELECT d.ref, d.pool, c.now + CASE WHEN d.token IS NULL THEN d.delay_ms ELSE d.lease_ms END, d.first_count, d.bytes,
             CASE WHEN d.token IS NULL THEN 0 ELSE c.now + d.lease_ms END, CASE WHEN d.token IS NULL THEN NULL ELSE c.now END,
             CASE WHEN d.token IS NULL THEN 0 ELSE 1 END, CASE WHEN d.token IS NULL THEN ${READY} ELSE ${LEASED} END,
             CASE WHEN d.token IS NULL THEN NULL ELSE ${COLD} END, d.namespace, d.worker, d.token
      FROM decided d, clock c WHERE d.ref = ANY ((SELECT refs FROM started)::bigint[])
    )
    SELECT d.place, d.known, d.known_status, d.latest, d.latest_run, d.latest_status, d.ref, d.ref = ANY ((SELECT refs FROM started)::bigint[])
    FROM decided d`,
});

/** Outcomes of starts that were made earlier. */
export const recallStarts = (schema: string): Statement => ({
  name: "limpet_recall_starts",
  text: `
    SELECT w.place, k.ref, ke.status, l.ref, l.run_id, le.status, NULL::bigint, NULL::boolean
    FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (namespace, workflow_id, run_id, place)
    ${earlier(schema)}
    ${latest(schema)}`,
});

type DecidedRow = [
  place: number,
  known: number | null,
  knownStatus: RunStatus | null,
  latest: number | null,
  latestRun: string | null,
  latestStatus: RunStatus | null,
  ref: number | null,
  isStarted: boolean | null,
];

/** Attempts of a start that each time met another start of the same workflow. */
const TRIES = 50;

/** A start and its outcome. */
interface Pending {
  readonly start: RunStart;
  outcome: StartOutcome | undefined;
}

export class WorkflowStarts {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #heldMs: number;
  readonly #notifications: () => CommitNotifications;
  readonly #start: Statement;
  readonly #one: Statement;
  readonly #oneLeased: Statement;
  readonly #recall: Statement;

  /** `heldMs`: how long rows that other transactions hold are retried. */
  constructor(connections: Connections, schema: string, heldMs: number, notifications: () => CommitNotifications) {
    this.#connections = connections;
    this.#schema = schema;
    this.#heldMs = heldMs;
    this.#notifications = notifications;
    this.#start = startRuns(schema);
    this.#one = startOne(schema, false);
    this.#oneLeased = startOne(schema, true);
    this.#recall = recallStarts(schema);
  }

  async start(batch: readonly RunStart[]): Promise<StartOutcome[]> {
    if (batch.length === 0) return [];
    const [first] = batch;
    if (batch.length === 1 && isPlain(first!)) {
      const outcome = await this.#alone(first!);
      if (outcome !== undefined) return [outcome];
    }
    invariant(new Set(batch.map(nameOf)).size === batch.length, "no workflow is twice in one batch");
    return whileHeld(this.#heldMs, async () => {
      let notifications = this.#notifications();
      const work = (runner: Runner) => {
        notifications = this.#notifications();
        return this.#round(runner, batch, notifications);
      };
      const outcomes = batch.every(isPlain)
        ? await work(this.#connections)
        : await this.#connections.transaction((runner) => work(runner));
      notifications.send();
      return outcomes;
    });
  }

  /**
   * Runs as part of a transaction. The batch may contain a workflow several times: its first entry starts it.
   */
  async startAll(
    runner: Runner,
    starts: readonly RunStart[],
    notifications: CommitNotifications,
  ): Promise<StartOutcome[]> {
    const outcomes = new Map<RunStart, StartOutcome>();
    for (const round of roundsOf(starts, nameOf)) {
      const done = await this.#round(runner, round, notifications);
      for (const [i, start] of round.entries()) outcomes.set(start, done[i]!);
    }
    return starts.map((start) => outcomes.get(start)!);
  }

  /**
   * Outcomes of starts that were made before. A start that did not create a run gets the run that is stored
   * now.
   */
  async recall(starts: readonly RunStart[]): Promise<StartOutcome[]> {
    if (starts.length === 0) return [];
    const rows = await this.#connections.run(this.#recall, namesOf(starts), "harmless");
    const found = new Map((rows as unknown as DecidedRow[]).map((row) => [row[0], row]));
    return starts.map(({ runId }, i) => {
      const [, known, knownStatus, latestRef, latestRun, latestStatus] = found.get(i + 1)!;
      if (known !== null) return { ref: known, runId, status: knownStatus ?? "running", isNew: true };
      return { ref: latestRef ?? 0, runId: latestRun ?? "", status: latestStatus ?? "running", isNew: false };
    });
  }

  async #round(
    runner: Runner,
    starts: readonly RunStart[],
    notifications: CommitNotifications,
  ): Promise<StartOutcome[]> {
    const all = starts.map((start): Pending => ({ start, outcome: undefined }));
    const made: RunStart[] = [];
    let left: readonly Pending[] = all;
    for (let tries = 1; left.length > 0; tries++) {
      made.push(...(await this.#once(runner, left)));
      left = left.filter(({ outcome }) => outcome === undefined);
      if (left.length === 0) break;
      if (tries >= TRIES)
        throw new StoreFault(
          "STORE_UNAVAILABLE",
          "locked",
          "other processes start the same workflows at the same time",
        );
      await pause(Math.random() * backoffMs(tries, 1, 20));
    }
    for (const start of made) this.#notifyOf(start, notifications);
    await notifications.remind(
      runner,
      this.#schema,
      made.flatMap((start) => start.reminders),
    );
    return all.map(({ outcome }) => outcome!);
  }

  /**
   * The fast path, for a workflow that never ran. Undefined: it started nothing, and the stored runs decide.
   */
  async #alone(start: RunStart): Promise<StartOutcome | undefined> {
    const statement = start.lease === undefined ? this.#one : this.#oneLeased;
    try {
      const [row] = await this.#connections.run(statement, startOneValues(start), "doubtful");
      if (row === undefined) return undefined;
      const notifications = this.#notifications();
      this.#notifyOf(start, notifications);
      notifications.send();
      return { ref: row[0] as number, runId: start.runId, status: "running", isNew: true };
    } catch (error) {
      if (isLocked(error)) return undefined;
      throw error;
    }
  }

  #notifyOf({ lease, delayMs, namespace }: RunStart, notifications: CommitNotifications): void {
    if (lease === undefined && delayMs <= NOTIFY_AHEAD_MS) notifications.add(namespace);
  }

  /** Decides the starts that it can, and returns the ones that it started. */
  async #once(runner: Runner, pending: readonly Pending[]): Promise<RunStart[]> {
    const made: RunStart[] = [];
    const values = valuesOf(pending.map(({ start }) => start));
    for (const row of await runner.run(this.#start, values, "doubtful")) {
      const [place, known, knownStatus, latestRef, latestRun, latestStatus, ref, isStarted] =
        row as unknown as DecidedRow;
      const one = pending[place - 1]!;
      const { start } = one;
      if (known !== null) {
        one.outcome = { ref: known, runId: start.runId, status: knownStatus ?? "running", isNew: true };
      } else if (ref === null) {
        one.outcome = { ref: latestRef!, runId: latestRun!, status: latestStatus ?? "running", isNew: false };
      } else if (isStarted) {
        one.outcome = { ref, runId: start.runId, status: "running", isNew: true };
        made.push(start);
      }
    }
    return made;
  }
}

const isPlain = ({ reminders }: RunStart): boolean => reminders.length === 0;

/** The length makes the name unambiguous. */
const nameOf = ({ namespace, workflowId }: RunStart): string => `${namespace.length}:${namespace}${workflowId}`;

const namesOf = (starts: readonly RunStart[]): Buffer[] => [
  texts(starts.map(({ namespace }) => namespace)),
  texts(starts.map(({ workflowId }) => workflowId)),
  texts(starts.map(({ runId }) => runId)),
];

function valuesOf(starts: readonly RunStart[]): Buffer[] {
  return [
    ...namesOf(starts),
    texts(starts.map(({ type }) => type)),
    texts(starts.map(({ queue }) => queue)),
    texts(starts.map(({ pinned }) => pinned)),
    bigints(starts.map(poolOf)),
    bigints(starts.map(({ first }) => first.count)),
    texts(starts.map(({ first }) => first.data)),
    bigints(starts.map(({ first }) => Buffer.byteLength(first.data))),
    texts(starts.map(({ attributes }) => attributes)),
    texts(starts.map(({ memo }) => memo)),
    texts(starts.map(({ attributes }) => tagsText(attributes))),
    bigints(starts.map(({ delayMs }) => delayMs)),
    bigints(starts.map(({ ifClosed }) => IF_CLOSED[ifClosed])),
    texts(starts.map(({ lease }) => lease?.token)),
    texts(starts.map(({ lease }) => lease?.worker)),
    bigints(starts.map(({ lease }) => lease?.leaseMs ?? 0)),
  ];
}
