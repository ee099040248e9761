// Checks whether the PostgreSQL database is usable. It only reads.

import type pg from "pg";
import { isLimpetError } from "../../kernel/errors.ts";
import { faultOf } from "../../stores/postgres/connection/faults.ts";
import { checkEntrance, type Entrance, enter } from "../../stores/postgres/connection/pooler.ts";
import { type PostgresSettings, postgresSettings } from "../../stores/postgres/connection/settings.ts";
import { MIGRATIONS } from "../../stores/postgres/migrations.ts";
import { type Check, fail, passed, warn } from "./check.ts";

const TIMEOUT_MS = 5_000;
const PINGS = 5;
const SLOW_MS = 20;
const CLOCK_OFFSET_MS = 1_000;
const OLDEST_SERVER = 120_000;

interface Server {
  readonly version: string;
  readonly number: number;
  readonly readonly: boolean;
  readonly encoding: string;
  readonly fsync: boolean;
  readonly create: boolean;
  readonly table: boolean;
}

const QUESTION = `
  SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
         current_setting('transaction_read_only')::bool AS readonly, current_setting('server_encoding') AS encoding,
         current_setting('fsync')::bool AS fsync,
         has_database_privilege(current_database(), 'CREATE') AS create, to_regclass($1) IS NOT NULL AS table`;

export async function checkPostgres(url: string): Promise<Check[]> {
  let settings: PostgresSettings;
  try {
    settings = postgresSettings(url, { connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (!isLimpetError(error)) throw error;
    return [fail("Store", error.message)];
  }
  let entrance: Entrance | undefined;
  try {
    entrance = await enter(settings);
    await checkEntrance(entrance);
    const { client } = entrance;
    return [await checkServer(client, settings), await checkLatency(client), await checkClockOffset(client)];
  } catch (error) {
    if (isLimpetError(error)) return [fail("Store", error.message)];
    const { text } = faultOf(error, entrance === undefined ? "connect" : "statement");
    return [fail("Store", `PostgreSQL at ${settings.location}: ${text}`)];
  } finally {
    await entrance?.client.end().catch(() => undefined);
  }
}

async function checkServer(client: pg.Client, { location, schema }: PostgresSettings): Promise<Check> {
  const table = `"${schema}".migrations`;
  const server = (await client.query<Server>(QUESTION, [table])).rows[0]!;
  const here = `PostgreSQL ${server.version} at ${location}`;
  if (server.number < OLDEST_SERVER) return fail("Store", `${here} is too old`, "Version 12 or newer is needed.");
  if (server.readonly) return fail("Store", `${here} is read-only`, "Name the primary in the URL.");
  if (server.encoding !== "UTF8") {
    return fail("Store", `${here} has the encoding ${server.encoding}`, "Create the database with ENCODING 'UTF8'.");
  }
  const state = await schemaState(client, table, server);
  if (state.problem !== undefined) return fail("Store", `${here}: ${state.problem}`, state.hint);
  if (!server.fsync)
    return warn("Store", `${here}: fsync is off`, "A crash of the server may lose acknowledged state.");
  return passed("Store", `${here}: ${state.message}`);
}

async function schemaState(client: pg.Client, table: string, { table: found, create }: Server) {
  const latest = MIGRATIONS.at(-1)?.number ?? 0;
  if (!found) {
    return create
      ? { message: "its tables are created at the first start" }
      : {
          problem: "there are no tables yet, and this user may not create them",
          hint: "Grant it CREATE on the database.",
        };
  }
  const { rows } = await client.query<{ number: number }>(`SELECT coalesce(max(number), 0) AS number FROM ${table}`);
  const number = rows[0]!.number;
  if (number > latest) {
    return {
      problem: `its schema (${number}) is newer than this limpet supports (${latest})`,
      hint: "Upgrade limpet.",
    };
  }
  return {
    message: number < latest ? `schema ${number}, will become ${latest} at the next start` : `schema ${number}`,
  };
}

async function checkLatency(client: pg.Client): Promise<Check> {
  const times: number[] = [];
  for (let i = 0; i < PINGS; i++) {
    const start = performance.now();
    await client.query("SELECT 1");
    times.push(performance.now() - start);
  }
  const median = times.sort((a, b) => a - b)[Math.floor(PINGS / 2)]!;
  const message = `a query of the store takes ${median.toFixed(1)} ms`;
  return median > SLOW_MS
    ? warn("Latency", message, "Each turn that changes state waits for the store; move the process closer to it.")
    : passed("Latency", message);
}

/** The middle of the round trip is the best estimate of the time at which the server read its clock. */
async function checkClockOffset(client: pg.Client): Promise<Check> {
  const before = Date.now();
  const { rows } = await client.query<{ now: string }>(
    "SELECT (extract(epoch from clock_timestamp()) * 1000)::text AS now",
  );
  const offset = Math.round(Number(rows[0]!.now) - (before + Date.now()) / 2);
  const message = `the store's clock is ${Math.abs(offset)} ms ${offset < 0 ? "behind" : "ahead of"} this machine's`;
  return Math.abs(offset) > CLOCK_OFFSET_MS
    ? warn("Store clock", message, "Set both by NTP.")
    : passed("Store clock", message);
}
