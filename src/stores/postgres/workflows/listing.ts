// Reads runs for display: one run, a page, counts, results; and prunes old runs. Never on the path of a step.

import { createHash } from "node:crypto";
import type {
  EndedRun,
  RunQuery,
  RunStatus,
  StoredRun,
  StoredTask,
  WorkflowKey,
} from "../../../ports/store/workflows.ts";
import { LEASED, READY } from "../../task-states.ts";
import { endOfPrefix } from "../actors/listing.ts";
import { bigints } from "../connection/arrays.ts";
import type { Connections, Row, Statement } from "../connection/connections.ts";
import { MODES, STATES } from "./tables.ts";
import { arrayText, tagsOf } from "./tags.ts";

const COLUMNS = `r.ref, r.namespace, r.workflow_id, r.run_id, r.type, r.queue, r.build, r.attributes, r.memo, r.started_at,
      e.closed_at, e.status, e.result, coalesce(e.events, t.last), coalesce(e.bytes, t.bytes),
      t.state, t.attempt, t.problem, t.at, t.leased_until, t.worker, t.mode, t.claimed_at, t.arrived, t.taken, t.sticky, t.sticky_until,
      t.lost`;

type RunRow = [
  ...[ref: number, namespace: string, workflowId: string, runId: string, type: string, queue: string],
  ...[pinned: string | null, attributes: string, memo: string, startedAt: number, closedAt: number | null],
  ...[status: RunStatus | null, result: string | null, events: number, bytes: number, state: number | null],
  ...[attempt: number, problem: string | null, at: number, leasedUntil: number, worker: string | null],
  ...[
    mode: number | null,
    claimedAt: number | null,
    arrived: number,
    taken: number,
    sticky: string,
    stickyUntil: number,
    lost: number,
  ],
];

/** A run has either a task or an end. */
const rest = (schema: string) => `
      LEFT JOIN LATERAL (SELECT t.* FROM ${schema}.workflow_tasks t WHERE t.ref = r.ref LIMIT 1) t ON true
      LEFT JOIN LATERAL (SELECT e.* FROM ${schema}.workflow_ends e WHERE e.ref = r.ref LIMIT 1) e ON true`;

export const findRun = (schema: string): Statement => ({
  name: "limpet_find_run",
  text: `
    SELECT ${COLUMNS} FROM (
      SELECT r.* FROM ${schema}.workflow_runs r WHERE r.namespace = $1 AND r.workflow_id = $2 ORDER BY r.number DESC LIMIT 1) r
      ${rest(schema)}`,
});

export const findRunById = (schema: string): Statement => ({
  name: "limpet_find_run_by_id",
  text: `
    SELECT ${COLUMNS} FROM (
      SELECT r.* FROM ${schema}.workflow_runs r
      WHERE r.run_id = $3 AND r.namespace IS NOT DISTINCT FROM $1 AND r.workflow_id IS NOT DISTINCT FROM $2 LIMIT 1) r
      ${rest(schema)}`,
});

type EndedRow = [ref: number, status: RunStatus, result: string, runId: string];

export const readEnds = (schema: string): Statement => ({
  name: "limpet_read_ends",
  text: `
    SELECT e.ref, e.status, e.result, (SELECT r.run_id FROM ${schema}.workflow_runs r WHERE r.ref = e.ref)
    FROM ${schema}.workflow_ends e WHERE e.ref = ANY ($1::bigint[])`,
});

/** Removes the runs that ended first; it skips rows that another process is removing. */
export const pruneRuns = (schema: string): Statement => ({
  name: "limpet_prune_runs",
  text: `
    WITH old AS MATERIALIZED (
      SELECT e.ref FROM ${schema}.workflow_ends e WHERE e.namespace = $1 AND e.closed_at < $2
      ORDER BY e.closed_at LIMIT $3 FOR UPDATE SKIP LOCKED
    ), refs AS MATERIALIZED (
      SELECT ARRAY(SELECT o.ref FROM old o) AS refs
    ), pages AS (
      DELETE FROM ${schema}.workflow_pages p WHERE p.ref = ANY ((SELECT refs FROM refs)::bigint[])
    ), inbox AS (
      DELETE FROM ${schema}.workflow_inbox b WHERE b.ref = ANY ((SELECT refs FROM refs)::bigint[])
    ), runs AS (
      DELETE FROM ${schema}.workflow_runs r WHERE r.ref = ANY ((SELECT refs FROM refs)::bigint[])
    ), ends AS (
      DELETE FROM ${schema}.workflow_ends e WHERE e.ref = ANY ((SELECT refs FROM refs)::bigint[])
    )
    SELECT count(*) FROM old`,
});

