// Real sessions, directly and behind a real PgBouncer: every connection has the required settings, or is
// rejected.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { startPgBouncer } from "../../../../test/support/pgbouncer.ts";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { missing } from "../../../../test/support/tools.ts";
import { isLimpetError } from "../../../kernel/errors.ts";
import type { Log } from "../../../ports/log.ts";
import { silentLog } from "../../../ports/log.ts";
import { migratePostgres } from "../migrate.ts";
import { openPostgresStore } from "../postgres-store.ts";
import { Connections } from "./connections.ts";
import { checkEntrance, enter } from "./pooler.ts";
import { holdSession, optionsIn } from "./session.ts";
import { type PostgresSettings, postgresSettings } from "./settings.ts";

const SHOWN = `SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) AS shown FROM pg_settings
  WHERE name IN ('synchronous_commit', 'lock_timeout', 'statement_timeout', 'default_transaction_isolation', 'enable_seqscan', 'plan_cache_mode')`;
const OURS =
  "default_transaction_isolation=read committed enable_seqscan=off lock_timeout=100 plan_cache_mode=force_generic_plan " +
  "statement_timeout=15000 synchronous_commit=on";

const database = (url: string): string => new URL(url).pathname.slice(1);

async function shownBy(settings: PostgresSettings, driver = settings.driver): Promise<unknown> {
  const connections = new Connections(settings, driver, 2);
  try {
    return (await connections.run({ name: "shown", text: SHOWN }, [], "harmless"))[0]![0];
  } finally {
    await connections.close();
  }
}

describe("sessions on PostgreSQL", () => {
  let server: TestServer;
  const skip = missing("pgbouncer") ?? false;

  before(async () => {
    // The opposite of the required values, so that a missing setting shows.
    server = await startPostgres({ synchronous_commit: "off", default_transaction_isolation: "serializable" });
  });
  after(() => server.dispose());

  it("a direct connection has the required settings from its first statement on", async () => {
    assert.equal(await shownBy(postgresSettings(server.url())), OURS);
  });

  it("a connection whose startup parameter was dropped gets the required settings by SET", async () => {
    const settings = postgresSettings(`${server.url()}?options=-c%20lock_timeout%3D250ms`);
    const { options: _, ...driver } = settings.driver;
    assert.equal(await shownBy(settings, driver), OURS.replace("lock_timeout=100", "lock_timeout=250"));
  });

  it("a setting that does not hold is rejected by name, with its value", async () => {
    const settings = postgresSettings(server.url());
    const session = { values: { server_version_num: "1" }, extra: "" };
    const client = new pg.Client(settings.driver);
    await client.connect();
    // A read-only setting stands for a pooler that drops settings.
    const forgetful = Object.create(client, {
      query: {
        value: (asked: { text: string }) =>
          asked.text.includes("set_config") ? Promise.resolve({ rows: [] }) : client.query(asked),
      },
    }) as pg.ClientBase;
    await assert.rejects(
      holdSession(forgetful, { ...settings.driver, session }, settings.location),
      (error) =>
        isLimpetError(error, "STORE_UNAVAILABLE") && /must have server_version_num = 1; it has \d+/.test(`${error}`),
    );
    await client.end();
  });

  it("statements use the driver's public API when its internals are unknown", async () => {
    const warned: string[] = [];
    const log: Log = { ...silentLog, warn: (event) => void warned.push(event) };
    const settings = postgresSettings(server.url(), { log });
    // A later driver may lose members that its public API does not promise.
    class Changed extends pg.Client {
      override getTypeParser = undefined as never;
    }
    const driver = { ...settings.driver, Client: Changed };
    const connections = new Connections(settings, driver as typeof settings.driver, 1);
    try {
      const statement = { name: "sum", text: "SELECT $1::bigint + 1, $2::text, $3::bytea" };
      for (let i = 0; i < 2; i++) {
        const rows = await connections.run(statement, [i, undefined, Buffer.from([1])], "harmless");
        assert.deepEqual(rows, [[i + 1, null, Buffer.from([1])]]);
      }
      assert.deepEqual(warned, ["store.driver-unknown"]);
    } finally {
      await connections.close();
    }
  });

  it("options in the form of the server's command line are parsed like the server does", () => {
    assert.deepEqual(optionsIn("-c lock_timeout=5s --work-mem=1MB -cjit=on -c search_path=a\\ b -c x"), [
      ["lock_timeout", "5s"],
      ["work_mem", "1MB"],
      ["jit", "on"],
      ["search_path", "a b"],
    ]);
  });

  it("PgBouncer in session mode serves a store with the required settings, whether it rejects or drops the startup parameter", {
    skip,
  }, async () => {
    const drops: Record<string, string>[] = [{}, { ignore_startup_parameters: "options" }];
    for (const ignored of drops) {
      const name = database(await server.createDatabase());
      await using pooler = await startPgBouncer(server.port, {
        pool_mode: "session",
        default_pool_size: "40",
        ...ignored,
      });
      const settings = await migratePostgres(postgresSettings(pooler.url(name)));
      assert.equal(await shownBy(settings), OURS);
      const store = await openPostgresStore(pooler.url(name));
      await store.ping();
      await store.close();
    }
  });

  it("PgBouncer with transaction pooling is rejected at the start, with advice that works", {
    skip,
  }, async () => {
    const name = database(await server.createDatabase());
    for (const pool_mode of ["transaction", "statement"]) {
      await using pooler = await startPgBouncer(server.port, { pool_mode, ignore_startup_parameters: "options" });
      await assert.rejects(
        openPostgresStore(pooler.url(name)),
        (error) => isLimpetError(error, "OPTION_INVALID") && /set pool_mode = session in PgBouncer/.test(`${error}`),
      );
    }
  });

  it("the doctor's check through PgBouncer finds the same", { skip }, async () => {
    const name = database(await server.createDatabase());
    await using pooler = await startPgBouncer(server.port, { pool_mode: "transaction" });
    const entrance = await enter(postgresSettings(pooler.url(name)));
    await assert.rejects(checkEntrance(entrance), /shares sessions by transaction/);
    await entrance.client.end();
  });
});
