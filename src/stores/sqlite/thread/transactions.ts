// Runs transactions and waits for the lock of another process. Runs in the worker thread, where blocking is
// fine. A transaction is applied whole or not at all. Only when COMMIT itself fails is the outcome ambiguous,
// and the error has a code for that.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { backoffMs } from "../../../kernel/backoff.ts";
import { LimpetError } from "../../../kernel/errors.ts";
import { isBusy } from "../sqlite-errors.ts";

const still = new Int32Array(new SharedArrayBuffer(4));
const LONGEST_PAUSE_MS = 2;

/**
 * Runs `attempt` until it meets no lock of another process, for at most `timeoutMs`.
 *
 * SQLite's own busy timeout sleeps up to 100 ms between two attempts. A writer holds the lock for about one,
 * and takes it again at once when it has more to do: a second process would starve. Frequent attempts with a
 * little randomness give both processes the lock within milliseconds.
 */
export function patiently<T>(timeoutMs: number, attempt: () => T): T {
  const deadline = performance.now() + timeoutMs;
  for (let tries = 0; ; tries++) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    Atomics.wait(still, 0, 0, backoffMs(tries, 0.1, LONGEST_PAUSE_MS) * (0.5 + Math.random()));
  }
}

/**
 * The error code for a COMMIT that failed. Work that is harmless to repeat, such as raising an epoch, fails
 * with STORE_UNAVAILABLE.
 */
export type Uncertain = "COMMIT_UNKNOWN" | "STORE_UNAVAILABLE";

export class Transactions {
  readonly #db: DatabaseSync;
  readonly #busyTimeoutMs: number;
  readonly #begin: StatementSync;
  readonly #beginRead: StatementSync;
  readonly #commit: StatementSync;

  constructor(db: DatabaseSync, busyTimeoutMs: number) {
    this.#db = db;
    this.#busyTimeoutMs = busyTimeoutMs;
    // IMMEDIATE takes the write lock before the first read, so a write never builds on stale data.
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#beginRead = db.prepare("BEGIN");
    this.#commit = db.prepare("COMMIT");
  }

  /** `work` may run several times, but its effect is applied once. `uncertain` may depend on that work. */
  write<T>(uncertain: Uncertain | (() => Uncertain), work: () => T): T {
    return patiently(this.#busyTimeoutMs, () => this.#once(this.#begin, uncertain, work));
  }

  /** All of `work` sees the same snapshot. */
  read<T>(work: () => T): T {
    return patiently(this.#busyTimeoutMs, () => this.#once(this.#beginRead, "STORE_UNAVAILABLE", work));
  }

  #once<T>(begin: StatementSync, uncertain: Uncertain | (() => Uncertain), work: () => T): T {
    begin.run();
    let result: T;
    try {
      result = work();
    } catch (error) {
      this.#rollback();
      throw error;
    }
    try {
      this.#commit.run();
    } catch (error) {
      this.#rollback();
      if (isBusy(error)) throw error;
      // The commit record may already be in the log when the flush behind it fails; the next recovery of the
      // log could then apply it.
      const code = typeof uncertain === "function" ? uncertain() : uncertain;
      throw new LimpetError(code, `COMMIT failed and may have been applied (${error})`, { cause: error });
    }
    return result;
  }

  /** Some errors have already ended the transaction. */
  #rollback(): void {
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }
}