/**
 * The name of a composed statement is short, and equal only for equal texts: the server truncates names after
 * 63 characters.
 */
const preparedName = (kind: string, text: string): string =>
  `limpet_${kind}_${createHash("sha256").update(text).digest("base64url").slice(0, 32)}`;

/**
 * A page starts at the latest run and skips runs that do not match. It reads the runs of a workflow when its
 * id is given, tasks for open runs, and ends for a rare status. Otherwise it reads all runs of the namespace.
 */
export function listRunsStatement(
  schema: string,
  query: RunQuery,
  isCount: boolean,
): { statement: Statement; values: unknown[] } {
  const { namespace, workflowId, prefix, type, status, queue, attributes, startedFrom, startedBefore, before } = query;
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions: string[] = [];
  const where = (value: unknown, text: (parameter: string) => string) => {
    if (value === undefined) return;
    conditions.push(text(bind(value)));
  };
  const isRare = status !== undefined && status !== "running" && status !== "completed";
  const isOpen = status === "running" || query.isBlocked === true;
  const from = workflowId !== undefined ? "runs" : isOpen ? "tasks" : isRare ? "ends" : "runs";
  // The source table decides which index finds the rows; the other conditions have none.
  const inNamespace = bind(namespace);
  const source = { runs: "r", tasks: "t", ends: "e" }[from];
  conditions.push(
    from === "tasks" ? `t.namespace IS NOT DISTINCT FROM ${inNamespace}` : `${source}.namespace = ${inNamespace}`,
  );
  where(workflowId, (parameter) => `r.workflow_id = ${parameter}`);
  if (prefix !== undefined && prefix !== "") {
    const end = endOfPrefix(prefix);
    where(prefix, (parameter) => `r.workflow_id >= ${parameter}`);
    where(end, (parameter) => `r.workflow_id < ${parameter}`);
  }
  where(type, (parameter) => `r.type IS NOT DISTINCT FROM ${parameter}`);
  where(queue, (parameter) => `r.queue IS NOT DISTINCT FROM ${parameter}`);
  if (status === "running") conditions.push("t.ref IS NOT NULL");
  else where(status, (parameter) => `e.status = ${parameter}`);
  if (isRare) conditions.push("e.status <> 'completed'");
  const tags = attributes === undefined ? [] : tagsOf(attributes);
  where(tags.length === 0 ? undefined : arrayText(tags), (parameter) => `r.tags @> ${parameter}::text[]`);
  where(startedFrom, (parameter) => `r.started_at >= ${parameter}`);
  where(startedBefore, (parameter) => `r.started_at < ${parameter}`);
  if (query.isBlocked === true) conditions.push("t.problem IS NOT NULL");
  // The index of runs is ordered by -ref (workflow-tables.ts).
  const isByRuns = from === "runs" && workflowId === undefined;
  where(before, (parameter) => (isByRuns ? `-r.ref > -${parameter}::bigint` : `${source}.ref < ${parameter}`));
  const order = isByRuns ? "-r.ref" : workflowId !== undefined ? "r.number DESC" : `${source}.ref DESC`;
  const rows = `${sourceOf(schema, from)} WHERE ${conditions.join(" AND ")} ORDER BY ${order} LIMIT ${bind(query.limit)}`;
  const text = isCount
    ? `SELECT count(*) FROM (SELECT ${source}.ref FROM ${rows}) f`
    : `SELECT ${COLUMNS} FROM ${rows}`;
  return { statement: { name: preparedName(`${isCount ? "count" : "list"}_runs_${from}`, text), text }, values };
}

