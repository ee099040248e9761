// The rows of runs: found by the name of their workflow or by their id, written when a run starts and when it
// ends. The columns that change with every step are in the row of its task. Every method runs inside a
// transaction of the caller.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RunStart, WorkflowKey } from "../../../ports/store/workflows.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import { RUNNING } from "./codes.ts";
import type { WorkflowInbox } from "./inbox.ts";
import type { TaskRow, WorkflowTasks } from "./tasks.ts";

/** Without a run id: the latest run. */
export type RunKey = WorkflowKey & { readonly runId: string | undefined };

export interface RunHead {
  readonly ref: number;
  readonly status: number;
  readonly runId: string;
}

/** The end of a run, as the step or request that ended it gave it. */
export interface RunClosing {
  readonly status: number;
  readonly result: string;
  /** The token of the last step; null: a request from outside ended the run. */
  readonly token: string | null;
  readonly now: number;
}

/** The data of a closed run that its task had. */
export interface EndedRow {
  readonly status: number;
  readonly token: string | null;
  readonly last: number;
  readonly delivered: number;
  readonly isWatched: boolean;
}

type HeadRow = [ref: number, status: number, runId: string];
type EndRow = [status: number, token: string | null, last: number, delivered: number, watched: number];

export class WorkflowRuns {
  readonly #tasks: WorkflowTasks;
  readonly #inbox: WorkflowInbox;
  readonly #latest: StatementSync;
  readonly #byRunId: StatementSync;
  readonly #key: StatementSync;
  readonly #insert: StatementSync;
  readonly #describe: StatementSync;
  readonly #end: StatementSync;
  readonly #ended: StatementSync;

  constructor(db: DatabaseSync, tasks: WorkflowTasks, inbox: WorkflowInbox) {
    const asArrays = rowsAsArrays(db);
    this.#tasks = tasks;
    this.#inbox = inbox;
    // One seek in the index of names, and one for the row. An open run is the latest of its workflow.
    this.#latest = asArrays(
      `SELECT ref, status, run_id FROM workflow_runs WHERE namespace = ? AND workflow_id = ? ORDER BY ref DESC LIMIT 1`,
    );
    // One seek by id: the plus signs exclude the index of names, which may have many runs of this workflow.
    this.#byRunId = asArrays(
      "SELECT ref, status, run_id FROM workflow_runs WHERE +namespace = ? AND +workflow_id = ? AND run_id = ?",
    );
    this.#key = asArrays("SELECT namespace, workflow_id FROM workflow_runs WHERE ref = ?");
    // A row at the end of the table and an entry in three indexes.
    this.#insert = db.prepare(
      `INSERT INTO workflow_runs (kind, status, started_at, namespace, workflow_id, run_id, build, attributes, memo)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#describe = db.prepare(
      "UPDATE workflow_runs SET attributes = coalesce(?, attributes), memo = coalesce(?, memo) WHERE ref = ?",
    );
    // Once in the life of a run: the row is written again, with its index entries for status and end.
    this.#end = db.prepare(
      `UPDATE workflow_runs SET status = ?, closed_at = ?, result = ?, closed_by = ?, events = ?, bytes = ?, arrived = ?,
         watched = ? WHERE ref = ?`,
    );
    this.#ended = asArrays(
      "SELECT status, closed_by, events, arrived, watched FROM workflow_runs WHERE ref = ? AND status <> 0",
    );
  }

  latest({ namespace, workflowId }: WorkflowKey): RunHead | undefined {
    return headOf(this.#latest.get(namespace, workflowId));
  }

  byRunId({ namespace, workflowId }: WorkflowKey, runId: string): RunHead | undefined {
    return headOf(this.#byRunId.get(namespace, workflowId, runId));
  }

  /** The given run, or the latest. */
  find(key: RunKey): RunHead | undefined {
    return key.runId === undefined ? this.latest(key) : this.byRunId(key, key.runId);
  }

  keyOf(ref: number): WorkflowKey {
    const [namespace, workflowId] = this.#key.get(ref) as unknown as [string, string];
    return { namespace, workflowId };
  }

  put(start: RunStart, kind: number, now: number): number {
    const { namespace, workflowId, runId, pinned, attributes, memo } = start;
    const values = [kind, RUNNING, now, namespace, workflowId, runId, pinned ?? null, attributes, memo] as const;
    return Number(this.#insert.run(...values).lastInsertRowid);
  }

  describe(ref: number, attributes: string | undefined, memo: string | undefined): void {
    this.#describe.run(attributes ?? null, memo ?? null, ref);
  }

  /** `task` has the values at the end of the run. */
  end(ref: number, task: Pick<TaskRow, "last" | "bytes" | "delivered" | "isWatched">, end: RunClosing): void {
    const { status, result, token, now } = end;
    const { last, bytes, delivered, isWatched } = task;
    this.#end.run(status, now, result, token, last, bytes, delivered, isWatched ? 1 : 0, ref);
    this.#tasks.drop(ref);
    if (delivered > 0) this.#inbox.drop(ref, delivered);
  }

  ended(ref: number): EndedRow | undefined {
    const row = this.#ended.get(ref) as unknown as EndRow | undefined;
    if (row === undefined) return undefined;
    const [status, token, last, delivered, watched] = row;
    return { status, token, last, delivered, isWatched: watched === 1 };
  }
}

function headOf(row: unknown): RunHead | undefined {
  if (row === undefined) return undefined;
  const [ref, status, runId] = row as HeadRow;
  return { ref, status, runId };
}
