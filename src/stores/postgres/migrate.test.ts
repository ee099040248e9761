// Opening a store: many processes at once, schemas of other versions, and unusable servers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { inspect } from "node:util";
import pg from "pg";
import { startPostgres, TEST_PASSWORD, type TestServer } from "../../../test/support/postgres.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { newCandidate, newMember, save } from "../contract/coordination-shared.contract.ts";
import { Place } from "../contract/reminders-shared.contract.ts";
import { actor, take } from "../contract/shared.contract.ts";
import { postgresSettings } from "./connection/settings.ts";
import { migratePostgres } from "./migrate.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openPostgresStore } from "./postgres-store.ts";

const LATEST = MIGRATIONS.length;

/** Opens the store, takes the same actor as all other processes, and prints its epoch. */
const CHILD = `
  const { openPostgresStore } = await import(process.argv[1]);
  process.stdout.write("ready\\n");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  const store = await openPostgresStore(process.argv[2]);
  const [taken] = await store.take([{ namespace: "n", type: "T", id: "1", owner: "child" }]);
  await store.close();
  process.stdout.write("epoch " + taken.epoch + "\\n");
  process.stdin.destroy();
`;

describe("opening a PostgreSQL store", () => {
  let server: TestServer;

  before(async () => {
    server = await startPostgres();
  });
  after(async () => {
    await server?.dispose();
  });

  async function query<T extends pg.QueryResultRow>(url: string, text: string): Promise<T[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<T>(text)).rows;
    } finally {
      await client.end();
    }
  }

  test("many processes may start at once on an empty database", async () => {
    const url = await server.createDatabase();
    const module = new URL("./postgres-store.ts", import.meta.url).href;
    const children = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ["--input-type=module", "-e", CHILD, module, url], {
        stdio: ["pipe", "pipe", "inherit"],
      }),
    );
    const outputs = children.map(() => "");
    // All of them start together, once each has loaded its code.
    const ready = children.map(
      (child, i) =>
        new Promise<void>((resolve) => {
          child.stdout.on("data", (chunk: Buffer) => {
            outputs[i] += chunk.toString();
            resolve();
          });
        }),
    );
    const ended = children.map((child) => once(child, "close"));
    await Promise.all(ready);
    for (const child of children) child.stdin.write("go\n");
    assert.deepEqual(
      (await Promise.all(ended)).map(([code]) => code),
      Array(6).fill(0),
    );
    const epochs = outputs.map((text) => Number(/epoch (\d+)/.exec(text)?.[1]));
    assert.equal(new Set(epochs.filter((epoch) => epoch > 0)).size, 6);
    const steps = await query<{ number: number }>(url, "SELECT number FROM limpet.migrations ORDER BY number");
    assert.deepEqual(
      steps.map(({ number }) => number),
      MIGRATIONS.map(({ number }) => number),
    );
  });

  test("a later version adds its steps and leaves the stored data alone", async () => {
    const url = await server.createDatabase();
    const store = await openPostgresStore(url);
    const key = actor("alice");
    const held = await take(store, key);
    const settings = postgresSettings(url);
    const next = {
      number: LATEST + 1,
      name: "next",
      sql: (schema: string) => `ALTER TABLE ${schema}.actors ADD COLUMN more text`,
    };
    await Promise.all([1, 2, 3].map(() => migratePostgres(settings, [...MIGRATIONS, next])));
    // The older process goes on with the tables it knows.
    assert.ok((await take(store, key)).epoch > held.epoch);
    await store.close();
    await assert.rejects(openPostgresStore(url), (error: LimpetError) => {
      assert.equal(error.code, "STORE_INCOMPATIBLE");
      assert.match(error.message, new RegExp(`step ${LATEST + 1}.*knows ${LATEST}; use the newer version`));
      return true;
    });
  });

  test("a step retries while a table is in use, without blocking other sessions for long", async () => {
    const url = await server.createDatabase();
    await (await openPostgresStore(url)).close();
    const settings = postgresSettings(url);
    const next = {
      number: LATEST + 1,
      name: "next",
      sql: (schema: string) => `ALTER TABLE ${schema}.actors ADD COLUMN more text`,
    };
    const somebody = new pg.Client({ connectionString: url });
    await somebody.connect();
    await somebody.query("BEGIN; SELECT FROM limpet.actors");
    const migrating = migratePostgres(settings, [...MIGRATIONS, next]);
    // The step queues for the table, and all other sessions behind it; once it has timed out, the table can
    // be used again.
    const waits = async (expected: boolean) => {
      const text = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'limpet.actors'::regclass";
      for (let attempt = 0; attempt < 30_000; attempt++) if ((await query(url, text)).length > 0 === expected) return;
      assert.fail(expected ? "the step never waited" : "the step never gave up");
    };
    for (const expected of [true, false, true, false]) await waits(expected);
    await somebody.query("COMMIT");
    await somebody.end();
    await migrating;
    assert.equal((await query(url, "SELECT FROM limpet.migrations")).length, LATEST + 1);
  });

  test("a step that fails leaves nothing behind", async () => {
    const url = await server.createDatabase();
    const settings = postgresSettings(url);
    const broken = {
      number: LATEST + 1,
      name: "broken",
      sql: (schema: string) => `CREATE TABLE ${schema}.half (); SELECT nonsense`,
    };
    await assert.rejects(migratePostgres(settings, [...MIGRATIONS, broken]), LimpetError);
    const tables = await query(url, "SELECT FROM information_schema.schemata WHERE schema_name = 'limpet'");
    assert.equal(tables.length, 0);
    await (await openPostgresStore(url)).close();
  });

  test("two schemas of one database do not see each other", async () => {
    const url = await server.createDatabase();
    const first = await openPostgresStore(url);
    const second = await openPostgresStore(url, { schema: "other" });
    const key = actor("alice");
    await take(first, key);
    await take(first, key);
    assert.equal((await take(second, key)).version, 0);
    await Promise.all([first.close(), second.close()]);
  });

  test("a user without the right to create is enough once the tables exist", async () => {
    const url = await server.createDatabase();
    await query(url, `CREATE ROLE app LOGIN PASSWORD 'app' NOSUPERUSER`).catch(() => undefined);
    const limited = new URL(url);
    limited.username = "app";
    limited.password = "app";
    await assert.rejects(openPostgresStore(limited.href), {
      code: "OPTION_INVALID",
      message: /lacks a right; grant it/,
    });
    await (await openPostgresStore(url)).close();
    await query(
      url,
      `GRANT USAGE ON SCHEMA limpet TO app;
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA limpet TO app`,
    );
    const store = await openPostgresStore(limited.href);
    assert.equal((await take(store, actor("alice"))).version, 0);
    const { term } = await store.coordination.campaign(newCandidate());
    assert.equal(await store.coordination.persist(term, [save(newMember())]), true);
    const place = new Place(store);
    await place.set(place.key("tea"));
    assert.deepEqual(await place.names(), ["tea"]);
    await store.close();
  });

  test("an unusable server is reported by code, with advice, and never with the password", async () => {
    const url = await server.createDatabase();
    const changed = (change: (to: URL) => void) => {
      const to = new URL(url);
      change(to);
      return to.href;
    };
    await query(url, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    await query(url, "CREATE DATABASE frozen");
    await query(url, "ALTER DATABASE frozen SET default_transaction_read_only = on");
    const wrongPassword = `${TEST_PASSWORD}!`;
    const cases: [string, string, RegExp][] = [
      [
        changed((to) => {
          to.password = encodeURIComponent(wrongPassword);
        }),
        "OPTION_INVALID",
        /password is wrong/,
      ],
      [
        changed((to) => {
          to.pathname = "/nowhere";
        }),
        "OPTION_INVALID",
        /database does not exist; create it/,
      ],
      [
        changed((to) => {
          to.port = "1";
        }),
        "STORE_UNAVAILABLE",
        /connection was refused; start the server/,
      ],
      [
        changed((to) => {
          to.pathname = "/latin";
        }),
        "STORE_INCOMPATIBLE",
        /encoding LATIN1; create one with/,
      ],
      [
        changed((to) => {
          to.pathname = "/frozen";
        }),
        "STORE_UNAVAILABLE",
        /read-only; name the primary/,
      ],
    ];
    for (const [to, code, message] of cases) {
      await assert.rejects(openPostgresStore(to), (error: LimpetError) => {
        assert.equal(error.code, code);
        assert.match(error.message, message);
        const shown = inspect(error, { depth: 10, showHidden: true });
        for (const secret of [TEST_PASSWORD, encodeURIComponent(TEST_PASSWORD)]) assert.ok(!shown.includes(secret));
        return true;
      });
    }
  });

  test("the location of an open store does not contain the password", async () => {
    const url = await server.createDatabase();
    const store = await openPostgresStore(url);
    assert.equal(store.location, `postgres://limpet@127.0.0.1:${server.port}${new URL(url).pathname}`);
    const shown = inspect(store, { depth: 10, showHidden: true });
    for (const secret of [TEST_PASSWORD, encodeURIComponent(TEST_PASSWORD)]) assert.ok(!shown.includes(secret));
    await store.close();
  });
});