function sourceOf(schema: string, from: "runs" | "tasks" | "ends"): string {
  const by = (table: string, letter: string, source: string) =>
    `LEFT JOIN LATERAL (SELECT ${letter}.* FROM ${schema}.workflow_${table} ${letter} WHERE ${letter}.ref = ${source}.ref LIMIT 1) ${letter} ON true`;
  if (from === "runs") return `${schema}.workflow_runs r ${by("tasks", "t", "r")} ${by("ends", "e", "r")}`;
  if (from === "tasks") return `${schema}.workflow_tasks t ${by("runs", "r", "t")} ${by("ends", "e", "t")}`;
  return `${schema}.workflow_ends e ${by("runs", "r", "e")} ${by("tasks", "t", "e")}`;
}

export class PostgresWorkflowListing {
  readonly #connections: Connections;
  readonly #schema: string;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#schema = schema;
  }

  async find(key: WorkflowKey & { readonly runId?: string }): Promise<StoredRun | undefined> {
    const { namespace, workflowId, runId } = key;
    const [row] =
      runId === undefined
        ? await this.#ask(findRun(this.#schema), [namespace, workflowId])
        : await this.#ask(findRunById(this.#schema), [namespace, workflowId, runId]);
    return row && storedOf(row);
  }

  async list(query: RunQuery): Promise<StoredRun[]> {
    const { statement, values } = listRunsStatement(this.#schema, query, false);
    return (await this.#ask(statement, values)).map(storedOf);
  }

  async count(query: RunQuery): Promise<number> {
    const { statement, values } = listRunsStatement(this.#schema, query, true);
    const [row] = await this.#ask(statement, values);
    return row?.[0] as number;
  }

  async ends(refs: readonly number[]): Promise<EndedRun[]> {
    const rows = (await this.#ask(readEnds(this.#schema), [bigints(refs)])) as unknown as EndedRow[];
    return rows.map(([ref, status, result, runId]) => ({ ref, runId, status, result }));
  }

  async prune(namespace: string, endedBefore: number, limit: number): Promise<number> {
    const values = [namespace, endedBefore, limit];
    const [row] = await this.#connections.run(pruneRuns(this.#schema), values, "doubtful");
    return row?.[0] as number;
  }

  #ask(statement: Statement, values: unknown[]): Promise<Row[]> {
    return this.#connections.run(statement, values, "harmless");
  }
}

function storedOf(row: Row): StoredRun {
  const all = row as unknown as RunRow;
  const [ref, namespace, workflowId, runId, type, queue, pinned, attributes, memo, startedAt, closedAt] = all;
  const [status, result, events, bytes, state] = all.slice(11, 16) as [
    RunStatus | null,
    string | null,
    number,
    number,
    number,
  ];
  const [sticky, stickyUntil] = all.slice(25) as [string | null, number];
  return {
    ref,
    namespace,
    workflowId,
    runId,
    type,
    queue,
    pinned: pinned ?? undefined,
    attributes,
    memo,
    startedAt,
    closedAt: closedAt ?? undefined,
    status: status ?? "running",
    result: result ?? undefined,
    events,
    bytes,
    task: state === null ? undefined : taskOf(all),
    ...(sticky
      ? { stickyWorker: sticky, stickyUntil: Math.max(0, stickyUntil) }
      : { stickyWorker: undefined, stickyUntil: undefined }),
  };
}

function taskOf(row: RunRow): StoredTask {
  const [state, attempt, problem, at, leasedUntil, worker, mode, claimedAt, arrived, taken] = row.slice(15, 25) as [
    ...[number, number, string | null, number, number, string | null, number | null, number | null, number, number],
  ];
  const lost = row[27] as number;
  return {
    state: STATES[state]!,
    attempt,
    problem: problem ?? undefined,
    arrived,
    taken,
    lost: Math.min(lost, state === LEASED ? attempt - 1 : attempt),
    at: state === LEASED ? leasedUntil : state === READY ? at : undefined,
    worker: state === LEASED ? (worker ?? undefined) : undefined,
    mode: mode === null ? undefined : MODES[mode],
    claimedAt: claimedAt ?? undefined,
  };
}
