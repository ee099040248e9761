// Query plans of the server, for tests that check by which index a statement finds its rows.
import assert from "node:assert/strict";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import type { Statement } from "./connection/connections.ts";
import { type PostgresSettings, postgresSettings } from "./connection/settings.ts";
import { migratePostgres } from "./migrate.ts";

export interface Plan {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly Plan[];
}

export const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** A server without autovacuum, with Limpet's tables, and a client without a time limit. */
export class PlanServer implements AsyncDisposable {
  readonly #server: TestServer;
  readonly settings: PostgresSettings;
  readonly client: pg.Client;

  private constructor(server: TestServer, settings: PostgresSettings) {
    this.#server = server;
    this.settings = settings;
    this.client = new pg.Client({ ...settings.driver, query_timeout: 0 });
  }

  static async start(): Promise<PlanServer> {
    const server = await startPostgres({ autovacuum: "off", max_wal_size: "4GB" });
    const settings = postgresSettings(await server.createDatabase());
    await migratePostgres(settings);
    const place = new PlanServer(server, settings);
    await place.client.connect();
    await place.client.query("SET statement_timeout = 0");
    return place;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end();
    await this.#server.dispose();
  }

  /**
   * Checks that the statement finds its rows only by such an index, or by none where `index` is undefined.
   * Returns the scans.
   */
  async scansOf({ name, text }: Statement, index: RegExp | undefined): Promise<Plan[]> {
    await this.client.query(`PREPARE "${name}" AS ${text}`);
    const { rows } = await this.client.query<{ types: string[] }>(
      "SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = $1",
      [name],
    );
    const values = rows[0]!.types.map((type) => (type.endsWith("[]") ? `'{}'` : "'1'")).join(", ");
    const given = values === "" ? "" : `(${values})`;
    const { rows: plans } = await this.client.query(`EXPLAIN (FORMAT JSON) EXECUTE "${name}" ${given}`);
    await this.client.query(`DEALLOCATE "${name}"`);
    const nodes = nodesOf(plans[0]["QUERY PLAN"][0].Plan as Plan);
    for (const node of nodes) {
      assert.doesNotMatch(node["Node Type"], /Seq Scan|Bitmap|Hash Join|Merge Join/, name);
    }
    const scans = nodes.filter((node) => node["Node Type"].startsWith("Index"));
    assert.equal(scans.length > 0, index !== undefined, `${name} reads ${scans.length} indexes`);
    for (const { "Index Name": found } of scans) assert.match(found ?? "", index!, name);
    return scans;
  }
}
