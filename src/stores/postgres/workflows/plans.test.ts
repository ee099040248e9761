// Checks that the server runs the statements of workflows by the intended index, regardless of its
// statistics. Also checks that the cost of a claim does not depend on unrelated rows, and that steps are HOT
// updates.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type pg from "pg";
import type { RunQuery } from "../../../ports/store/workflows.ts";
import type { Statement } from "../connection/connections.ts";
import { nodesOf, type Plan, PlanServer } from "../plan-kit.test.ts";
import { bindRuns, claimTasks } from "./claims.ts";
import { completeOne } from "./complete-one.ts";
import { completeTasks, findBatches, readSteps, rewriteRuns } from "./completions.ts";
import { readBatches, readInbox } from "./history.ts";
import { aimAtRuns, deliverToRuns, emptyInboxes, takeAlong, wakeTasks } from "./inbox-messages.ts";
import { closeRun, isOpen, renewTasks, returnTasks, wakeTask, watchTasks } from "./leases.ts";
import { findRun, findRunById, listRunsStatement, pruneRuns, readEnds } from "./listing.ts";
import { poolOf } from "./pools.ts";
import { releaseTasks } from "./release.ts";
import { startOne } from "./start-one.ts";
import { recallStarts, startRuns } from "./starts.ts";
import { lockTasks } from "./steps.ts";
import { countSticky, forgetWorker, listWorkersStatement, seeWorker } from "./workers.ts";

const SCHEMA = `"limpet"`;
const TABLES = ["runs", "tasks", "ends", "pages", "inbox", "workers"]
  .map((name) => `limpet.workflow_${name}`)
  .join(", ");

const REF = /^workflow_(tasks|ends|runs)_pkey$/;
const LATEST = "workflow_runs_namespace_workflow_id_number_key";
const RUNS = new RegExp(
  `^(${LATEST}|workflow_runs_run_id|workflow_(tasks|ends|inbox)_pkey|workflow_inbox_ref_key_key)$`,
);
const ANY = /./;
/** Rows are found while they are inserted, which is not part of the plan. */
const NONE = undefined;

const QUERIES: Omit<RunQuery, "namespace" | "limit">[] = [
  {},
  { workflowId: "a" },
  { prefix: "a" },
  { type: "T", status: "running" },
  { status: "completed", before: 7 },
  { status: "failed", queue: "q", before: 7 },
  { isBlocked: true },
  { attributes: { a: 1 }, startedFrom: 1, startedBefore: 2 },
];

/** Each statement, and the index that may find its rows. */
const ours = (): [Statement, RegExp | undefined][] => [
  ...[false, true].flatMap((closes) =>
    [false, true].map((takes): [Statement, RegExp] => [
      completeTasks(SCHEMA, { closes, takes }),
      /^workflow_(tasks_pkey|inbox_pkey|inbox_ref_key_key)$/,
    ]),
  ),
  ...(["keep", "rest", "close"] as const).flatMap((outcome) =>
    [0, 1, 2, 3, 4, 5, 6, 7]
      .map((bits) => ({ outcome, hasBatch: (bits & 1) > 0, takes: (bits & 2) > 0, isSticky: (bits & 4) > 0 }))
      .filter(({ takes, isSticky }) => outcome !== "close" || !(takes || isSticky))
      .map((form): [Statement, RegExp] => [
        completeOne(SCHEMA, form).statement,
        /^workflow_(tasks_pkey|inbox_pkey|inbox_ref_key_key)$/,
      ]),
  ),
  [readSteps(SCHEMA), REF],
  [findBatches(SCHEMA), /^workflow_pages_pkey$/],
  [rewriteRuns(SCHEMA), REF],
  [lockTasks(SCHEMA), REF],
  [startRuns(SCHEMA), RUNS],
  [startOne(SCHEMA, true), RUNS],
  [startOne(SCHEMA, false), RUNS],
  [recallStarts(SCHEMA), RUNS],
  [deliverToRuns(SCHEMA), RUNS],
  [aimAtRuns(SCHEMA), RUNS],
  [takeAlong(SCHEMA), /^workflow_(inbox_pkey|inbox_ref_key_key|runs_pkey)$/],
  [emptyInboxes(SCHEMA), /^workflow_(inbox_pkey|inbox_ref_key_key|ends_pkey)$/],
  [claimTasks(SCHEMA), /^workflow_(tasks_due|tasks_pkey|runs_pkey|workers_pkey)$/],
  [bindRuns(SCHEMA), REF],
  [renewTasks(SCHEMA), REF],
  [returnTasks(SCHEMA), REF],
  [watchTasks(SCHEMA), REF],
  [wakeTask(SCHEMA), RUNS],
  [wakeTasks(SCHEMA), REF],
  [isOpen(SCHEMA), RUNS],
  [closeRun(SCHEMA), RUNS],
  [readBatches(SCHEMA), /^workflow_(runs|pages|tasks|ends)_pkey$/],
  [readInbox(SCHEMA), /^workflow_(inbox|tasks)_pkey$/],
  [findRun(SCHEMA), RUNS],
  [findRunById(SCHEMA), RUNS],
  [readEnds(SCHEMA), REF],
  [pruneRuns(SCHEMA), /^workflow_(ends_in_order|(ends|runs|pages|inbox)_pkey|inbox_ref_key_key)$/],
  [seeWorker(SCHEMA), NONE],
  [forgetWorker(SCHEMA), /^workflow_workers_pkey$/],
  [listWorkersStatement(SCHEMA), /^workflow_workers_pkey$/],
  [countSticky(SCHEMA), REF],
  [releaseTasks(SCHEMA), REF],
  ...QUERIES.flatMap((query) =>
    [false, true].map((isCount): [Statement, RegExp] => [
      listRunsStatement(SCHEMA, { namespace: "n", limit: 10, ...query }, isCount).statement,
      ANY,
    ]),
  ),
];

