// Four processes on one PostgreSQL server deliver 20,000 reminders while they are killed and replaced
// (killing.ts). And the reminders of a killed process do not wait for the end of its lease.
import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { startPostgres } from "../support/postgres.ts";
import { tempPlace } from "../support/two-stores.ts";
import { Belfry, tickOf } from "./belfry.ts";
import { KILLING_TIMEOUT_MS, killProcesses } from "./killing.ts";

test("every reminder on PostgreSQL fires, none early, and only those hit by a kill fire twice", {
  timeout: KILLING_TIMEOUT_MS,
}, async (t) => {
  await using server = await startPostgres();
  await using place = await tempPlace();
  await killProcesses(t, { ...place, store: await server.createDatabase() }, 20_000);
});

test("another process delivers the reminders of a killed process long before its lease of ten minutes ends", {
  timeout: KILLING_TIMEOUT_MS,
}, async (t) => {
  await using server = await startPostgres();
  await using place = await tempPlace();
  const store = await server.createDatabase();
  const slow = { fetchAhead: "1m", lease: "10m", batchSize: 2 } as const;
  await using belfry = await Belfry.open(t, { ...place, store }, slow);
  const [victim] = await belfry.startAll(["victim", "survivor"]);
  const client = new pg.Client({ connectionString: store });
  await client.connect();
  const holders = "SELECT count(DISTINCT right(token, 9))::int AS count FROM limpet.reminders WHERE token LIKE '%~%'";
  const expected = new Set<string>();
  // Reminders are added until each process has leased some of them.
  await belfry.until(async () => {
    const name = `${expected.size}`;
    expected.add(tickOf({ bell: `Bell/${name}`, name, number: 1 }));
    await belfry.set("Bell", name, name, { due: new Date(Date.now() + 5_000) });
    return (await client.query(holders)).rows[0].count === 2;
  }, "each process has leased a reminder");
  await client.end();
  const killedAt = Date.now();
  await belfry.kill(victim!);
  await belfry.done();
  assert.ok(Date.now() - killedAt < 5 * 60_000, "the lease still lasts");
  await belfry.check(expected);
});
