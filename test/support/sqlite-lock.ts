// The write lock of an SQLite file, as another process on the same file sees it.
import { DatabaseSync } from "node:sqlite";

/** Held until the returned function is called. */
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

/** True if no process holds it, for at least this long. */
export function isSqliteFree(file: string, patienceMs: number): boolean {
  try {
    lockSqlite(file, patienceMs)();
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === 5) return false;
    throw error;
  }
}
