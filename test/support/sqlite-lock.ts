// The one lock of an SQLite file, under which everything is written, as somebody else on the same file sees it.
import { DatabaseSync } from "node:sqlite";

/** Held until what it returns is called. */
export function lockSqlite(file: string, patienceMs: number): () => void {
  const db = new DatabaseSync(file);
  try {
    db.exec(`PRAGMA busy_timeout = ${patienceMs}; BEGIN IMMEDIATE`);
  } catch (error) {
    db.close();
    throw error;
  }
  return () => {
    db.exec("ROLLBACK");
    db.close();
  };
}

/** Does nobody hold it, at least for this moment of patience? */
export function isSqliteFree(file: string, patienceMs: number): boolean {
  try {
    lockSqlite(file, patienceMs)();
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === 5) return false;
    throw error;
  }
}
