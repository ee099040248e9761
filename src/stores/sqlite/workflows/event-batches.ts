// Event batches of histories: they are appended, read in order, and removed with their run. They never
// change.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EventBatch, RunBatches } from "../../../ports/store/workflows.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";

type Row = [from: number, count: number, data: string];

export class EventBatches {
  readonly #insert: StatementSync;
  readonly #firstBeyond: StatementSync;
  readonly #read: StatementSync;
  readonly #at: StatementSync;
  readonly #drop: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // Event batches of all runs are stored in the order in which they were written, at the end of the table.
    // Only a short entry goes to the run's place in the index. So the batches of a thousand runs in one
    // transaction change few pages of the file. In the order of runs, each of them would rewrite a page of
    // its own, which is three times as slow.
    this.#insert = db.prepare("INSERT INTO workflow_pages (ref, first, count, data) VALUES (?, ?, ?, ?)");
    // One seek: the batch with the event, if there is one.
    this.#firstBeyond = asArrays(
      "SELECT first FROM workflow_pages WHERE ref = ? AND first <= ? ORDER BY first DESC LIMIT 1",
    );
    // One range of the index, and a seek for each batch.
    this.#read = asArrays("SELECT first, count, data FROM workflow_pages WHERE ref = ? AND first >= ? ORDER BY first");
    this.#at = asArrays("SELECT data FROM workflow_pages WHERE ref = ? AND first = ?");
    this.#drop = db.prepare("DELETE FROM workflow_pages WHERE ref = ?");
  }

  /** Returns the number of bytes. */
  put(ref: number, first: number, { count, data }: EventBatch): number {
    this.#insert.run(ref, first, count, data);
    return Buffer.byteLength(data);
  }

  /** True if this batch, and no other, begins with that event. */
  isAt(ref: number, first: number, { data }: EventBatch): boolean {
    const row = this.#at.get(ref, first) as unknown as [string] | undefined;
    return row?.[0] === data;
  }

  read(ref: number, after: number, bytes: number): RunBatches {
    const [start] = (this.#firstBeyond.get(ref, after + 1) as unknown as [number] | undefined) ?? [after + 1];
    const batches: (EventBatch & { readonly from: number })[] = [];
    let left = bytes;
    for (const [from, count, data] of this.#read.iterate(ref, start) as Iterable<unknown> as Iterable<Row>) {
      if (from + count <= after + 1) continue;
      left -= Buffer.byteLength(data);
      if (left < 0 && batches.length > 0) return { batches, isCut: true };
      batches.push({ from, count, data });
    }
    return { batches, isCut: false };
  }

  drop(ref: number): void {
    this.#drop.run(ref);
  }
}
