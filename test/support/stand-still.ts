// Stops a process, as on a suspended machine.
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { traceClock } from "./cluster-actors.ts";
import type { ClusterProcess } from "./cluster-process.ts";

/** Running processes have finished their writes by then. */
const SQLITE_PATIENCE_MS = 200;
/** A signal takes effect with a delay: until then its receiver may still begin to write. */
const RECEIVED_MS = 20;

/**
 * Stops it at a moment when it does not write: a process that is stopped during a write to an SQLite file
 * blocks all other writers, which is not the subject of the tests. Returns the time since when it is stopped,
 * as its traces count time.
 */
export async function standStill(host: ClusterProcess, store: string): Promise<number> {
  for (let attempt = 0; ; attempt++) {
    const from = traceClock();
    host.signal("SIGSTOP");
    await pause(RECEIVED_MS);
    if (attempt === 100 || /^postgres/.test(store) || isSqliteFree(store, SQLITE_PATIENCE_MS)) return from;
    host.signal("SIGCONT");
    await pause(attempt);
  }
}

/**
 * Takes the write lock of an SQLite file, as another process on the same file would. Held until the returned
 * function is called.
 */
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
