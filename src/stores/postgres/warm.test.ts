import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import { openPostgresStore } from "./postgres-store.ts";

describe("a store that is made ready", () => {
  let server: TestServer;

  before(async () => {
    server = await startPostgres();
  });

  after(async () => {
    await server?.dispose();
  });

  it("has a connection for everything that it may be asked at once, and nobody was taken", async () => {
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

  it("is none the worse when nobody answers", async () => {
    const store = await openPostgresStore(await server.createDatabase());
    await server.stop("immediate");
    await store.warm?.();
    await store.close();
  });
});
