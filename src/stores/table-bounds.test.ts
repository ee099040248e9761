// Every table of a store has a bound on its rows, and this file names it. A new table without one fails the
// test: decide which operation removes its rows.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import pg from "pg";
import { startPostgres } from "../../test/support/postgres.ts";
import { openPostgresStore } from "./postgres/postgres-store.ts";
import { openSqliteStore } from "./sqlite/sqlite-store.ts";

const PER_ACTOR = "rows of actors that exist; a cleared actor keeps its row, because its epoch must not repeat";
const PER_REMINDER = "reminders that are set: removed with the last tick or by cancel";
const PER_RUN = "open runs, and ended ones until prune()";
const ONE_ROW = "one row";

/** The bound of each table. Tables of one name are bounded alike on both stores. */
const BOUNDS: Readonly<Record<string, string>> = {
  actors: PER_ACTOR,
  actor_names: PER_ACTOR,
  actor_wholes: "one for each actor with a large state",
  actor_changes: "changes of large states: folded into the whole when they are as long as it is",
  actor_parts: "chunks of large states: folded into one when the changes are as long as the whole",
  leadership: ONE_ROW,
  schedulers: "LIMITS.schedulers; a campaign removes the ones with an ended lease",
  members: "LIMITS.members; the leader removes the ones that are gone",
  cluster_secret: ONE_ROW,
  reminders: PER_REMINDER,
  reminder_types: "types of actors, jobs and queues of activities that ever had a reminder",
  reminder_generations: ONE_ROW,
  reminder_leases: "reminders that are claimed: removed when they are settled, replaced or cancelled",
  reminder_data: PER_REMINDER,
  dead_reminders: "reminders that were given up, until an operator retries or drops them",
  workflow_kinds: "kinds of workflows: namespace, queue and type",
  workflow_runs: PER_RUN,
  workflow_pages: PER_RUN,
  workflow_ends: PER_RUN,
  workflow_tasks: "open runs: removed when they end",
  workflow_inbox:
    "messages that open runs have not taken: removed when the run ends; one that commits in that moment, right after or by prune()",
  workflow_workers: "LIMITS.workers in a namespace, and removed a day after their last report",
  shard_rules: "sharded types",
  shard_homes: "shards of sharded types, as many as their rule has",
  remembered_actors: "actors of sharded types that are remembered: removed when they passivate",
  migrations: "one for each step of the schema",
};

function assertBounded(tables: readonly string[]): void {
  const unbounded = tables.filter((table) => BOUNDS[table] === undefined);
  assert.deepEqual(unbounded, [], "a new table needs a bound on its rows, and an operation that removes them");
}

describe("bounds of tables", () => {
  test("every table of a SQLite file has a bound", async () => {
    const folder = await mkdtemp(join(tmpdir(), "limpet-bounds-"));
    const file = join(folder, "limpet.db");
    await (await openSqliteStore(file)).close();
    const db = new DatabaseSync(file, { readOnly: true });
    const rows = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
    db.close();
    await rm(folder, { recursive: true });
    assert.ok(rows.length > 15);
    assertBounded(rows.map(({ name }) => String(name)));
  });

  test("every table of a PostgreSQL schema has a bound", async () => {
    await using server = await startPostgres();
    const url = await server.createDatabase();
    await (await openPostgresStore(url)).close();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'limpet'",
    );
    await client.end();
    assert.ok(rows.length > 15);
    assertBounded(rows.map(({ name }) => name));
  });
});
