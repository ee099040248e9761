// The tables of workflows: the fixed data of a run, the columns that its worker changes with every step, and
// the data of closed runs.
import { IDLE, LEASED } from "../../task-states.ts";

/**
 * - `workflow_runs` is written when a run starts, with the first event batch of its history, and hardly ever
 *   changed. The runs of a workflow are numbered without gaps, and the number is unique. A start builds on
 *   the latest run that it saw. If there is a later run, the number is taken and the start looks again. So at
 *   most one run is open, and the data of closed runs stays valid.
 * - `workflow_tasks` has one narrow row for each open run: all columns that change while it runs.
 * - `workflow_ends` has one row for each closed run. A run is open if and only if it has a task, and closed
 *   if and only if it has an end.
 * - `workflow_pages` has the event batches of histories behind the first ones; `workflow_inbox` has the
 *   messages that were delivered and not taken yet.
 *
 * Reasons for this layout:
 * - A step that keeps its lease changes only columns without an index, so the new version stays in its page
 *   (a HOT update). Runs that were started together go on together, so a page must have room for a second
 *   version of each row: hence the fillfactor.
 * - In the index of claimable tasks, a leased task has a time, `at`, before which its lease does not end.
 *   Renewing a lease leaves that time unchanged; a later claim moves it forward. So ended leases are found,
 *   and a renewal costs nothing.
 * - That index is divided by `pool` and by the worker that has the run in memory. `pool` is a number for
 *   namespace, queue, type and pin of a run (workflow-pools.ts); the pin is in the column `build`. So the
 *   backlog of one worker does not slow down the others.
 * - The end of a run is not written into its row: that would copy the first event batch and change every
 *   index.
 * - `tags` are the attributes as searchable words; most runs have none.
 * - Runs are listed from the latest on, by `-ref`. With `ref` itself in that index, a planner with few
 *   statistics would search that index for a run that the primary key finds. Or it would list all runs by the
 *   primary key.
 * - `cleared` is the number of the last message taken before the last step. That step deletes the messages
 *   from there up to `taken`.
 */
export const workflowTables = (schema: string): string => `
    CREATE SEQUENCE ${schema}.workflow_refs;
    GRANT USAGE ON SEQUENCE ${schema}.workflow_refs TO PUBLIC;

    CREATE TABLE ${schema}.workflow_runs (
      ref bigint PRIMARY KEY,
      number bigint NOT NULL,
      started_at bigint NOT NULL,
      first_count bigint NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      workflow_id text COLLATE "C" NOT NULL,
      run_id text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      queue text COLLATE "C" NOT NULL,
      build text COLLATE "C",
      attributes text NOT NULL,
      memo text NOT NULL,
      first_page text NOT NULL,
      tags text[],
      UNIQUE (namespace, workflow_id, number)
    ) WITH (fillfactor = 95, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

    ALTER TABLE ${schema}.workflow_runs ALTER COLUMN first_page SET STORAGE EXTERNAL;
    CREATE INDEX workflow_runs_run_id ON ${schema}.workflow_runs (run_id);
    CREATE INDEX workflow_runs_in_order ON ${schema}.workflow_runs (namespace, (-ref));
    CREATE INDEX workflow_runs_tags ON ${schema}.workflow_runs USING gin (tags) WHERE tags IS NOT NULL;

    CREATE TABLE ${schema}.workflow_tasks (
      ref bigint PRIMARY KEY,
      pool bigint NOT NULL,
      at bigint NOT NULL,
      last bigint NOT NULL,
      bytes bigint NOT NULL,
      arrived bigint NOT NULL DEFAULT 0,
      taken bigint NOT NULL DEFAULT 0,
      cleared bigint NOT NULL DEFAULT 0,
      leased_until bigint NOT NULL,
      claimed_at bigint,
      sticky_until bigint NOT NULL DEFAULT 0,
      attempt integer NOT NULL,
      state smallint NOT NULL,
      mode smallint,
      is_watched boolean NOT NULL DEFAULT false,
      namespace text COLLATE "C" NOT NULL,
      sticky text COLLATE "C" NOT NULL DEFAULT '',
      worker text COLLATE "C",
      token text COLLATE "C",
      problem text
    ) WITH (fillfactor = 45, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.01,
            autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

    CREATE INDEX workflow_tasks_due ON ${schema}.workflow_tasks (pool, sticky, at) WHERE state <> ${IDLE};

    CREATE TABLE ${schema}.workflow_ends (
      ref bigint PRIMARY KEY,
      closed_at bigint NOT NULL,
      events bigint NOT NULL,
      bytes bigint NOT NULL,
      is_watched boolean NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      status text COLLATE "C" NOT NULL,
      token text COLLATE "C",
      result text NOT NULL
    ) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);

    CREATE INDEX workflow_ends_in_order ON ${schema}.workflow_ends (namespace, closed_at);
    CREATE INDEX workflow_ends_by_status ON ${schema}.workflow_ends (namespace, status, ref) WHERE status <> 'completed';

    CREATE TABLE ${schema}.workflow_pages (
      ref bigint NOT NULL,
      first bigint NOT NULL,
      count bigint NOT NULL,
      data text NOT NULL,
      PRIMARY KEY (ref, first)
    ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
            toast.autovacuum_vacuum_scale_factor = 0.05);

    ALTER TABLE ${schema}.workflow_pages ALTER COLUMN data SET STORAGE EXTERNAL;

    CREATE TABLE ${schema}.workflow_inbox (
      ref bigint NOT NULL,
      number bigint NOT NULL,
      key text COLLATE "C" NOT NULL,
      data text NOT NULL,
      PRIMARY KEY (ref, number),
      UNIQUE (ref, key)
    ) WITH (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
            autovacuum_vacuum_cost_delay = 0);

    CREATE TABLE ${schema}.workflow_workers (
      seen_at bigint NOT NULL,
      is_sticky boolean NOT NULL,
      is_draining boolean NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      worker text COLLATE "C" NOT NULL,
      queue text COLLATE "C" NOT NULL,
      build text COLLATE "C" NOT NULL,
      about text NOT NULL,
      PRIMARY KEY (namespace, worker)
    ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
`;

export const STATES = ["idle", "ready", "leased"] as const;

/**
 * Lost attempts at task `t`, including the attempt of an expired lease. A task that was completed since has
 * none. The count of attempts shows that, so a step need not write it.
 */
export const LOST_SO_FAR = `CASE WHEN t.state = ${LEASED} THEN least(t.lost, t.attempt - 1) + 1 ELSE least(t.lost, t.attempt) END`;

/**
 * The state of a task that is found by its key. In this form the index of claimable tasks cannot serve it:
 * the planner would read all of that index when its statistics report an almost empty one.
 */
export const STATE_OF_KEY = "(t.state + 0)";

/** How a task was claimed. */
export const MODES = ["sticky_hit_expected", "cold_replay", "forced_cold_replay"] as const;
export const HIT = 0;
export const COLD = 1;
export const FORCED = 2;

/** The place of row `of` in a batch with its refs in `$1`, in order. */
export const taskPlaceOf = (of: string): string => `width_bucket(${of}.ref, $1::bigint[])`;

/**
 * The value for row `of` in an array of the batch. The statement has no join: a join may start with the
 * table.
 */
export const own = (array: string, type: string, of = "t"): string => `(${array}::${type}[])[${taskPlaceOf(of)}]`;
