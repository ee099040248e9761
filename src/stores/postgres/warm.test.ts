import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import { openPostgresStore } from "./postgres-store.ts";

describe("warming a PostgreSQL store", () => {
  let server: TestServer;

  before(async () => {
    server = await startPostgres();
  });

  after(async () => {
    await server?.dispose();
  });

  it("a warmed store has a connection for every kind of work, and has taken no actor", async () => {
    const url = await server.createDatabase();
    const store = await openPostgresStore(url);
    const client = new pg.Client(url);
    await client.connect();
    await store.warm?.();
    const { rows } = await client.query(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%taken_at%' AND pid <> pg_backend_pid()",
    );
    assert.equal(rows[0].count, store.lanes);
    assert.deepEqual(await store.list({ namespace: "default", limit: 10 }), []);
    await client.end();
    await store.close();
  });

  it("warming a store without a server does no harm", async () => {
    const store = await openPostgresStore(await server.createDatabase());
    await server.stop("immediate");
    await store.warm?.();
    await store.close();
  });
});
