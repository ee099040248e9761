// A real PostgreSQL server for one run of the benchmarks, as durable as in production, which is verified.
import pg from "pg";
import { startPostgres, type TestServer } from "../test/support/postgres.ts";

export class BenchPostgres {
  readonly version: string;
  readonly #server: TestServer;

  private constructor(server: TestServer, version: string) {
    this.#server = server;
    this.version = version;
  }

  static async start(): Promise<BenchPostgres> {
    // The server's own default; the tests, which start many servers, use less.
    const server = await startPostgres({ shared_buffers: "128MB" });
    const { version, fsync, sync } = await query(
      server.url(),
      `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
              current_setting('synchronous_commit') AS sync`,
    );
    if (fsync !== "on" || sync !== "on") {
      await server.dispose();
      throw new Error(`fsync is ${fsync} and synchronous_commit is ${sync}; both must be on`);
    }
    return new BenchPostgres(server, version!.split(" ")[0]!);
  }

  /** Creates an empty database; returns its URL. */
  createDatabase(): Promise<string> {
    return this.#server.createDatabase();
  }

  async dropDatabase(url: string): Promise<void> {
    await query(this.#server.url(), `DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
  }

  stop(): Promise<void> {
    return this.#server.dispose();
  }
}

/** The first row. */
async function query(url: string, sql: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(sql)).rows[0] ?? {};
  } finally {
    await client.end();
  }
}
