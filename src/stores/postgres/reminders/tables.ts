// The tables of reminders: one row each, with dead reminders in a table of their own.

/**
 * Reasons for this layout:
 * - A claim writes `leased_until` and `token`, which have no index, so the new version stays in its page (a
 *   HOT update): no index is touched, and the next visit to the page removes the old version. Reminders that
 *   were set together are due together, so one claim leases every row of a page at once. The page must have
 *   room for a second version of each row, which is longer by the token. With a fillfactor of 70 only half of
 *   such leases were HOT, claims took twice the time, and the table grew to twice the size.
 * - `generation` is the primary key because claims and settlements name it: a number in one index instead of
 *   four words. A row that is replaced gets a new generation, so a holder of the old one finds nothing, and
 *   no version is compared.
 * - Claims read the index on (queue, at), one range per type: types without claims cost nothing, however many
 *   of their rows are due. `queue` is a number for namespace and type (reminder-queue.ts). With the words
 *   themselves in both indexes, a planner with few statistics would search a key among all due rows. Or it
 *   would sort a whole type to find its first row.
 * - Rows come and go all the time, and claims start at the end of the index with the dead rows. So vacuum
 *   runs after a hundredth of the table has changed, and without pauses. It does not truncate the file:
 *   truncation locks the table exclusively, in the very moment in which everything is due.
 * - Times are milliseconds since 1970 as numbers: they are compared and added, never shown as dates.
 * - A user that may write rows may number them: the sequence is open to all users of the schema, so rights on
 *   tables suffice.
 * - `is_new` records how a row was set. On conflict, an insert can read the condition only from the row that
 *   it inserts.
 *
 * A dead reminder replaces an earlier dead one of its key. It is independent of a live reminder of the same
 * key.
 */
export const reminderTables = (schema: string): string => `
    CREATE SEQUENCE ${schema}.reminder_generations;
    GRANT USAGE ON SEQUENCE ${schema}.reminder_generations TO PUBLIC;

    CREATE TABLE ${schema}.reminders (
      generation bigint PRIMARY KEY,
      queue bigint NOT NULL,
      at bigint NOT NULL,
      due bigint NOT NULL,
      number bigint NOT NULL,
      attempt bigint NOT NULL,
      leased_until bigint NOT NULL,
      is_new boolean NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      schedule text NOT NULL,
      data text,
      token text COLLATE "C",
      UNIQUE (namespace, type, id, name)
    ) WITH (fillfactor = 45, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.01,
            autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
            toast.autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_vacuum_cost_delay = 0);

    CREATE INDEX reminders_due ON ${schema}.reminders (queue, at);

    CREATE TABLE ${schema}.dead_reminders (
      generation bigint NOT NULL,
      at bigint NOT NULL,
      due bigint NOT NULL,
      number bigint NOT NULL,
      attempt bigint NOT NULL,
      died_at bigint NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      schedule text NOT NULL,
      data text,
      error text NOT NULL,
      PRIMARY KEY (namespace, type, id, name)
    );
`;

/**
 * Gives every row a place of its own in the index of claims, where the next claim may start (low-marks.ts).
 * That holds also when a million rows are due in the same millisecond. A lookup by generation must not use
 * this index, which the planner prefers while its statistics report an empty table. The index therefore
 * contains a sum, which no lookup matches.
 */
export const reminderOrder = (schema: string): string => `
    DROP INDEX ${schema}.reminders_due;
    CREATE INDEX reminders_due ON ${schema}.reminders (queue, at, (generation + 0));
`;

/**
 * The server's clock in milliseconds, shared by all processes. Not `now()`, which stands still from the
 * beginning of a transaction: leases would be shorter by the time a statement waits. The clock advances
 * within a statement, so each statement reads it once and uses that value throughout.
 */
export const MILLIS = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
