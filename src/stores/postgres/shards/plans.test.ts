// Checks that the server runs the statements of shards by key, regardless of its statistics. Their cost must
// not depend on the number of rows.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type pg from "pg";
import { bigints, texts } from "../connection/arrays.ts";
import type { Statement } from "../connection/connections.ts";
import { nodesOf, type Plan, PlanServer } from "../plan-kit.test.ts";
import {
  dropRule,
  forgetSome,
  noteHomes,
  readHomes,
  readRemembered,
  readRememberedShards,
  readRuleStatement,
  remember,
  settleRule,
} from "./steps.ts";

const SCHEMA = `"limpet"`;
const TABLES = "limpet.shard_rules, limpet.shard_homes, limpet.remembered_actors";
const ROWS = 100_000;

/** Each statement, the index that may find its rows, and the columns of the key that it uses. */
const OURS: [Statement, RegExp | undefined, RegExp | undefined][] = [
  [readRuleStatement(SCHEMA), /^shard_rules_pkey$/, /namespace.*type/],
  // The row is found while it is inserted, which is not part of the plan.
  [settleRule(SCHEMA), undefined, undefined],
  [dropRule(SCHEMA), /^shard_(rules|homes)_pkey$/, /namespace.*type/],
  [readHomes(SCHEMA), /^shard_homes_pkey$/, undefined],
  [noteHomes(SCHEMA), /^leadership_pkey$/, /one/],
  [remember(SCHEMA), /^(remembered_actors|shard_homes)_pkey$/, /namespace.*type.*shard/],
  [readRemembered(SCHEMA), /^remembered_actors_pkey$/, /namespace.*type.*shard.*id/],
  [readRememberedShards(SCHEMA), /^remembered_actors_pkey$/, /namespace.*type/],
  [forgetSome(SCHEMA), /^remembered_actors_pkey$/, /namespace.*type/],
];

