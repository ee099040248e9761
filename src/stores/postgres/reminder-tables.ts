// The tables of reminders: one row each, the dead ones apart.

/**
 * Why it is written this way:
 * - Whoever claims a row writes `leased_until` and `token`, which no index knows, so that the new version stays in its page (a HOT
 *   update): no index is touched and the next visitor of the page removes the old version. Reminders that were set together are due
 *   together, so one claim leases every row of a page at once: there must be room for a second version of each, which is longer by
 *   the token. With a fillfactor of 70 only half of such leases were HOT, claims cost twice the time, and the table grew as large.
 * - `generation` is the primary key because claims and settlements name it, a number in one index instead of four words. A row that is
 *   set anew gets a new one, so whoever knows the old one finds nothing, and no version has to be compared.
 * - Claims read the index on (queue, at), one range per type: types that nobody asks for cost nothing, however many of theirs are due.
 *   `queue` is a number for namespace and type (reminder-queue.ts). With the words themselves in both indexes the planner, as long
 *   as it knows little of the table, would look for a key among all that are due, or sort all of a type to find the first.
 * - Rows come and go all the time, and claims begin at the end of the index where the dead ones are. So vacuum comes after a hundredth
 *   of the table has changed, and does not pause. It leaves the file as long as it is: cutting off the empty end needs the
 *   table for itself, in the very moment in which everything is due.
 * - Times are milliseconds since 1970 as numbers: they are compared and added, never shown as dates.
 * - Whoever may write rows may number them: the sequence is open to all who may use the schema, so that rights on tables are enough.
 * - `is_new` is how a row was set. An insert that meets another row can only ask the row it brings whether to replace it.
 *
 * A dead reminder replaces an earlier dead one of its key; the living one of its key has nothing to do with it.
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
 * Every row gets a place of its own in the index that claims read, at which the next claim may begin (low-marks.ts), also when a million
 * are due in the same millisecond. Whoever looks for a generation must not come this way, as the planner would have it while it
 * believes that the table is empty; so here it is a sum, by which nobody looks.
 */
export const reminderOrder = (schema: string): string => `
    DROP INDEX ${schema}.reminders_due;
    CREATE INDEX reminders_due ON ${schema}.reminders (queue, at, (generation + 0));
`;

/**
 * The server's clock, in milliseconds: that of nobody else, because all processes share it. Not `now()`, which stands still from the
 * beginning of a transaction, so that whatever a statement waits for would be missing from the leases it gives. It moves on within
 * a statement, so each one reads it once and means that moment throughout.
 */
export const MILLIS = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
