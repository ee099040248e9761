// Plans of SQLite: every statement about workflows uses a key or a range of an index, and none sorts.
import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import { after, describe, test } from "node:test";
import { openDatabase } from "../database.ts";
import { ReminderStatements } from "../reminders/statements.ts";
import { IN_MEMORY } from "../thread/verbs.ts";
import { WorkflowStatements } from "./statements.ts";

describe("plans of statements about workflows", () => {
  const { db } = openDatabase({ file: IN_MEMORY, busyTimeoutMs: 0 });
  after(() => db.close());
  const statements: string[] = [];
  const recording = {
    prepare: (sql: string) => {
      statements.push(sql.replaceAll(/\s+/g, " "));
      return db.prepare(sql);
    },
  };
  new WorkflowStatements(recording as DatabaseSync, new ReminderStatements(db));

  const planOf = (sql: string): string[] =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail as string);
  const those = (pattern: RegExp): string[] => statements.filter((sql) => pattern.test(sql));

  test("no statement about workflows reads a whole table, and none sorts", () => {
    assert.ok(statements.length > 30);
    for (const sql of statements) {
      for (const step of planOf(sql)) {
        assert.doesNotMatch(step, /TEMP B-TREE/, sql);
        if (step.startsWith("SCAN")) assert.match(step, /^SCAN (\(subquery|\w+ VIRTUAL TABLE)/, sql);
      }
    }
  });

  test("claims read only tasks that are ready or leased", () => {
    const looks = those(/^SELECT .* FROM workflow_tasks WHERE state <> 0/);
    assert.equal(looks.length, 3);
    for (const sql of looks) {
      assert.match(planOf(sql)[0]!, /USING INDEX workflow_tasks_by_moment \(kind=\? AND build=\? AND sticky_worker/);
    }
  });

  test("a list by workflow, kind or status is a range of an index in the order of refs, without reading the rows", () => {
    const [byName] = those(/workflow_id = \? AND ref < \?/);
    assert.match(
      planOf(byName!)[0]!,
      /COVERING INDEX workflow_runs_by_name \(namespace=\? AND workflow_id=\? AND rowid</,
    );
    const [byKind] = those(/kind = \? AND status = \? AND ref < \? AND ref >/);
    assert.match(planOf(byKind!)[0]!, /COVERING INDEX workflow_runs_by_kind \(kind=\? AND status=\? AND rowid>/);
    const [blocked] = those(/problem IS NOT NULL AND ref < /);
    assert.match(planOf(blocked!)[0]!, /USING INDEX workflow_tasks_with_problem/);
  });

  test("a run is found by its id, however many runs its workflow had", () => {
    const [byId] = those(/AND run_id = \?/);
    assert.match(planOf(byId!)[0]!, /USING INDEX workflow_runs_by_id \(run_id=\?\)/);
  });
});
