// Workers of workflows in memory: who is there, and until when whoever is not heard of again still counts as living.
import type { StoredWorker, TaskClaim, WorkerRow } from "../../ports/workflows.ts";
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

  /** Whoever is not there, is about to leave, or keeps nothing in memory does not live at all in this sense. */
  livesUntil({ namespace, staleMs }: TaskClaim, worker: string): number {
    const row = this.#rows.get(namespace)?.get(worker);
    return row?.isSticky && !row.isDraining ? row.seenAt + staleMs : 0;
  }
}
