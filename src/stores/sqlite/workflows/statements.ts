// The statements of workflows in the worker thread, by table, and the few that concern several tables.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EndedRun, WorkflowKey } from "../../../ports/store/workflows.ts";
import { IDLE, LEASED, READY } from "../../task-states.ts";
import type { ReminderStatements } from "../reminders/statements.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import { SqliteWorkflowClaims } from "./claims.ts";
import { RUNNING, statusOf } from "./codes.ts";
import { EventBatches } from "./event-batches.ts";
import { WorkflowInbox } from "./inbox.ts";
import { WorkflowKinds } from "./kinds.ts";
import { SqliteWorkflowListing } from "./listing.ts";
import type { AttachedWorkflows } from "./packing.ts";
import { WorkflowPruning } from "./pruning.ts";
import { SqliteWorkflowRelease } from "./release.ts";
import { WorkflowRuns } from "./runs.ts";
import { SqliteWorkflowSteps } from "./steps.ts";
import { WorkflowTasks } from "./tasks.ts";
import { SqliteWorkflowWorkers } from "./workers.ts";

/** Tasks that one request counts before other requests get their turn. */
const COUNTED = 20_000;

type EndRow = [ref: number, status: number, result: string, runId: string];

export class WorkflowStatements {
  readonly tasks: WorkflowTasks;
  readonly runs: WorkflowRuns;
  readonly batches: EventBatches;
  readonly inbox: WorkflowInbox;
  readonly steps: SqliteWorkflowSteps;
  readonly claims: SqliteWorkflowClaims;
  readonly workers: SqliteWorkflowWorkers;
  readonly release: SqliteWorkflowRelease;
  readonly listing: SqliteWorkflowListing;
  readonly pruning: WorkflowPruning;
  readonly #ends: StatementSync;
  readonly #stickiness: StatementSync;

  constructor(db: DatabaseSync, reminders: ReminderStatements) {
    const asArrays = rowsAsArrays(db);
    const kinds = new WorkflowKinds(db);
    this.tasks = new WorkflowTasks(db);
    this.inbox = new WorkflowInbox(db);
    this.batches = new EventBatches(db);
    this.runs = new WorkflowRuns(db, this.tasks, this.inbox);
    const [tasks, inbox, batches, runs] = [this.tasks, this.inbox, this.batches, this.runs];
    this.steps = new SqliteWorkflowSteps({ kinds, runs, tasks, batches, inbox, reminders });
    this.workers = new SqliteWorkflowWorkers(db);
    this.claims = new SqliteWorkflowClaims(db, this.workers);
    this.release = new SqliteWorkflowRelease(db);
    this.listing = new SqliteWorkflowListing(db, kinds, runs);
    this.pruning = new WorkflowPruning(db, kinds, batches);
    // By primary key.
    this.#ends = asArrays(
      `SELECT ref, status, result, run_id FROM workflow_runs
       WHERE ref IN (SELECT value FROM json_each(?)) AND status <> ${RUNNING}`,
    );
    // Short rows, in their order: there is no index of affinity, because every step of every run would have
    // to maintain it.
    this.#stickiness = asArrays(
      `SELECT count(*), max(ref), count(*) FILTER (WHERE counts), count(*) FILTER (WHERE counts AND state = ${READY}),
         count(*) FILTER (WHERE counts AND state = ${LEASED}),
         count(*) FILTER (WHERE counts AND state <> ${IDLE} AND sticky_worker IN (SELECT value FROM json_each(?4)))
       FROM (SELECT ref, state, sticky_worker, sticky_until > ?3 AND kind IN (SELECT ref FROM workflow_kinds WHERE namespace = ?1) AS counts
             FROM workflow_tasks WHERE ref > ?2 ORDER BY ref LIMIT ${COUNTED})`,
    );
  }

  /** Starts and messages of actor commits: all of them start before any of them sends. */
  applyAttached(attachedWorkflows: readonly AttachedWorkflows[], now: number): void {
    this.steps.start(
      attachedWorkflows.flatMap(({ starts }) => starts),
      now,
    );
    this.steps.deliver(
      attachedWorkflows.flatMap(({ messages }) => messages),
      now,
    );
  }

  wake(key: WorkflowKey, forgives: boolean, now: number): boolean {
    const run = this.runs.latest(key);
    if (run?.status !== RUNNING) return false;
    if (forgives) this.tasks.forgive(run.ref);
    this.tasks.wake(run.ref, now);
    return true;
  }

  watchEnds(refs: readonly number[]): EndedRun[] {
    for (const ref of refs) this.tasks.watch(ref);
    const rows = this.#ends.all(JSON.stringify(refs)) as unknown as EndRow[];
    return rows.map(([ref, status, result, runId]) => ({ ref, runId, status: statusOf(status), result }));
  }

  /** Counts among the tasks behind `after`; the last one that was read, unless it was the last of all. */
  countSticky(namespace: string, owners: readonly string[], after: number, now: number) {
    const row = this.#stickiness.get(namespace, after, now, JSON.stringify(owners)) as unknown;
    const [looked, last, runs, ready, leased, owned] = row as [number, number, number, number, number, number];
    return { runs, ready, leased, owned, after: looked < COUNTED ? undefined : last };
  }
}
