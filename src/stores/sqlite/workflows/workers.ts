// The rows of workers: the processes that run workflows, and the time of their last report.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoredWorker, WorkerRow } from "../../../ports/store/workflows.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";

type Row = [string, string, string, number, number, string, number];

export class SqliteWorkflowWorkers {
  readonly #seen: StatementSync;
  readonly #live: StatementSync;
  readonly #forget: StatementSync;
  readonly #all: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    this.#seen = db.prepare(
      `INSERT OR REPLACE INTO workflow_workers
         (namespace, worker, queue, build, is_sticky, is_draining, about, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    // One range of a small tree.
    this.#live = asArrays(
      `SELECT worker, seen_at FROM workflow_workers
       WHERE namespace = ? AND seen_at > ? AND is_sticky = 1 AND is_draining = 0`,
    );
    this.#forget = db.prepare("DELETE FROM workflow_workers WHERE namespace = ? AND worker = ?");
    this.#all = asArrays(
      `SELECT worker, queue, build, is_sticky, is_draining, about, seen_at FROM workflow_workers WHERE namespace = ?
       ORDER BY worker`,
    );
  }

  seen({ namespace, worker, queue, build, isSticky, isDraining, about }: WorkerRow, now: number): void {
    this.#seen.run(namespace, worker, queue, build, isSticky ? 1 : 0, isDraining ? 1 : 0, about, now);
  }

  /** Workers that may claim the runs they have in memory, with the time of their last report. */
  live(namespace: string, seenAfter: number): Map<string, number> {
    return new Map(this.#live.all(namespace, seenAfter) as unknown as [string, number][]);
  }

  forget(namespace: string, worker: string): boolean {
    return this.#forget.run(namespace, worker).changes === 1;
  }

  all(namespace: string): StoredWorker[] {
    const rows = this.#all.all(namespace) as unknown as Row[];
    return rows.map(([worker, queue, build, isSticky, isDraining, about, seenAt]) => {
      return { namespace, worker, queue, build, isSticky: isSticky === 1, isDraining: isDraining === 1, about, seenAt };
    });
  }
}