describe("statements of shards on PostgreSQL", () => {
  let place: PlanServer;
  let client: pg.Client;

  before(async () => {
    place = await PlanServer.start();
    ({ client } = place);
  });
  after(() => place?.[Symbol.asyncDispose]());

  async function checkPlans(): Promise<void> {
    for (const [statement, index, key] of OURS) {
      for (const { "Index Cond": condition } of await place.scansOf(statement, index)) {
        if (key !== undefined) assert.match(condition ?? "", key, statement.name);
      }
    }
  }

  /**
   * Runs a statement with these values, in the order of its parameters, and rolls it back. Returns its plan.
   */
  async function run({ text }: Statement, values: readonly (string | number | readonly (string | number)[])[]) {
    const filled = text.replace(/\$(\d+)/g, (_, n) => {
      const value = values[Number(n) - 1]!;
      return typeof value === "number" ? `${value}` : `'${typeof value === "string" ? value : `{${value.join(",")}}`}'`;
    });
    await client.query("BEGIN");
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${filled}`);
    await client.query("ROLLBACK");
    return rows[0]["QUERY PLAN"][0].Plan as Plan;
  }

  const pages = (plan: Plan): number => (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
  const sorts = (plan: Plan): Plan[] => nodesOf(plan).filter((node) => node["Node Type"].includes("Sort"));

  const fill = async () => {
    await client.query(
      `INSERT INTO limpet.shard_rules SELECT 'n', 'T' || i, 1000, 'v' FROM generate_series(1, 10000) AS i`,
    );
    await client.query(`INSERT INTO limpet.shard_homes SELECT 'n', 'T', i, 'h' FROM generate_series(1, ${ROWS}) AS i`);
    await client.query(
      `INSERT INTO limpet.remembered_actors SELECT 'n', 'T', i % 100, i::text FROM generate_series(1, ${ROWS}) AS i`,
    );
  };

  test("statements of shards find their rows by key in empty tables, before and after ANALYZE", async () => {
    await checkPlans();
    await client.query(`ANALYZE ${TABLES}`);
    await checkPlans();
  });

  test("statements of shards find their rows by key in full tables, before and after ANALYZE", async () => {
    await fill();
    await checkPlans();
    await client.query(`ANALYZE ${TABLES}`);
    await checkPlans();
  });

  test("statements of shards find their rows by key when the statistics are out of date", async () => {
    await client.query(`VACUUM ANALYZE ${TABLES}`);
    await client.query(`TRUNCATE ${TABLES}`);
    await checkPlans();
    await fill();
    await checkPlans();
  });

  test("a page of remembered actors costs the same at every position, and is read in index order", async () => {
    await client.query("VACUUM limpet.remembered_actors");
    for (const after of ["", "5", "98"]) {
      const plan = await run(readRemembered(SCHEMA), ["n", "T", 50, after, 100]);
      assert.deepEqual(sorts(plan), []);
      assert.ok(pages(plan) < 20, `${pages(plan)} pages behind ${after}`);
    }
  });

  test("reading the shards with remembered actors costs per shard, not per actor", async () => {
    const plan = await run(readRememberedShards(SCHEMA), ["n", "T"]);
    assert.deepEqual(sorts(plan), []);
    // There are 100, with 1,000 actors each.
    assert.ok(pages(plan) < 101 * 6, `${pages(plan)} pages for 100 shards`);
  });

  test("homes are read in index order", async () => {
    assert.deepEqual(sorts(await run(readHomes(SCHEMA), [])), []);
  });

  test("remembering and forgetting cost per change, however many actors are remembered", async () => {
    const words = (count: number, word: string) => Array.from({ length: count }, () => word);
    const batch = (count: number, from: number) => {
      const numbers = Array.from({ length: count }, (_, i) => from + i);
      return [words(count, "n"), words(count, "T"), numbers.map((n) => n % 100), numbers];
    };
    const shards = [words(100, "n"), words(100, "T"), Array.from({ length: 100 }, (_, i) => i)];
    const places = Array.from({ length: 100 }, (_, i) => i + 1);
    const changes = [places, ...batch(100, ROWS + 1), places, ...batch(100, 1_000)];
    const plan = await run(remember(SCHEMA), ["h", ...shards, ...changes]);
    // Each shard is read and locked, each actor looked up.
    assert.ok(pages(plan) < 300 * 12, `${pages(plan)} pages for 200 changes`);
    assert.ok(pages(plan) > 300, "nothing was looked for");
  });

  test("forgetting a portion costs per row of the portion, not per row of the type", async () => {
    const few = pages(await run(forgetSome(SCHEMA), ["n", "T", 100]));
    const many = pages(await run(forgetSome(SCHEMA), ["n", "T", 10_000]));
    assert.ok(few < 1_000, `${few} pages for 100`);
    assert.ok(many < 10_000 * 4, `${many} pages for 10000`);
  });

  test("nearly all changes of homes are HOT updates", async () => {
    await client.query("TRUNCATE limpet.shard_homes");
    const counts = async (): Promise<{ all: number; hot: number }> => {
      await client.query("SELECT pg_stat_force_next_flush()");
      const { rows } = await client.query(
        "SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'shard_homes'",
      );
      return rows[0];
    };
    const shards = Array.from({ length: 1_000 }, (_, shard) => shard);
    const note = (incarnation: string | undefined) =>
      client.query({
        ...noteHomes(SCHEMA),
        values: [
          ...[0, texts(shards.map(() => "n")), texts(shards.map(() => "T")), bigints(shards)],
          texts(shards.map(() => incarnation)),
        ],
      });
    await note("host-1");
    const before = await counts();
    for (let i = 2; i < 12; i++) {
      await note(undefined);
      await note(`host-${i}`);
    }
    const after = await counts();
    assert.equal(after.all - before.all, 20 * shards.length);
    const hot = after.hot - before.hot;
    assert.ok(hot > 0.9 * 20 * shards.length, `${hot} of ${20 * shards.length}`);
    // An unchanged home is not written.
    await note("host-11");
    assert.equal((await counts()).all, after.all);
  });
});
