// Workers of workflows in memory, and the time until which each counts as alive without a new report.
import type { StoredWorker, TaskClaim, WorkerRow } from "../../ports/store/workflows.ts";
import { byCodePoint } from "./code-points.ts";

export class WorkerRows {
  readonly #rows = new Map<string, Map<string, StoredWorker>>();

  seen({ namespace, worker, queue, build, isSticky, isDraining, about }: WorkerRow, seenAt: number): void {
    const workers = this.#rows.get(namespace) ?? new Map<string, StoredWorker>();
    const row = { namespace, worker, queue, build, isSticky, isDraining, about, seenAt };
    this.#rows.set(namespace, workers.set(worker, row));
  }

  forget(namespace: string, worker: string): boolean {
    return this.#rows.get(namespace)?.delete(worker) ?? false;
  }

  list(namespace: string): StoredWorker[] {
    const workers = [...(this.#rows.get(namespace)?.values() ?? [])];
    return workers.sort((a, b) => byCodePoint(a.worker, b.worker));
  }

  /** A worker that is unknown, draining or without sticky execution does not count as alive here. */
  livesUntil({ namespace, staleMs }: TaskClaim, worker: string): number {
    const row = this.#rows.get(namespace)?.get(worker);
    return row?.isSticky && !row.isDraining ? row.seenAt + staleMs : 0;
  }
}
