import { after, before } from "node:test";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { workflowsContract } from "../../workflows.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";

let server: TestServer;

before(async () => {
  server = await startPostgres();
});

after(async () => {
  await server?.dispose();
});

workflowsContract(
  "PostgreSQL",
  async () => {
    const url = await server.createDatabase();
    const open = () => openPostgresStore(url);
    const store = await open();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const advance = async (ms: number) => {
      await client.query(
        `UPDATE limpet.workflow_runs SET started_at = started_at - ${ms};
         UPDATE limpet.workflow_tasks SET at = at - ${ms}, leased_until = leased_until - ${ms}, claimed_at = claimed_at - ${ms},
           sticky_until = sticky_until - sign(sticky_until)::bigint * ${ms};
         UPDATE limpet.workflow_ends SET closed_at = closed_at - ${ms};
         UPDATE limpet.workflow_workers SET seen_at = seen_at - ${ms};
         UPDATE limpet.reminders SET at = at - ${ms}, due = due - ${ms}, leased_until = leased_until - ${ms}`,
      );
      await client.query("SELECT pg_stat_reset_single_table_counters('limpet.reminders'::regclass)");
    };
    const dispose = async () => {
      await client.end();
      await store.close();
    };
    return { store, second: open, reopen: open, advance, dispose };
  },
  { modelRuns: 15 },
);
