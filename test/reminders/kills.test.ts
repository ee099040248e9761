// Four processes on one PostgreSQL server deliver 20,000 reminders while they are killed and replaced (killing.ts).
import { test } from "node:test";
import { startPostgres } from "../support/postgres.ts";
import { tempPlace } from "../support/two-stores.ts";
import { KILLING_TIMEOUT_MS, killProcesses } from "./killing.ts";

test("every reminder on PostgreSQL fires, none early, and twice only what a kill fell into", {
  timeout: KILLING_TIMEOUT_MS,
}, async (t) => {
  await using server = await startPostgres();
  await using place = await tempPlace();
  await killProcesses(t, { ...place, store: await server.createDatabase() }, 20_000);
});
