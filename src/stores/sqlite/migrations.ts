// The schema, as numbered steps. Each step is one transaction that first reads the number of the file again,
// so any number of processes may start at once. A released step is never edited; the next one is added. A
// process of the release before may still run on the file: a step must leave its statements working.
import type { DatabaseSync } from "node:sqlite";
import { LimpetError } from "../../kernel/errors.ts";
import type { Transactions } from "./thread/transactions.ts";

/** Marks the file as a Limpet store: "Limp" in ASCII. */
const APPLICATION_ID = 0x4c696d70;

const STEPS = [
  // 1. Actors. Each commit rewrites a row of `actors`, so it is short. Names never change, so they are in a
  //   tree of their own, which is also the index. A state that is not small is stored separately, with its
  //   changes, so a commit to a large state never rewrites it. `pieces` counts the rows of an actor in the
  //   last two tables; as long as it is 0, a commit is one UPDATE by primary key. Text is compared byte by
  //   byte.
  `CREATE TABLE actor_names (
     namespace TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, ref INTEGER NOT NULL,
     PRIMARY KEY (namespace, type, id)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE actors (
     ref INTEGER PRIMARY KEY,
     epoch INTEGER NOT NULL,
     version INTEGER NOT NULL DEFAULT 0,
     pieces INTEGER NOT NULL DEFAULT 0,
     piece_bytes INTEGER NOT NULL DEFAULT 0,
     taken_at INTEGER NOT NULL,
     committed_at INTEGER,
     owner TEXT NOT NULL,
     commit_id TEXT,
     state TEXT
   ) STRICT;
   CREATE TABLE actor_wholes (ref INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT;
   CREATE TABLE actor_changes (
     ref INTEGER NOT NULL, version INTEGER NOT NULL, data TEXT NOT NULL,
     PRIMARY KEY (ref, version)
   ) STRICT, WITHOUT ROWID;`,
  // 2. Coordination. `leadership` has one row for ever, because its term must never go back; without an
  //   incarnation it is free. Times and leases are in milliseconds. `types` is a JSON array.
  `CREATE TABLE leadership (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     term INTEGER NOT NULL,
     incarnation TEXT,
     address TEXT NOT NULL,
     machine TEXT NOT NULL,
     pid INTEGER NOT NULL,
     dedicated INTEGER NOT NULL,
     lease_ms REAL NOT NULL,
     until REAL NOT NULL,
     host_lease_ms REAL NOT NULL,
     former_host_lease_ms REAL NOT NULL
   ) STRICT;
   INSERT INTO leadership VALUES (1, 0, NULL, '', '', 0, 0, 0, 0, 0, 0);
   CREATE TABLE schedulers (
     incarnation TEXT PRIMARY KEY,
     address TEXT NOT NULL,
     machine TEXT NOT NULL,
     pid INTEGER NOT NULL,
     dedicated INTEGER NOT NULL,
     lease_ms REAL NOT NULL,
     until REAL NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE members (
     incarnation TEXT PRIMARY KEY,
     namespace TEXT NOT NULL,
     address TEXT NOT NULL,
     machine TEXT NOT NULL,
     pid INTEGER NOT NULL,
     types TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  // 3. Reminders. Namespace and type are one short number, so that both indexes stay small. Claims read the
  //   second index, which is in due order. A lease is in neither the index nor the row: it is a row of its
  //   own, at the end of a small table, so claiming scattered rows rewrites none of them. Data that is not
  //   small is stored separately (`data_bytes` > 0), so the next tick does not rewrite it either. Generations
  //   come from a counter that never goes back; a replaced reminder is another row. Dead reminders keep their
  //   data whole: they are never rewritten. Times are in milliseconds.
  `CREATE TABLE reminder_types (
     ref INTEGER PRIMARY KEY, namespace TEXT NOT NULL, type TEXT NOT NULL,
     UNIQUE (namespace, type)
   ) STRICT;
   CREATE TABLE reminder_generations (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL) STRICT;
   INSERT INTO reminder_generations VALUES (1, 0);
   CREATE TABLE reminders (
     generation INTEGER PRIMARY KEY,
     type_ref INTEGER NOT NULL,
     id TEXT NOT NULL,
     name TEXT NOT NULL,
     at REAL NOT NULL,
     due REAL NOT NULL,
     number INTEGER NOT NULL,
     attempt INTEGER NOT NULL,
     schedule TEXT NOT NULL,
     data TEXT,
     data_bytes INTEGER NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX reminders_by_name ON reminders (type_ref, id, name);
   CREATE INDEX reminders_by_moment ON reminders (type_ref, at);
   CREATE TABLE reminder_leases (generation INTEGER PRIMARY KEY, until REAL NOT NULL, token TEXT NOT NULL) STRICT;
   CREATE TABLE reminder_data (generation INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT;
   CREATE TABLE dead_reminders (
     type_ref INTEGER NOT NULL,
     id TEXT NOT NULL,
     name TEXT NOT NULL,
     generation INTEGER NOT NULL,
     at REAL NOT NULL,
     due REAL NOT NULL,
     number INTEGER NOT NULL,
     attempt INTEGER NOT NULL,
     died_at REAL NOT NULL,
     schedule TEXT NOT NULL,
     error TEXT NOT NULL,
     data TEXT,
     UNIQUE (type_ref, id, name)
   ) STRICT;`,
  // 4. Runs of workflows. Namespace, queue and type are one short number, a kind. A row of `workflow_runs` is
  //   written when a run starts and when it ends. The columns that change with a step are in a short row of
  //   `workflow_tasks`, which only an open run has. Event batches of all histories are in the order in which
  //   they were written. Refs are never used twice, because processes wait for the end of a run by its ref.
  //   Four indexes find runs: by name, by id, by kind and status (each in the order of refs, as lists are),
  //   and by the time of their end. Two find tasks: one has ready or leased tasks by claimant and time
  //   (claims read nothing else), the other has tasks with a problem. Times are in milliseconds; states,
  //   statuses and modes: workflow-codes.ts.
  `CREATE TABLE workflow_kinds (
     ref INTEGER PRIMARY KEY, namespace TEXT NOT NULL, queue TEXT NOT NULL, type TEXT NOT NULL,
     UNIQUE (namespace, queue, type)
   ) STRICT;
   CREATE TABLE workflow_runs (
     ref INTEGER PRIMARY KEY AUTOINCREMENT,
     kind INTEGER NOT NULL,
     status INTEGER NOT NULL,
     started_at REAL NOT NULL,
     closed_at REAL,
     events INTEGER NOT NULL DEFAULT 0,
     bytes INTEGER NOT NULL DEFAULT 0,
     arrived INTEGER NOT NULL DEFAULT 0,
     watched INTEGER NOT NULL DEFAULT 0,
     namespace TEXT NOT NULL,
     workflow_id TEXT NOT NULL,
     run_id TEXT NOT NULL,
     build TEXT,
     closed_by TEXT,
     attributes TEXT NOT NULL,
     memo TEXT NOT NULL,
     result TEXT
   ) STRICT;
   CREATE INDEX workflow_runs_by_name ON workflow_runs (namespace, workflow_id);
   CREATE INDEX workflow_runs_by_id ON workflow_runs (run_id);
   CREATE INDEX workflow_runs_by_kind ON workflow_runs (kind, status);
   CREATE INDEX workflow_runs_by_end ON workflow_runs (kind, closed_at) WHERE closed_at IS NOT NULL;
   CREATE TABLE workflow_tasks (
     ref INTEGER PRIMARY KEY,
     kind INTEGER NOT NULL,
     state INTEGER NOT NULL,
     at REAL NOT NULL,
     until REAL NOT NULL,
     last INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     arrived INTEGER NOT NULL,
     taken INTEGER NOT NULL,
     attempt INTEGER NOT NULL,
     watched INTEGER NOT NULL,
     mode INTEGER,
     claimed_at REAL,
     sticky_until REAL,
     token TEXT,
     worker TEXT,
     build TEXT,
     sticky_worker TEXT,
     problem TEXT
   ) STRICT;
   CREATE INDEX workflow_tasks_by_moment ON workflow_tasks (kind, build, sticky_worker, at) WHERE state <> 0;
   CREATE INDEX workflow_tasks_with_problem ON workflow_tasks (ref) WHERE problem IS NOT NULL;
   CREATE TABLE workflow_pages (
     number INTEGER PRIMARY KEY,
     ref INTEGER NOT NULL,
     first INTEGER NOT NULL,
     count INTEGER NOT NULL,
     data TEXT NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX workflow_pages_by_run ON workflow_pages (ref, first);
   CREATE TABLE workflow_inbox (
     ref INTEGER NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, data TEXT NOT NULL,
     PRIMARY KEY (ref, number), UNIQUE (ref, key)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE workflow_workers (
     namespace TEXT NOT NULL,
     worker TEXT NOT NULL,
     queue TEXT NOT NULL,
     build TEXT NOT NULL,
     is_sticky INTEGER NOT NULL,
     is_draining INTEGER NOT NULL,
     about TEXT NOT NULL,
     seen_at REAL NOT NULL,
     PRIMARY KEY (namespace, worker)
   ) STRICT, WITHOUT ROWID;`,
  // 5. A message in the inbox may be for the workflow, and not for one run of it alone.
  "ALTER TABLE workflow_inbox ADD COLUMN goes_along INTEGER NOT NULL DEFAULT 0;",
  // 6. Shards. Each table is one tree, in the order in which it is read. A shard without a row has no home.
  `CREATE TABLE shard_rules (
     namespace TEXT NOT NULL, type TEXT NOT NULL, shards INTEGER NOT NULL, version TEXT NOT NULL,
     PRIMARY KEY (namespace, type)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE shard_homes (
     namespace TEXT NOT NULL, type TEXT NOT NULL, shard INTEGER NOT NULL, incarnation TEXT NOT NULL,
     PRIMARY KEY (namespace, type, shard)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE remembered_actors (
     namespace TEXT NOT NULL, type TEXT NOT NULL, shard INTEGER NOT NULL, id TEXT NOT NULL,
     PRIMARY KEY (namespace, type, shard, id)
   ) STRICT, WITHOUT ROWID;`,
  // 7. The secret by which processes on this file prove to each other that they may read it. One row, written
  // once.
  "CREATE TABLE cluster_secret (one INTEGER PRIMARY KEY CHECK (one = 1), secret TEXT NOT NULL) STRICT;",
  // 8. Attempts at a task that ended with their lease.
  "ALTER TABLE workflow_tasks ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;",
] as const;

/** The number of the last step. */
export const NEWEST_SCHEMA: number = STEPS.length;

export function migrateSqlite(db: DatabaseSync, transactions: Transactions, file: string): void {
  checkOwner(db, file);
  // Two checks per step: one outside, so that a current file is never locked, and one inside.
  while (schemaNumber(db, file) < STEPS.length) {
    transactions.write("STORE_UNAVAILABLE", () => {
      const number = schemaNumber(db, file);
      const step = STEPS[number];
      if (step === undefined) return;
      db.exec(`${step} PRAGMA user_version = ${number + 1}; PRAGMA application_id = ${APPLICATION_ID};`);
    });
  }
}

function pragma(db: DatabaseSync, name: "application_id" | "user_version"): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function schemaNumber(db: DatabaseSync, file: string): number {
  const number = pragma(db, "user_version");
  if (number <= STEPS.length) return number;
  throw new LimpetError(
    "STORE_INCOMPATIBLE",
    `SQLite file ${file} was written by a newer Limpet (schema ${number}, this one knows ${STEPS.length}); ` +
      "upgrade this program, or give it another file",
  );
}

function checkOwner(db: DatabaseSync, file: string): void {
  const application = pragma(db, "application_id");
  if (application === APPLICATION_ID) return;
  if (application === 0 && pragma(db, "user_version") === 0) return;
  throw new LimpetError("STORE_INCOMPATIBLE", `SQLite file ${file} belongs to another program; choose another file`);
}
