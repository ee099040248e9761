// Opens the file with the required settings: write-ahead log, every commit flushed to the disk, current
// schema. Runs in the worker thread.
import { DatabaseSync } from "node:sqlite";
import { LimpetError } from "../../kernel/errors.ts";
import { migrateSqlite } from "./migrations.ts";
import { patiently, Transactions } from "./thread/transactions.ts";
import { IN_MEMORY, type WorkerStart } from "./thread/verbs.ts";

const SETTINGS = `
  -- A commit is answered when it has reached the disk, not only the operating system.
  PRAGMA synchronous = FULL;
  -- We wait for locks ourselves (transactions.ts).
  PRAGMA busy_timeout = 0;
  -- Pages of the write-ahead log, 4 KiB each, that may gather before they are copied into the file. Busy rows are
  -- written many times between two copies and copied once; more than this only makes the next start slower.
  PRAGMA wal_autocheckpoint = 4000;
  -- A log that a long reader made huge shrinks again.
  PRAGMA journal_size_limit = 67108864;
  -- In KiB. The default of 2 MiB does not hold the inner pages of a few hundred thousand actors.
  PRAGMA cache_size = -16384;
`;

export function openDatabase({ file, busyTimeoutMs }: WorkerStart): { db: DatabaseSync; transactions: Transactions } {
  const db = new DatabaseSync(file);
  try {
    const transactions = new Transactions(db, busyTimeoutMs);
    // Other processes that start at the same time may lock the whole file for a moment, to enable the log or
    // to recover it.
    patiently(busyTimeoutMs, () => {
      db.exec(SETTINGS);
      useWriteAheadLog(db, file);
      migrateSqlite(db, transactions, file);
    });
    return { db, transactions };
  } catch (error) {
    db.close();
    throw error;
  }
}

function useWriteAheadLog(db: DatabaseSync, file: string): void {
  if (file === IN_MEMORY) return;
  const mode = db.prepare("PRAGMA journal_mode = WAL").get()?.journal_mode;
  if (mode === "wal") return;
  throw new LimpetError(
    "STORE_INCOMPATIBLE",
    `SQLite file ${file} is on a file system without shared memory; put it on a local disk`,
  );
}
