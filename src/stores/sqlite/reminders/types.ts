// The short numbers of namespaces and types. They are few and stay for ever, with or without reminders.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { rowsAsArrays } from "../rows-as-arrays.ts";

/** A type of one namespace: its number and its name. */
export type TypeRow = [ref: number, type: string];

export class ReminderTypes {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #all: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // One seek in a tree that is always in memory.
    this.#find = asArrays("SELECT ref FROM reminder_types WHERE namespace = ? AND type = ?");
    this.#insert = db.prepare("INSERT INTO reminder_types (namespace, type) VALUES (?, ?)");
    // One range, already in order.
    this.#all = asArrays("SELECT ref, type FROM reminder_types WHERE namespace = ? ORDER BY type");
  }

  find(namespace: string, type: string): number | undefined {
    return (this.#find.get(namespace, type) as unknown as [number] | undefined)?.[0];
  }

  make(namespace: string, type: string): number {
    return this.find(namespace, type) ?? Number(this.#insert.run(namespace, type).lastInsertRowid);
  }

  /** By code point. */
  all(namespace: string): TypeRow[] {
    return this.#all.all(namespace) as unknown as TypeRow[];
  }
}
