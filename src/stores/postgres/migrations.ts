// The tables, as numbered steps. A released step never changes: a later step alters the tables that it
// created.
import { coordinationTables, termsByClock } from "./coordination/tables.ts";
import { reminderOrder, reminderTables } from "./reminders/tables.ts";
import { shardTables } from "./shards/tables.ts";
import { workflowTables } from "./workflows/tables.ts";

export interface Migration {
  readonly number: number;
  readonly name: string;
  /** `schema` is already quoted. */
  readonly sql: (schema: string) => string;
}

/**
 * `actors` has one row per actor that was ever taken: its owner's fence (epoch), its version, and its state
 * while that is small.
 *
 * A large state is stored in `actor_parts`: one whole chunk, then one chunk for each change. `base` is the
 * version of the first chunk, 0 when there are none. `state` is the whole state when that is small; a small
 * state with changes has both.
 *
 * Reasons for this layout:
 * - Commits change only columns without an index, and pages keep a fifth of their space free. So the new
 *   version of a row stays in its page (a HOT update): no index is touched, and the next visit to the page
 *   removes the old version. Measured: 98 to 100 % of all updates.
 * - Vacuum has little left to do per row, so it runs after a small share of the table has changed instead of
 *   a fifth.
 * - Names compare by their bytes (COLLATE "C"), which is by code point: the same order on every server, and
 *   no index breaks when a server's language rules change.
 * - States up to a kilobyte stay in the row. Chunks are stored uncompressed: compression saved half of the
 *   bytes and cost half of the throughput.
 */
const actors: Migration = {
  number: 1,
  name: "actors",
  sql: (schema) => `
    CREATE TABLE ${schema}.actors (
      ref bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      namespace text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      epoch bigint NOT NULL,
      version bigint NOT NULL DEFAULT 0,
      commit_id text COLLATE "C",
      owner text NOT NULL,
      state text,
      base bigint NOT NULL DEFAULT 0,
      bytes bigint NOT NULL DEFAULT 0,
      taken_at timestamptz NOT NULL,
      committed_at timestamptz,
      UNIQUE (namespace, type, id)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

    CREATE TABLE ${schema}.actor_parts (
      ref bigint NOT NULL,
      version bigint NOT NULL,
      data text NOT NULL,
      PRIMARY KEY (ref, version)
    ) WITH (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);

    ALTER TABLE ${schema}.actor_parts ALTER COLUMN data SET STORAGE EXTERNAL;
  `,
};

const coordination: Migration = { number: 2, name: "coordination", sql: coordinationTables };

const reminders: Migration = { number: 3, name: "reminders", sql: reminderTables };

const workflows: Migration = { number: 4, name: "workflows", sql: workflowTables };

/** A message in the inbox may be for the workflow, and not for one run of it alone. */
const goingAlong: Migration = {
  number: 5,
  name: "going along",
  sql: (schema) => `ALTER TABLE ${schema}.workflow_inbox ADD COLUMN goes_along boolean NOT NULL DEFAULT false;`,
};

const order: Migration = { number: 6, name: "order of reminders", sql: reminderOrder };

const shards: Migration = { number: 7, name: "shards", sql: shardTables };

/**
 * The secret by which processes on this database prove to each other that they may read it. One row, written
 * once.
 */
const clusterSecret: Migration = {
  number: 8,
  name: "secret of the cluster",
  sql: (schema) => `
    CREATE TABLE ${schema}.cluster_secret (one boolean PRIMARY KEY DEFAULT true CHECK (one), secret text NOT NULL);`,
};

/** Attempts at a task of a run that ended with their lease. */
const lostAttempts: Migration = {
  number: 9,
  name: "lost attempts",
  sql: (schema) => `ALTER TABLE ${schema}.workflow_tasks ADD COLUMN lost integer NOT NULL DEFAULT 0;`,
};

const terms: Migration = { number: 10, name: "terms by clock", sql: termsByClock };

export const MIGRATIONS: readonly Migration[] = [
  actors,
  coordination,
  reminders,
  workflows,
  goingAlong,
  order,
  shards,
  clusterSecret,
  lostAttempts,
  terms,
];
