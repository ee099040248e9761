// Backups of a real store, and restores of it under running processes, as an operator does after a loss of
// data.
import { copyFile } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";
import pg from "pg";

/** Takes a backup. The function it returns restores the store to that point. */
export async function backUp(store: string): Promise<() => Promise<void>> {
  return store.startsWith("postgres:") ? backUpPostgres(store) : backUpSqlite(store);
}

/** SQLite's own copy of a live file, and back into it page by page, as its command `.restore` does. */
async function backUpSqlite(file: string): Promise<() => Promise<void>> {
  const live = new DatabaseSync(file, { timeout: 30_000 });
  await backup(live, `${file}.backup`);
  live.close();
  return async () => {
    await copyFile(`${file}.backup`, `${file}.restoring`);
    const saved = new DatabaseSync(`${file}.restoring`);
    await backup(saved, file);
    saved.close();
  };
}

/**
 * A copy of all rows beside the tables. A restore puts them back, and the sequences to where they were, as a
 * dump does.
 */
async function backUpPostgres(url: string): Promise<() => Promise<void>> {
  const tables = (await rows(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'limpet'")).map(([name]) => name);
  const sequences = await rows(url, "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'limpet'");
  const copies = tables.map((table) => `CREATE TABLE backup.${table} AS TABLE limpet.${table};`);
  await rows(url, `CREATE SCHEMA backup; ${copies.join("")}`);
  return async () => {
    const back = tables.map((table) => `INSERT INTO limpet.${table} OVERRIDING SYSTEM VALUE TABLE backup.${table};`);
    const counters = sequences.map(([name, last]) => {
      return `SELECT setval('limpet.${name}', ${last ?? 1}, ${last !== null});`;
    });
    const all = tables.map((table) => `limpet.${table}`).join();
    await rows(url, `BEGIN; TRUNCATE ${all}; ${back.join("")} ${counters.join("")} COMMIT;`);
  };
}

async function rows(url: string, text: string): Promise<string[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const answer = (await client.query({ text, rowMode: "array" })) as { rows: string[][] };
    return answer.rows;
  } finally {
    await client.end();
  }
}
