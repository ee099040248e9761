// Lets a process stand still, as one does whose machine is suspended.
import { setTimeout as pause } from "node:timers/promises";
import { traceClock } from "./cluster-actors.ts";
import type { ClusterProcess } from "./cluster-process.ts";
import { isSqliteFree } from "./sqlite-lock.ts";

/** Those who run have written by then what they were about to write. */
const SQLITE_PATIENCE_MS = 200;
/** A signal is not heard at once: until then its receiver may still begin to write. */
const HEARD_MS = 20;

/**
 * Stops it at a moment when it does not write: whoever stands still while it writes to an SQLite file keeps everybody from
 * writing, and that is not what is tested. Returns since when it stands still, as its traces count time.
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
