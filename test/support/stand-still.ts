// Stops a process, as on a suspended machine.
import { setTimeout as pause } from "node:timers/promises";
import { traceClock } from "./cluster-actors.ts";
import type { ClusterProcess } from "./cluster-process.ts";
import { isSqliteFree } from "./sqlite-lock.ts";

/** Running processes have finished their writes by then. */
const SQLITE_PATIENCE_MS = 200;
/** A signal takes effect with a delay: until then its receiver may still begin to write. */
const HEARD_MS = 20;

/**
 * Stops it at a moment when it does not write: a process that is stopped during a write to an SQLite file
 * blocks all other writers, which is not the subject of the tests. Returns the time since when it is stopped,
 * as its traces count time.
 */
export async function standStill(host: ClusterProcess, store: string): Promise<number> {
  for (let attempt = 0; ; attempt++) {
    const from = traceClock();
    host.signal("SIGSTOP");
    await pause(HEARD_MS);
    if (attempt === 100 || /^postgres/.test(store) || isSqliteFree(store, SQLITE_PATIENCE_MS)) return from;
    host.signal("SIGCONT");
    await pause(attempt);
  }
}
