// An application with a queue for each tenant: very many kinds of runs. A list must not visit every kind in
// the thread that commits.
import assert from "node:assert/strict";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import type { RunQuery } from "../../../ports/store/workflows.ts";
import { openDatabase } from "../database.ts";
import { IN_MEMORY } from "../thread/verbs.ts";
import { statusCode } from "./codes.ts";
import { WorkflowKinds } from "./kinds.ts";
import { SqliteWorkflowListing } from "./listing.ts";
import type { WorkflowRuns } from "./runs.ts";

const KINDS = 3_000;

describe("lists of workflows with very many queues", () => {
  const { db } = openDatabase({ file: IN_MEMORY, busyTimeoutMs: 0 });
  let asked = 0;
  const counted = {
    prepare: (sql: string): StatementSync => {
      const statement = db.prepare(sql);
      return new Proxy(statement, {
        get: (_, name) => {
          const value: unknown = Reflect.get(statement, name, statement);
          if (typeof value !== "function") return value;
          return (...args: unknown[]) => {
            asked++;
            return (value as (...args: unknown[]) => unknown).apply(statement, args);
          };
        },
      });
    },
  } as unknown as DatabaseSync;
  const kinds = new WorkflowKinds(counted);
  const listing = new SqliteWorkflowListing(counted, kinds, {} as WorkflowRuns);

  before(() => {
    const kind = db.prepare("INSERT INTO workflow_kinds (ref, namespace, queue, type) VALUES (?, 'n', ?, ?)");
    const run = db.prepare(
      `INSERT INTO workflow_runs (kind, status, started_at, namespace, workflow_id, run_id, attributes, memo, result)
       VALUES (?, ?, 1, 'n', ?, ?, '{}', '', '')`,
    );
    db.exec("BEGIN");
    for (let i = 1; i <= KINDS; i++) {
      kind.run(i, `tenant-${i}`, i % 2 === 0 ? "even" : "odd");
      run.run(i, statusCode("completed"), `w-${i}`, `run-${i}`);
    }
    db.exec("COMMIT");
  });
  after(() => db.close());

  /**
   * All results of a query that is repeated until it is complete, and the most statements that one request
   * took.
   */
  function page(query: Partial<RunQuery>): { ids: string[]; most: number } {
    const ids: string[] = [];
    let most = 0;
    const limit = query.limit ?? 10;
    for (let before: number | undefined; ; ) {
      asked = 0;
      const answer = listing.list({ namespace: "n", ...query, before, limit: limit - ids.length });
      most = Math.max(most, asked);
      ids.push(...answer.runs.map(({ workflowId }) => workflowId));
      if (answer.before === undefined) return { ids, most };
      before = answer.before;
    }
  }

  test("a page of all runs, the latest first, takes few statements", () => {
    const { ids, most } = page({ limit: 3 });
    assert.deepEqual(ids, ["w-3000", "w-2999", "w-2998"]);
    assert.ok(most < 2_000, `${most} statements`);
  });

  test("types, queues, statuses and prefixes are found, in slices of few statements", () => {
    assert.deepEqual(page({ type: "odd", limit: 2 }).ids, ["w-2999", "w-2997"]);
    assert.deepEqual(page({ queue: "tenant-7" }).ids, ["w-7"]);
    assert.deepEqual(page({ queue: "tenant-7", type: "odd" }).ids, ["w-7"]);
    assert.deepEqual(page({ queue: "tenant-7", type: "even" }).ids, []);
    assert.deepEqual(page({ status: "completed", limit: 1 }).ids, ["w-3000"]);
    const nothing = page({ status: "failed" });
    assert.deepEqual(nothing.ids, []);
    assert.ok(nothing.most < 3 * KINDS, `${nothing.most} statements`);
    assert.deepEqual(page({ prefix: "w-299", type: "odd", limit: 2 }).ids, ["w-2999", "w-2997"]);
    assert.deepEqual(page({ limit: 5_000 }).ids.length, KINDS);
  });

  test("runs of very many queues are counted in slices", () => {
    let count = 0;
    for (let before: number | undefined; ; ) {
      const answer = listing.count({ namespace: "n", type: "odd", before, limit: 10_000 });
      count += answer.count;
      if (answer.before === undefined) break;
      before = answer.before;
    }
    assert.equal(count, KINDS / 2);
  });
});
