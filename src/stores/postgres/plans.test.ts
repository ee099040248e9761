// Checks that the server runs the statements by key, regardless of its statistics, and that arrays arrive
// unchanged.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import { commitAny, commitSmall, readHeads } from "./actors/commit.ts";
import { listStatement } from "./actors/listing.ts";
import { readParts, takeFree, takeHeads } from "./actors/take.ts";
import { bigints, texts } from "./connection/arrays.ts";
import type { Statement } from "./connection/connections.ts";
import { postgresSettings } from "./connection/settings.ts";
import { leaveMembers, noteMembers, readMembers } from "./coordination/coordination.ts";
import { migratePostgres } from "./migrate.ts";
import { nodesOf, type Plan } from "./plan-kit.test.ts";

const SCHEMA = `"limpet"`;
const QUERIES = [
  { namespace: "n", limit: 10 },
  { namespace: "n", type: "T", limit: 10 },
  { namespace: "n", after: { type: "T", id: "5" }, limit: 10 },
  { namespace: "n", type: "T", after: { type: "T", id: "5" }, prefix: "7", limit: 10 },
];

describe("statements of actors on PostgreSQL", () => {
  let server: TestServer;
  let client: pg.Client;

  before(async () => {
    server = await startPostgres({ autovacuum: "off" });
    const settings = postgresSettings(await server.createDatabase());
    await migratePostgres(settings);
    client = new pg.Client(settings.driver);
    await client.connect();
  });
  after(async () => {
    await client?.end();
    await server?.dispose();
  });

  /** The plan that a prepared statement runs with. */
  async function planOf({ name, text }: Statement): Promise<Plan[]> {
    await client.query(`PREPARE ${name} AS ${text}`);
    try {
      const { rows } = await client.query<{ types: string[] }>(
        "SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = $1",
        [name],
      );
      const values = rows[0]!.types.map((type) => (type.endsWith("[]") ? `'{}'` : "'1'")).join(", ");
      const given = values === "" ? "" : `(${values})`;
      const { rows: plans } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE ${name} ${given}`);
      return nodesOf(plans[0]["QUERY PLAN"][0].Plan as Plan);
    } finally {
      await client.query(`DEALLOCATE ${name}`);
    }
  }

  async function checkPlans(): Promise<void> {
    const actors = [commitSmall, commitAny, readHeads, takeHeads, takeFree, readParts];
    const ours = [...actors, readMembers, noteMembers, leaveMembers].map((make) => make(SCHEMA));
    const lists = QUERIES.map((query) => listStatement(SCHEMA, query).statement);
    for (const statement of [...ours, ...lists]) {
      const nodes = await planOf(statement);
      for (const node of nodes) {
        assert.doesNotMatch(node["Node Type"], /Seq Scan|Bitmap|Hash Join|Merge Join/, statement.name);
      }
      const scans = nodes.filter((node) => node["Node Type"].startsWith("Index"));
      // A take finds its rows by the unique index, which is part of inserting and not of the plan.
      if (statement.name === "limpet_take_heads") continue;
      assert.ok(scans.length > 0, `${statement.name} reads no index`);
      for (const { "Index Name": index } of scans)
        assert.match(index ?? "", /_pkey$|_namespace_(type_id|incarnation)_key$/);
    }
    for (const query of lists) {
      const sorts = (await planOf(query)).filter((node) => node["Node Type"].includes("Sort"));
      assert.deepEqual(sorts, [], `${query.name} sorts instead of reading the index in order`);
    }
  }

  test("statements of actors find their rows by key while the tables are empty and not analyzed", async () => {
    await checkPlans();
  });

  test("statements of actors find their rows by key in a table of 100,000 rows, before and after ANALYZE", async () => {
    await client.query("SET statement_timeout = 0");
    await client.query(
      `INSERT INTO limpet.actors (namespace, type, id, epoch, owner, taken_at, base)
       SELECT 'n', 'T', i::text, 1, 'o', now(), i % 2 FROM generate_series(1, 100000) AS i`,
    );
    await client.query("INSERT INTO limpet.actor_parts SELECT i, 1, 'x' FROM generate_series(1, 100000) AS i");
    await checkPlans();
    await client.query("ANALYZE limpet.actors, limpet.actor_parts");
    await checkPlans();
  });

  test("nearly every commit is a HOT update once rows have found room in their pages", async () => {
    const refs = Array.from({ length: 500 }, (_, i) => i * 2 + 2);
    const commits = async (from: number, to: number) => {
      for (let version = from; version < to; version++) {
        const values = [bigints(refs), bigints(refs.map(() => 1)), bigints(refs.map(() => version))];
        const data = refs.map(() => "s".repeat(100 + version));
        const { rows } = await client.query({
          ...commitSmall(SCHEMA),
          values: [...values, texts(refs.map((ref) => `${version}-${ref}`)), texts(data), texts(["o"])],
        });
        assert.equal(rows[0].count, refs.length);
      }
      await client.query("SELECT pg_stat_force_next_flush()");
      const { rows } = await client.query(
        "SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'actors'",
      );
      return rows[0] as { all: number; hot: number };
    };
    // A row that gets its first state outgrows its page and moves; from then on it stays.
    const begun = await commits(0, 10);
    const ended = await commits(10, 30);
    assert.equal(ended.all - begun.all, refs.length * 20);
    const hot = ended.hot - begun.hot;
    assert.ok(hot > 0.9 * refs.length * 20, `${hot} of ${refs.length * 20}`);
  });

  test("arrays of numbers arrive at the server unchanged", async () => {
    const numbers = fc.array(
      fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, 1, -1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1)),
    );
    await fc.assert(
      fc.asyncProperty(numbers, async (list) => {
        const { rows } = await client.query("SELECT $1::bigint[]::text[] AS list", [bigints(list)]);
        assert.deepEqual(rows[0].list, list.map(String));
      }),
      { numRuns: 50 },
    );
  });

  test("arrays of texts arrive at the server unchanged, including missing ones", async () => {
    const text = fc.string({ unit: "binary", maxLength: 20 }).filter((one) => !one.includes("\0"));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(text, { nil: undefined })), async (list) => {
        const { rows } = await client.query("SELECT $1::text[] AS list", [texts(list)]);
        assert.deepEqual(
          rows[0].list,
          list.map((one) => one ?? null),
        );
      }),
      { numRuns: 50 },
    );
  });
});
