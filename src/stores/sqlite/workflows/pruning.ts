// Removes runs that ended long ago, with all that belongs to them.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import type { EventBatches } from "./event-batches.ts";
import type { WorkflowKinds } from "./kinds.ts";

export class WorkflowPruning {
  readonly #kinds: WorkflowKinds;
  readonly #batches: EventBatches;
  readonly #ended: StatementSync;
  readonly #drop: StatementSync;

  constructor(db: DatabaseSync, kinds: WorkflowKinds, batches: EventBatches) {
    const asArrays = rowsAsArrays(db);
    this.#kinds = kinds;
    this.#batches = batches;
    // The beginning of one range, entries only: open runs are not in this index.
    this.#ended = asArrays("SELECT ref FROM workflow_runs WHERE kind = ? AND closed_at < ? ORDER BY closed_at LIMIT ?");
    // Its task and its inbox were removed when it ended.
    this.#drop = db.prepare("DELETE FROM workflow_runs WHERE ref = ?");
  }

  prune(namespace: string, endedBefore: number, limit: number): number {
    let count = 0;
    for (const { ref: kind } of this.#kinds.all(namespace)) {
      if (count >= limit) break;
      for (const [ref] of this.#ended.all(kind, endedBefore, limit - count) as unknown as [number][]) {
        this.#batches.drop(ref);
        this.#drop.run(ref);
        count++;
      }
    }
    return count;
  }
}
