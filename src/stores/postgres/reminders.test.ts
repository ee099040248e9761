import { after, before } from "node:test";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import { remindersContract } from "../reminders.contract.ts";
import { openPostgresStore } from "./postgres-store.ts";

let server: TestServer;

before(async () => {
  server = await startPostgres();
});

after(async () => {
  await server?.dispose();
});

remindersContract(
  "PostgreSQL",
  async () => {
    const url = await server.createDatabase();
    const open = () => openPostgresStore(url);
    const store = await open();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const advance = async (ms: number) => {
      await client.query(
        `UPDATE limpet.reminders SET at = at - ${ms}, due = due - ${ms}, leased_until = leased_until - ${ms};
         UPDATE limpet.dead_reminders SET at = at - ${ms}, due = due - ${ms}, died_at = died_at - ${ms}`,
      );
      // Each row was replaced, and when there are many dead ones claims begin later, where none of these lies.
      await client.query("SELECT pg_stat_reset_single_table_counters('limpet.reminders'::regclass)");
    };
    const dispose = async () => {
      await client.end();
      await store.close();
    };
    return { store, second: open, reopen: open, advance, dispose };
  },
  { modelRuns: 30 },
);
