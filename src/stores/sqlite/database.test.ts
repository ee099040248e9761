import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { ActorStatements } from "./actors/actor-statements.ts";
import { ListingStatements } from "./actors/listing-statements.ts";
import { WRITE_KIND } from "./actors/verbs.ts";
import { openDatabase } from "./database.ts";
import { ReminderClaims } from "./reminders/claims.ts";
import { SqliteReminderListing } from "./reminders/listing.ts";
import { ReminderStatements } from "./reminders/statements.ts";

test("every commit is flushed to the disk: write-ahead log and synchronous FULL", async () => {
  const folder = await mkdtemp(join(tmpdir(), "limpet-database-"));
  const { db } = openDatabase({ file: join(folder, "limpet.db"), busyTimeoutMs: 0 });
  try {
    assert.equal(db.prepare("PRAGMA journal_mode").get()?.journal_mode, "wal");
    assert.equal(db.prepare("PRAGMA synchronous").get()?.synchronous, 2);
  } finally {
    db.close();
    await rm(folder, { recursive: true });
  }
});

test("every statement finds its rows by a key: none scans a table or sorts", () => {
  const { db } = openDatabase({ file: ":memory:", busyTimeoutMs: 0 });
  const statements: string[] = [];
  const listening = {
    prepare(sql: string) {
      statements.push(sql);
      return db.prepare(sql);
    },
  } as unknown as DatabaseSync;
  // The statement of small commits is prepared for its owner.
  new ActorStatements(listening).commit([1, 1, 0, WRITE_KIND.clear], ["commit", ""], ["owner"], 0);
  assert.ok(statements.some((sql) => sql.includes("owner = 'owner'")));
  new ListingStatements(listening);
  new ReminderStatements(listening);
  new ReminderClaims(listening);
  new SqliteReminderListing(listening);
  assert.ok(statements.length > 40);
  for (const sql of statements) {
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => row.detail)
      // Values of the request, and rows that a part of the same statement has just found.
      .filter((detail) => !/^SCAN (json_each|j|\(subquery-\d+\)) ?/.test(`${detail}`));
    assert.doesNotMatch(plan.join("; "), /SCAN|TEMP B-TREE/, sql);
  }
  db.close();
});

test("claims read index entries in due order, and none of the rows behind them", () => {
  const { db } = openDatabase({ file: ":memory:", busyTimeoutMs: 0 });
  const plans: string[] = [];
  const listening = {
    prepare(sql: string) {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      plans.push(plan.map((row) => row.detail).join("; "));
      return db.prepare(sql);
    },
  } as unknown as DatabaseSync;
  new ReminderClaims(listening);
  const byMoment = plans.filter((plan) => plan.includes("reminders_by_moment"));
  assert.equal(byMoment.length, 4);
  for (const plan of byMoment) assert.match(plan, /COVERING INDEX reminders_by_moment/);
  db.close();
});
