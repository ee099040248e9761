import { after, before } from "node:test";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import { shardsContract } from "../shards.contract.ts";
import { openPostgresStore } from "./postgres-store.ts";

let server: TestServer;

before(async () => {
  server = await startPostgres();
});
after(async () => {
  await server?.dispose();
});

shardsContract(
  "PostgreSQL",
  async () => {
    const url = await server.createDatabase();
    const store = await openPostgresStore(url);
    const again = () => openPostgresStore(url);
    return { store, second: again, reopen: again, dispose: () => store.close() };
  },
  { modelRuns: 30 },
);
