// Three processes on one PostgreSQL server run 300 workflows while they are killed and replaced (killing.ts).
import { test } from "node:test";
import { startPostgres } from "../support/postgres.ts";
import { tempPlace } from "../support/two-stores.ts";
import { KILLING_TIMEOUT_MS, killWorkers } from "./killing.ts";

test("every workflow on PostgreSQL ends as planned, however often its worker is killed", {
  timeout: KILLING_TIMEOUT_MS,
}, async (t) => {
  await using server = await startPostgres();
  await using place = await tempPlace();
  await killWorkers(t, { ...place, store: await server.createDatabase() }, 300);
});
