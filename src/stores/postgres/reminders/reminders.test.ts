import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { Place, setOf } from "../../contract/reminders-shared.contract.ts";
import { remindersContract } from "../../reminders.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";

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
      // Each row was replaced, and with many dead rows claims start later, behind these rows.
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

test("a claim returns at most a few mebibytes of data, and the next claim returns the rest", async () => {
  const store = await openPostgresStore(await server.createDatabase());
  const it = new Place(store);
  const data = "x".repeat(3 * 1024 * 1024);
  for (let i = 0; i < 5; i++) await it.set(it.key(`${i}`), { at: i, data });
  await it.reminders.write([5, 6].map((at) => setOf(it.key(`${at}`), { at })));
  const first = await it.claim();
  assert.deepEqual(
    first.reminders.map(({ key }) => key.name),
    ["0", "1", "2"],
  );
  assert.equal(first.next, first.now);
  const second = await it.claim();
  assert.deepEqual(
    second.reminders.map(({ key, data: got }) => [key.name, got?.length]),
    [
      ["3", data.length],
      ["4", data.length],
      ["5", undefined],
      ["6", undefined],
    ],
  );
  await store.close();
});
