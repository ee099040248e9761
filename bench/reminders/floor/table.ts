// The table of the floors on PostgreSQL: the columns and indexes of Limpet's table.
import pg from "pg";

const TABLE = `
  CREATE TABLE IF NOT EXISTS reminders (
    generation bigint PRIMARY KEY, queue bigint NOT NULL, at bigint NOT NULL, due bigint NOT NULL, number bigint NOT NULL,
    attempt bigint NOT NULL, leased_until bigint NOT NULL, namespace text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, schedule text NOT NULL, data text, token text COLLATE "C",
    UNIQUE (namespace, type, id, name)
  ) WITH (fillfactor = 45);
  CREATE INDEX IF NOT EXISTS reminders_due ON reminders (queue, at)`;

export async function openTable(url: string): Promise<pg.Client> {
  const client = await connect(url);
  await client.query(TABLE);
  return client;
}

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
