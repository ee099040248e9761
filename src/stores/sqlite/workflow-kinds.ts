// The short numbers of kinds of runs: a type on a queue of a namespace. They are few and stay for ever, whether there are runs of them
// or not.
import type { DatabaseSync, StatementSync } from "node:sqlite";

export interface Kind {
  readonly ref: number;
  readonly queue: string;
  readonly type: string;
}

type Row = [ref: number, queue: string, type: string];

export class WorkflowKinds {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #all: StatementSync;

  constructor(db: DatabaseSync) {
    // One seek in a tree that is always in memory.
    this.#find = db.prepare("SELECT ref FROM workflow_kinds WHERE namespace = ? AND queue = ? AND type = ?");
    this.#find.setReturnArrays(true);
    this.#insert = db.prepare("INSERT INTO workflow_kinds (namespace, queue, type) VALUES (?, ?, ?)");
    // One range.
    this.#all = db.prepare("SELECT ref, queue, type FROM workflow_kinds WHERE namespace = ?");
    this.#all.setReturnArrays(true);
  }

  find(namespace: string, queue: string, type: string): number | undefined {
    return (this.#find.get(namespace, queue, type) as unknown as [number] | undefined)?.[0];
  }

  make(namespace: string, queue: string, type: string): number {
    return this.find(namespace, queue, type) ?? Number(this.#insert.run(namespace, queue, type).lastInsertRowid);
  }

  all(namespace: string): Kind[] {
    const rows = this.#all.all(namespace) as unknown as Row[];
    return rows.map(([ref, queue, type]) => ({ ref, queue, type }));
  }
}
