// Messages for the holder of a run's task: numbered, and unique by key while they are stored.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { InboxMessage, StoredInboxMessage } from "../../../ports/store/workflows.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";

export class WorkflowInbox {
  readonly #insert: StatementSync;
  readonly #numberOf: StatementSync;
  readonly #read: StatementSync;
  readonly #left: StatementSync;
  readonly #drop: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // Two trees with one row each, both by the run: a second message with the same key meets the first.
    this.#insert = db.prepare(
      "INSERT INTO workflow_inbox (ref, number, key, data, goes_along) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    );
    this.#numberOf = asArrays("SELECT number FROM workflow_inbox WHERE ref = ? AND key = ?");
    // One range, already in order.
    this.#read = asArrays(
      "SELECT number, key, data FROM workflow_inbox WHERE ref = ? AND number > ? ORDER BY number LIMIT ?",
    );
    this.#left = asArrays(
      "SELECT key, data FROM workflow_inbox WHERE ref = ? AND number > ? AND goes_along = 1 ORDER BY number",
    );
    this.#drop = db.prepare("DELETE FROM workflow_inbox WHERE ref = ? AND number <= ?");
  }

  /** False: a message with this key is already stored. */
  put(ref: number, number: number, { key, data, goesAlong }: InboxMessage): boolean {
    return this.#insert.run(ref, number, key, data, goesAlong ? 1 : 0).changes === 1;
  }

  numberOf(ref: number, key: string): number {
    return (this.#numberOf.get(ref, key) as unknown as [number])[0];
  }

  read(ref: number, after: number, limit: number): StoredInboxMessage[] {
    const rows = this.#read.all(ref, after, limit) as unknown as [number, string, string][];
    return rows.map(([number, key, data]) => ({ number, key, data }));
  }

  /** The messages that move on to the next run when this one has taken all up to that number. */
  left(ref: number, taken: number): Pick<InboxMessage, "key" | "data" | "goesAlong">[] {
    const rows = this.#left.all(ref, taken) as unknown as [string, string][];
    return rows.map(([key, data]) => ({ key, data, goesAlong: true }));
  }

  /** Deletes all messages up to this number. */
  drop(ref: number, number: number): void {
    this.#drop.run(ref, number);
  }
}
