// The short numbers of kinds of runs: a type on a queue of a namespace. They stay for ever, with or without
// runs. An application with a queue for each of its tenants has very many, so only pruning reads all of them.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { rowsAsArrays } from "../rows-as-arrays.ts";

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
  readonly #some: StatementSync;
  readonly #ofQueue: StatementSync;
  readonly #get: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // One seek in a tree that is always in memory.
    this.#find = asArrays("SELECT ref FROM workflow_kinds WHERE namespace = ? AND queue = ? AND type = ?");
    this.#insert = db.prepare("INSERT INTO workflow_kinds (namespace, queue, type) VALUES (?, ?, ?)");
    // One range.
    this.#all = asArrays("SELECT ref, queue, type FROM workflow_kinds WHERE namespace = ?");
    // The beginning of one range.
    this.#some = asArrays("SELECT ref, queue, type FROM workflow_kinds WHERE namespace = ? LIMIT ?");
    this.#ofQueue = asArrays("SELECT ref, queue, type FROM workflow_kinds WHERE namespace = ? AND queue = ? LIMIT ?");
    this.#get = asArrays("SELECT namespace, queue, type FROM workflow_kinds WHERE ref = ?");
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

  /** The kinds of a namespace, or of one queue of it; undefined when there are more than `most`. */
  few(namespace: string, queue: string | undefined, most: number): Kind[] | undefined {
    const found =
      queue === undefined ? this.#some.all(namespace, most + 1) : this.#ofQueue.all(namespace, queue, most + 1);
    const rows = found as unknown as Row[];
    return rows.length > most ? undefined : rows.map(([ref, queue, type]) => ({ ref, queue, type }));
  }

  get(ref: number): Omit<Kind, "ref"> & { readonly namespace: string } {
    const [namespace, queue, type] = this.#get.get(ref) as unknown as [string, string, string];
    return { namespace, queue, type };
  }
}
