// Migrates the schema to the version of this release. Any number of processes may do so at once: one runs all
// steps in one transaction, the others wait and find nothing to do. It rejects a schema of a newer release.
import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { faultOf, storeFault } from "./connection/faults.ts";
import { checkEntrance, type Entrance, enter } from "./connection/pooler.ts";
import type { PostgresSettings } from "./connection/settings.ts";
import { MIGRATIONS, type Migration } from "./migrations.ts";

/** The first half of the advisory lock's key; the second is the schema. */
const LOCK = 0x6c_69_6d_70;
const MIGRATE_MS = 120_000;
/** How long a step may wait for a table that is in use. */
const TABLE_MS = 2_000;
/** How long to wait for a server that is starting up or has no free connection. */
const PATIENCE_MS = 15_000;
const OLDEST_SERVER = 120_000;

/** Resolves with the settings that the server, or a pooler in front of it, accepts. */
export async function migratePostgres(
  asked: PostgresSettings,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<PostgresSettings> {
  const latest = migrations.at(-1)?.number ?? 0;
  // A server that stops responding is given up soon, unless there is work that may take long.
  const soonMs = asked.driver.query_timeout as number;
  const { settings, isBehind } = await during(asked, soonMs, async (entrance) => {
    const { client, settings } = entrance;
    await checkEntrance(entrance);
    await checkServer(client, settings);
    return { settings, isBehind: (await reached(client, settings, latest)) < latest };
  });
  if (isBehind) {
    await during(settings, MIGRATE_MS + 2_000, async (entrance) => {
      await checkEntrance(entrance);
      await apply(entrance.client, settings, migrations, latest);
    });
  }
  return settings;
}

/** `queryMs`: how long a statement may take on this connection. */
async function during<T>(
  asked: PostgresSettings,
  queryMs: number,
  work: (entrance: Entrance) => Promise<T>,
): Promise<T> {
  const entrance = await connect(asked, queryMs);
  try {
    return await work(entrance);
  } catch (error) {
    if (isLimpetError(error)) throw error;
    throw storeFault(faultOf(error, "statement"), "opening", entrance.settings.location);
  } finally {
    await entrance.client.end().catch(() => undefined);
  }
}

async function connect(settings: PostgresSettings, queryMs: number): Promise<Entrance> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await enter(settings, queryMs);
    } catch (error) {
      const fault = storeFault(faultOf(error, "connect"), "opening", settings.location);
      if (fault.kind !== "busy" || performance.now() > deadline) throw fault;
      await pause(200);
    }
  }
}

/** Rejects a server with problems that no migration can solve: at the start, not at the first commit. */
async function checkServer(client: pg.Client, { location, log }: PostgresSettings): Promise<void> {
  const { rows } = await client.query<{ version: string; encoding: string; readonly: string; fsync: string }>(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
            current_setting('transaction_read_only') AS readonly, current_setting('fsync') AS fsync`,
  );
  const server = rows[0]!;
  if (Number(server.version) < OLDEST_SERVER) {
    throw new LimpetError("STORE_INCOMPATIBLE", `PostgreSQL at ${location} is too old; version 12 or newer is needed`);
  }
  if (server.encoding !== "UTF8") {
    throw new LimpetError(
      "STORE_INCOMPATIBLE",
      `the database at ${location} has the encoding ${server.encoding}; create one with ENCODING 'UTF8'`,
    );
  }
  if (server.readonly === "on") {
    throw new LimpetError(
      "STORE_UNAVAILABLE",
      `PostgreSQL at ${location} is read-only; name the primary in the URL, or wait for its promotion`,
    );
  }
  if (server.fsync !== "on")
    log.warn("store.not-durable", { store: location, reason: "the server runs with fsync off" });
}

/** The number of the last step that was run, 0 for none. */
async function reached(client: pg.Client, settings: PostgresSettings, latest: number): Promise<number> {
  const table = `"${settings.schema}".migrations`;
  const { rows: found } = await client.query<{ found: boolean }>("SELECT to_regclass($1) IS NOT NULL AS found", [
    table,
  ]);
  if (found[0]?.found !== true) return 0;
  const { rows } = await client.query<{ number: number }>(`SELECT coalesce(max(number), 0) AS number FROM ${table}`);
  const number = rows[0]!.number;
  if (number <= latest) return number;
  throw new LimpetError(
    "STORE_INCOMPATIBLE",
    `schema "${settings.schema}" at ${settings.location} is at step ${number}, and this version of Limpet knows ` +
      `${latest}; use the newer version of Limpet, or another schema`,
  );
}

async function apply(
  client: pg.Client,
  settings: PostgresSettings,
  migrations: readonly Migration[],
  latest: number,
): Promise<void> {
  // Other sessions time out early on a lock; here another migrating process is worth the wait.
  await client.query(`SET lock_timeout = ${MIGRATE_MS}; SET statement_timeout = ${MIGRATE_MS}`);
  // The lock is taken before the transaction and released with the connection. Inside a transaction, a
  // session would not see a table that another process created while it waited.
  await client.query("SELECT pg_advisory_lock($1, hashtext($2))", [LOCK, settings.schema]);
  // A step that waits for a table blocks all later requests for the table, so it times out soon and retries.
  await client.query(`SET lock_timeout = ${TABLE_MS}`);
  const deadline = performance.now() + MIGRATE_MS;
  for (;;) {
    try {
      await client.query("BEGIN");
      await takeSteps(client, settings, migrations, latest);
      await client.query("COMMIT");
      return;
    } catch (error) {
      const { kind } = faultOf(error, "statement");
      if (kind !== "locked" || performance.now() > deadline) throw error;
      await client.query("ROLLBACK");
      await pause(Math.random() * TABLE_MS);
    }
  }
}

async function takeSteps(
  client: pg.Client,
  settings: PostgresSettings,
  migrations: readonly Migration[],
  latest: number,
): Promise<void> {
  const schema = `"${settings.schema}"`;
  const done = await reached(client, settings, latest);
  if (done === 0) {
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${schema}.migrations
         (number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
  }
  for (const { number, name, sql } of migrations) {
    if (number <= done) continue;
    await client.query(sql(schema));
    await client.query(`INSERT INTO ${schema}.migrations (number, name) VALUES ($1, $2)`, [number, name]);
    settings.log.info("store.migrated", { store: settings.location, step: number, name });
  }
}
