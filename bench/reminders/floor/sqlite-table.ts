// The table of the floors on SQLite: a row for each reminder, found by its key and by its time, as Limpet's
// are.
import { DatabaseSync } from "node:sqlite";

export function openFile(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec(
    `CREATE TABLE IF NOT EXISTS reminders (
       generation INTEGER PRIMARY KEY, type_ref INTEGER NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL,
       due INTEGER NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL, leased_until INTEGER NOT NULL,
       schedule TEXT NOT NULL, data TEXT, token TEXT
     ) STRICT;
     CREATE UNIQUE INDEX IF NOT EXISTS reminders_by_name ON reminders (type_ref, id, name);
     CREATE INDEX IF NOT EXISTS reminders_by_moment ON reminders (type_ref, at);
     PRAGMA busy_timeout = 0`,
  );
  return database;
}
