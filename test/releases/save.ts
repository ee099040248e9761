// Saves the stores of a release, under test/releases/<version>: a SQLite file and the SQL text that makes a
// PostgreSQL database. Run it once before a release, with the code of that release: `node
// --conditions=limpet-source test/releases/save.ts`. The copy is made while the application runs, so that
// leases, members and unfinished work are in it as after a crash.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import manifest from "../../package.json" with { type: "json" };
import type { App } from "../../src/index.ts";
import { MIGRATIONS } from "../../src/stores/postgres/migrations.ts";
import { startPostgres } from "../support/postgres.ts";
import { tempPlace } from "../support/two-stores.ts";
import { approval, Beacon, Diary, failing, Lamp, nap, Purse, quick, savedApp } from "./saved-app.ts";

const FAR_DAYS = 20_000;
const TRIES = 600;

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the application did not get into the state that is to be saved");
}

async function populate(app: App): Promise<void> {
  await app.actor(Purse, "alice").add(3);
  await app.actor(Purse, "alice").add(4);
  await app.actor(Purse, "bob").add(1);
  await app.actor(Diary, "long").fill();
  await app.actor(Diary, "long").write("a change after the whole");
  for (const id of ["a", "b", "c"]) await app.actor(Lamp, id).light();
  for (const id of ["north", "south"]) await app.actor(Beacon, id).see();
  await app.shards(Beacon).allocate({ 0: "saver", 1: "a-host-that-is-gone" });
  await app.shards(Lamp).pause();
  await app.actor(Purse, "alice").remind("soon", "1m");
  await app.reminders.set(Purse, "alice", "far", { due: `${FAR_DAYS}d`, every: "7d", data: ["kept"] });
  await app.reminders.set(Purse, "bob", "cron", { cron: "0 9 1 1 *", timezone: "Europe/Paris" });
  await app.reminders.set(Purse, "bob", "always-fails", { due: 0, onFailure: { attempts: 1 } });
  await app.jobs.set("yearly", { cron: "@yearly" }, () => undefined);
  await app.workflows.start(approval, {
    id: "waits-for-signal",
    input: 21,
    attributes: { region: "eu" },
    memo: { note: "kept" },
  });
  await app.workflows.start(nap, { id: "sleeps-briefly", input: 1 });
  await app.workflows.start(nap, { id: "sleeps-long", input: FAR_DAYS * 1_440 });
  await app.workflows.start("unknown-type", { id: "waits-for-worker", input: null });
  await app.workflows.get("waits-for-worker").signal("approved", "early");
  await (await app.workflows.start(quick, { id: "completed", input: 4 })).result();
  await (await app.workflows.start(failing, { id: "failed" })).result().catch(() => undefined);
  const waiting = app.workflows.get(approval, "waits-for-signal");
  await until(async () => (await waiting.history()).some(({ event }) => event.kind === "ActivityCompleted"));
  await until(async () => (await app.reminders.get(Purse, "bob", "always-fails")) === undefined);
}

function saveSqlite(from: string, to: string): void {
  const source = new DatabaseSync(from, { readOnly: true });
  source.prepare("VACUUM INTO ?").run(to);
  source.close();
}

const quoted = (value: unknown): string => (value === null ? "NULL" : `'${String(value).replaceAll("'", "''")}'`);

/** The schema as the migrations of this release make it, then every row, then where each identity goes on. */
async function savePostgres(url: string): Promise<string> {
  // Without parsers every value arrives as the text that PostgreSQL itself reads back.
  const asText = { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig;
  const client = new pg.Client({ connectionString: url, types: asText });
  await client.connect();
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const lines = [
      "CREATE SCHEMA limpet;",
      "CREATE TABLE limpet.migrations (number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());",
      ...MIGRATIONS.map(({ sql }) => sql("limpet").replace(/^ {4}/gm, "").trim()),
    ];
    const { rows: tables } = await client.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'limpet' ORDER BY 1",
    );
    // Migrations may insert rows; the saved ones take their place.
    lines.push(`TRUNCATE ${tables.map(({ name }) => `limpet.${name}`).join(", ")};`);
    for (const { name } of tables) {
      const { rows, fields } = await client.query(`SELECT * FROM limpet.${name} ORDER BY 1`);
      const columns = fields.map((field) => field.name);
      const into = `INSERT INTO limpet.${name} (${columns.join(", ")}) OVERRIDING SYSTEM VALUE VALUES`;
      for (const row of rows) lines.push(`${into} (${columns.map((column) => quoted(row[column])).join(", ")});`);
    }
    const { rows: sequences } = await client.query<{ name: string; last: string | null }>(
      "SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE schemaname = 'limpet' ORDER BY 1",
    );
    for (const { name, last } of sequences) {
      if (last !== null) lines.push(`SELECT setval('limpet.${name}', ${last});`);
    }
    return `${lines.join("\n")}\n`;
  } finally {
    await client.end();
  }
}

const folder = join(import.meta.dirname, manifest.version);
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
{
  await using place = await tempPlace();
  await using app = await savedApp(place.store);
  await populate(app);
  saveSqlite(place.store, join(folder, "limpet.db"));
}
{
  await using server = await startPostgres();
  const url = await server.createDatabase();
  await using app = await savedApp(url);
  await populate(app);
  await writeFile(join(folder, "postgres.sql"), await savePostgres(url));
}
process.stdout.write(`saved the stores of ${manifest.version} in ${folder}\n`);
