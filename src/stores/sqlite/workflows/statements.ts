// The workflow part of the worker thread: it owns the statements of workflows and serves the requests about
// them.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EndedRun } from "../../../ports/store/workflows.ts";
import { IDLE, LEASED, READY } from "../../task-states.ts";
import { unpackWrites } from "../reminders/messages.ts";
import type { ReminderStatements } from "../reminders/statements.ts";
import { SqliteWorkflowClaims } from "./claims.ts";
import { RUNNING, statusOf } from "./codes.ts";
import { WorkflowPages } from "./event-batches.ts";
import { WorkflowInbox } from "./inbox.ts";
import { WorkflowKinds } from "./kinds.ts";
import { SqliteWorkflowListing } from "./listing.ts";
import type { ReleaseAnswer, StickinessAnswer, WorkflowChange, WorkflowLook } from "./messages.ts";
import {
  type AttachedWorkflows,
  type ClaimsAnswer,
  packClaims,
  packStartOutcomes,
  packStepOutcomes,
  unpackArrivals,
  unpackStarts,
  unpackSteps,
} from "./packing.ts";
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
  readonly #tasks: WorkflowTasks;
  readonly #runs: WorkflowRuns;
  readonly #pages: WorkflowPages;
  readonly #inbox: WorkflowInbox;
  readonly #steps: SqliteWorkflowSteps;
  readonly #claims: SqliteWorkflowClaims;
  readonly #workers: SqliteWorkflowWorkers;
  readonly #release: SqliteWorkflowRelease;
  readonly #listing: SqliteWorkflowListing;
  readonly #pruning: WorkflowPruning;
  readonly #ends: StatementSync;
  readonly #stickiness: StatementSync;

  constructor(db: DatabaseSync, reminders: ReminderStatements) {
    const kinds = new WorkflowKinds(db);
    this.#tasks = new WorkflowTasks(db);
    this.#inbox = new WorkflowInbox(db);
    this.#pages = new WorkflowPages(db);
    this.#runs = new WorkflowRuns(db, this.#tasks, this.#inbox);
    const [tasks, inbox, pages, runs] = [this.#tasks, this.#inbox, this.#pages, this.#runs];
    this.#steps = new SqliteWorkflowSteps({ kinds, runs, tasks, pages, inbox, reminders });
    this.#workers = new SqliteWorkflowWorkers(db);
    this.#claims = new SqliteWorkflowClaims(db, this.#workers);
    this.#release = new SqliteWorkflowRelease(db);
    this.#listing = new SqliteWorkflowListing(db, kinds, runs);
    this.#pruning = new WorkflowPruning(db, kinds, pages);
    // By primary key.
    this.#ends = db.prepare(
      `SELECT ref, status, result, run_id FROM workflow_runs
       WHERE ref IN (SELECT value FROM json_each(?)) AND status <> ${RUNNING}`,
    );
    this.#ends.setReturnArrays(true);
    // Short rows, in their order: there is no index of affinity, because every step of every run would have
    // to maintain it.
    this.#stickiness = db.prepare(
      `SELECT count(*), max(ref), count(*) FILTER (WHERE counts), count(*) FILTER (WHERE counts AND state = ${READY}),
         count(*) FILTER (WHERE counts AND state = ${LEASED}),
         count(*) FILTER (WHERE counts AND state <> ${IDLE} AND sticky_worker IN (SELECT value FROM json_each(?4)))
       FROM (SELECT ref, state, sticky_worker, sticky_until > ?3 AND kind IN (SELECT ref FROM workflow_kinds WHERE namespace = ?1) AS counts
             FROM workflow_tasks WHERE ref > ?2 ORDER BY ref LIMIT ${COUNTED})`,
    );
    this.#stickiness.setReturnArrays(true);
  }

  apply(question: WorkflowChange, now: number): unknown {
    switch (question.kind) {
      case "start-runs":
        return packStartOutcomes(this.#steps.start(unpackStarts(question), now));
      case "arrive":
        return this.#steps.arrive(unpackArrivals(question.arrivals), now);
      case "append":
        return packStepOutcomes(this.#steps.append(unpackSteps(question), now));
      case "close-run":
        return this.#steps.close({ ...question.closing, reminders: unpackWrites(question.reminders) }, now);
      case "claim-tasks":
        return packClaims(this.#claims.claim(question.request, now), question.request);
      case "renew-tasks":
        return question.refs.filter(
          (ref, i) => !this.#tasks.renew(ref, question.tokens[i] as string, now + question.leaseMs),
        );
      case "return-tasks":
        return question.batch.map((one) => this.#tasks.giveBack(one, now));
      case "wake-run":
        return this.#wake(question, now);
      case "watch-ends":
        return this.#watchEnds(question.refs);
      case "worker-seen":
        return this.#workers.seen(question.worker, now);
      case "forget-worker":
        return this.#workers.forget(question.namespace, question.worker);
      case "release-worker":
        return this.#release.release(question.namespace, question.worker, question.isDead, question.after, now);
      case "prune-runs":
        return this.#pruning.prune(question.namespace, question.endedBefore, question.limit);
    }
  }

  look(question: WorkflowLook, now: number): unknown {
    switch (question.kind) {
      case "history":
        return this.#pages.read(question.ref, question.after, question.bytes);
      case "run-inbox":
        return this.#inbox.read(question.ref, question.after, question.limit);
      case "run":
        return this.#listing.find(question.key);
      case "runs":
        return this.#listing.list(question.query);
      case "count-runs":
        return this.#listing.count(question.query);
      case "workers":
        return this.#workers.all(question.namespace);
      case "stickiness":
        return this.#countSticky(question, now);
    }
  }

  /** Starts and messages of actor commits: all of them start before any of them sends. */
  run(attachedWorkflows: readonly AttachedWorkflows[], now: number): void {
    this.#steps.start(
      attachedWorkflows.flatMap(({ starts }) => starts),
      now,
    );
    this.#steps.arrive(
      attachedWorkflows.flatMap(({ arrivals }) => arrivals),
      now,
    );
  }

  #wake({ key, forgives }: Extract<WorkflowChange, { kind: "wake-run" }>, now: number): boolean {
    const run = this.#runs.latest(key);
    if (run?.status !== RUNNING) return false;
    if (forgives) this.#tasks.forgive(run.ref);
    this.#tasks.wake(run.ref, now);
    return true;
  }

  #watchEnds(refs: readonly number[]): EndedRun[] {
    for (const ref of refs) this.#tasks.watch(ref);
    const rows = this.#ends.all(JSON.stringify(refs)) as unknown as EndRow[];
    return rows.map(([ref, status, result, runId]) => ({ ref, runId, status: statusOf(status), result }));
  }

  #countSticky(
    { namespace, owners, after }: Extract<WorkflowLook, { kind: "stickiness" }>,
    now: number,
  ): StickinessAnswer {
    const row = this.#stickiness.get(namespace, after, now, JSON.stringify(owners)) as unknown;
    const [looked, last, runs, ready, leased, owned] = row as [number, number, number, number, number, number];
    return { runs, ready, leased, owned, after: looked < COUNTED ? undefined : last };
  }
}

/** The number of rows that the request added to its transaction. */
export function workflowRows(question: WorkflowChange, value: unknown): number {
  switch (question.kind) {
    case "start-runs":
      return question.starts.count + question.reminders.count;
    case "arrive":
      return question.arrivals.count;
    case "append": {
      const { steps, attached } = question;
      if (attached === undefined) return steps.count;
      return steps.count + attached.reminders.count + attached.starts.starts.count + attached.arrivals.count;
    }
    case "claim-tasks":
      return (value as ClaimsAnswer).count;
    case "renew-tasks":
    case "watch-ends":
      return question.refs.length;
    case "return-tasks":
      return question.batch.length;
    case "prune-runs":
      return value as number;
    case "release-worker":
      return (value as ReleaseAnswer).changed;
    default:
      return 1;
  }
}