describe("statements of workflows on PostgreSQL", () => {
  let place: PlanServer;
  let client: pg.Client;

  before(async () => {
    place = await PlanServer.start();
    ({ client } = place);
  });
  after(() => place?.[Symbol.asyncDispose]());

  async function checkPlans(): Promise<void> {
    for (const [statement, index] of ours()) {
      const { name } = statement;
      for (const { "Index Name": found, "Index Cond": condition } of await place.scansOf(statement, index)) {
        // Open runs are few, and listed from the latest on.
        if (name.includes("_runs_tasks_")) continue;
        assert.ok(condition !== undefined, `${name} reads all of ${found}`);
        if (found === "workflow_tasks_due") assert.match(condition, /pool = /, name);
        if (found === LATEST && !name.includes("_runs_runs_")) assert.match(condition, /workflow_id = /, name);
      }
    }
  }

  /** Inserts open, ready runs of a type without a lease; one in ten is closed instead, one in five idle. */
  async function fill(type: string, count: number, sticky = "", id = type): Promise<void> {
    const pool = poolOf({ namespace: "n", queue: "q", type, pinned: undefined });
    await client.query(
      `WITH new AS (
         SELECT nextval('limpet.workflow_refs') AS ref, i FROM generate_series(1, ${count}) AS i
       ), runs AS (
         INSERT INTO limpet.workflow_runs (ref, number, started_at, first_count, namespace, workflow_id, run_id, type, queue,
                                           attributes, memo, first_page)
         SELECT ref, 1, i, 1, 'n', $4 || i, $4 || '/' || i, $1, 'q', '{}', '', 'x' FROM new
       ), ends AS (
         INSERT INTO limpet.workflow_ends (ref, closed_at, events, bytes, is_watched, namespace, status, result)
         SELECT ref, i, 1, 1, false, 'n', CASE i % 100 WHEN 0 THEN 'failed' ELSE 'completed' END, '' FROM new WHERE i % 10 = 0
       ), pages AS (
         INSERT INTO limpet.workflow_pages SELECT ref, 2, 1, 'x' FROM new
       ), inbox AS (
         INSERT INTO limpet.workflow_inbox SELECT ref, 1, 'k', 'x' FROM new WHERE i % 3 = 0
       )
       INSERT INTO limpet.workflow_tasks (ref, pool, at, last, bytes, leased_until, attempt, state, namespace, sticky, sticky_until)
       SELECT ref, $2, i, 2, 2, 0, 0, CASE i % 5 WHEN 1 THEN 0 ELSE 1 END, 'n', $3, 9000000000000000 FROM new WHERE i % 10 <> 0`,
      [type, pool, sticky, id],
    );
  }

  /** Pages that a claim of ten tasks visits. It is rolled back. */
  async function cost(type: string): Promise<number> {
    const pools = [undefined, "b"].map((pinned) => poolOf({ namespace: "n", queue: "q", type, pinned }));
    const values = ["n", "q", [type, type], ["NULL", "b"], pools, 10, "w", "t", 1_000, true, 1_000_000];
    const filled = claimTasks(SCHEMA).text.replace(/\$(\d+)/g, (_, n) => {
      const value = values[Number(n) - 1]!;
      return Array.isArray(value) ? `'{${value.join(",")}}'` : typeof value === "string" ? `'${value}'` : `${value}`;
    });
    await client.query("BEGIN");
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${filled}`);
    await client.query("ROLLBACK");
    // The top node does not include the work of all its parts.
    const nodes = nodesOf(rows[0]["QUERY PLAN"][0].Plan as Plan);
    return Math.max(...nodes.map((node) => (node["Shared Hit Blocks"] ?? 0) + (node["Shared Read Blocks"] ?? 0)));
  }

  const truncate = () => client.query(`TRUNCATE ${TABLES}`);

  test("statements of workflows find their rows by the right index in empty tables, before and after ANALYZE", async () => {
    await checkPlans();
    await client.query(`ANALYZE ${TABLES}`);
    await checkPlans();
  });

  test("statements of workflows find their rows by the right index in full tables, before and after ANALYZE", async () => {
    await fill("T", 100_000);
    await checkPlans();
    await client.query(`ANALYZE ${TABLES}`);
    await checkPlans();
  });

  test("statements of workflows find their rows by the right index when the statistics are out of date", async () => {
    for (const state of [0, 2]) {
      await client.query(`UPDATE limpet.workflow_tasks SET token = 'x', state = ${state}`);
      await client.query(`VACUUM ANALYZE ${TABLES}`);
      await checkPlans();
    }
    await truncate();
    await checkPlans();
  });

  test("a claim of tasks costs the same, however large the backlog of its type, of other types and of another worker is", async () => {
    await truncate();
    await client.query(
      `INSERT INTO limpet.workflow_workers (seen_at, is_sticky, is_draining, namespace, worker, queue, build, about)
       VALUES (9000000000000, true, false, 'n', 'other', 'q', 'b', '')`,
    );
    await fill("Few", 300);
    await fill("Few", 300, "other", "first");
    const alone = await cost("Few");
    await fill("Crowd", 20_000);
    await fill("Few", 20_000, "", "more");
    await fill("Few", 20_000, "other", "held");
    const among = await cost("Few");
    // Indexes are a level higher, and the first tasks of a lane lie further apart.
    assert.ok(among < 3 * alone, `${among} pages instead of ${alone}`);
  });

  test("a run is not pinned if another process has its task by then", async () => {
    await truncate();
    await fill("Late", 3);
    await client.query(
      "UPDATE limpet.workflow_tasks SET state = 2, token = CASE WHEN ref % 2 = 0 THEN 'mine' ELSE 'theirs' END",
    );
    const read = async () => {
      const { rows } = await client.query(
        `SELECT t.token, t.pool, r.build FROM limpet.workflow_tasks t JOIN limpet.workflow_runs r USING (ref) ORDER BY t.ref`,
      );
      return rows as { token: string; pool: string; build: string | null }[];
    };
    const before = await read();
    const { rows } = await client.query("SELECT ref FROM limpet.workflow_tasks ORDER BY ref");
    const refs = rows.map(({ ref }) => ref as string);
    const [pools, builds] = [refs.map((_, i) => i), refs.map((_, i) => `b${i}`)];
    await client.query(bindRuns(SCHEMA).text, [refs, pools, builds, "mine"]);
    const expected = before.map((row, i) => (row.token === "mine" ? { ...row, pool: `${i}`, build: `b${i}` } : row));
    assert.deepEqual(
      (await read()).map(({ token, pool, build }) => ({ token, pool: `${pool}`, build })),
      expected.map(({ token, pool, build }) => ({ token, pool: `${pool}`, build })),
    );
    assert.ok(expected.some(({ build }) => build !== null) && expected.some(({ build }) => build === null));
  });
});
