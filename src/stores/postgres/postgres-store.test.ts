import { after, before } from "node:test";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import { storeContract } from "../store.contract.ts";
import { openPostgresStore } from "./postgres-store.ts";

let server: TestServer;

before(async () => {
  server = await startPostgres();
});

after(async () => {
  await server?.dispose();
});

storeContract(
  "PostgreSQL",
  async () => {
    const url = await server.createDatabase();
    const open = () => openPostgresStore(url);
    const store = await open();
    return { store, second: open, reopen: open, dispose: () => store.close() };
  },
  { modelRuns: 30 },
);
