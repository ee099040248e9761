import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { startPostgres, TEST_PASSWORD, type TestServer } from "../../../test/support/postgres.ts";
import { openPostgresStore } from "../../stores/postgres/postgres-store.ts";
import { checkPostgres } from "./postgres-check.ts";

let server: TestServer;
before(async () => {
  server = await startPostgres();
});
after(() => server.dispose());

async function query(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const first = async (url: string) => (await checkPostgres(url))[0]!;

test("a new database is fine and stays unchanged, and one with our tables shows its schema", async () => {
  const url = await server.createDatabase();
  const checks = await checkPostgres(url);
  assert.deepEqual(
    checks.map(({ name }) => name),
    ["Store", "Latency", "Store clock"],
  );
  assert.ok(
    checks.every(({ status }) => status !== "fail"),
    JSON.stringify(checks),
  );
  assert.match(checks[0]!.message, /are created at the first start/);
  assert.match((await first(url)).message, /are created/, "the first look made nothing");
  const store = await openPostgresStore(url);
  await store.close();
  assert.match((await first(url)).message, /schema \d+$/);
  await query(url, "INSERT INTO limpet.migrations (number, name) VALUES (99, 'later')");
  assert.deepEqual([(await first(url)).status, (await first(url)).hint], ["fail", "Upgrade limpet."]);
});

test("a read-only database, or a user without the right to create tables, fails", async () => {
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  await query(server.url(), `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  assert.match((await first(url)).message, /is read-only/);
  const other = new URL(await server.createDatabase());
  await query(server.url(), "CREATE ROLE guest LOGIN PASSWORD 'guest'");
  other.username = "guest";
  other.password = "guest";
  assert.match((await first(other.href)).message, /this user may not create them/);
});

test("a wrong password, a missing database and an invalid URL are reported without the secret", async () => {
  const wrong = new URL(server.url());
  wrong.password = "hunter2";
  const password = await first(wrong.href);
  assert.match(password.message, /the password is wrong/);
  assert.match((await first(server.url("no_such_database"))).message, /the database does not exist/);
  const none = await first("postgres://u:hunter2@h:port/x");
  assert.equal(none.status, "fail");
  for (const { message } of [password, none])
    assert.ok(!message.includes("hunter2") && !message.includes(TEST_PASSWORD));
});
