// The tables of workflows: what a run is, what its worker changes with every step, and what is left when it is over.

/**
 * - `workflow_runs` is written when a run starts, with the first page of its history, and hardly ever changed. The runs of a workflow
 *   are numbered without gaps, and that number is unique: whoever starts one builds on the latest that it saw, and if that was not the
 *   latest any more, the number is taken and it looks again. So one run is open at most, and what is said of closed ones holds.
 * - `workflow_tasks` has one narrow row for each open run: whatever changes while it runs.
 * - `workflow_ends` has one row for each run that is over. A run is open if and only if it has a task, and over if and only if it has an
 *   end.
 * - `workflow_pages` are the pages of histories behind the first ones, `workflow_inbox` is what has arrived and was not taken yet.
 *
 * Why it is written this way:
 * - A step that keeps its lease changes only columns that no index knows, so its new version stays in its page (a HOT update). Runs that
 *   were started together go on together, so there must be room in a page for a second version of each row: hence the fillfactor.
 * - The index of what may be claimed knows a task that is leased by a moment, `at`, before which its lease is not over. Keeping a lease
 *   leaves that moment as it is; a claim that comes by later moves it on. So leases that ran out are found, and keeping one costs nothing.
 * - That index is divided by `pool`, a number for namespace, queue, type and what a run is bound to, which stands in the column `build`
 *   (workflow-pools.ts), and by the worker that has the run in memory: what waits for one worker is not in the way of the others.
 * - Nothing that is stored of a run at its end is written into its row: that would copy the first page, and change every index.
 * - `tags` are the attributes as words that can be looked for; most runs have none.
 * - Runs are listed from the latest on, by `-ref`: with `ref` itself in that index the planner, as long as it knows little of the table,
 *   would look there for a run that it could find by the primary key, or list all runs by the primary key.
 * - `cleared` is how far arrivals had been taken before the last step: those in between leave the inbox with it.
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

/** What a task is; an idle one is in no index but the primary key. */
export const IDLE = 0;
export const READY = 1;
export const LEASED = 2;
export const STATES = ["idle", "ready", "leased"] as const;

/**
 * Lost attempts at task `t`, including the attempt of an expired lease. A task that was completed since has none. The count of attempts
 * shows that, so a step need not write it.
 */
export const LOST_SO_FAR = `CASE WHEN t.state = ${LEASED} THEN least(t.lost, t.attempt - 1) + 1 ELSE least(t.lost, t.attempt) END`;

/**
 * The state of a task that is found by its key. Written so that the index of what may be claimed cannot serve it: the planner would read
 * all of that index when it believes that hardly anything is in it.
 */
export const STATE_OF_KEY = "(t.state + 0)";

/** How a task was claimed. */
export const MODES = ["sticky_hit_expected", "cold_replay", "forced_cold_replay"] as const;
export const HIT = 0;
export const COLD = 1;
export const FORCED = 2;

/** The place of row `of` in a batch whose refs stand in `$1`, in their order. */
export const placeOf = (of: string): string => `width_bucket(${of}.ref, $1::bigint[])`;

/** What an array of the batch says of row `of`. Nothing is joined: a join may begin with the table. */
export const own = (array: string, type: string, of = "t"): string => `(${array}::${type}[])[${placeOf(of)}]`;
