// Files of earlier versions: they are migrated while a process of that version goes on with them.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { Place, setOf } from "../contract/reminders-shared.contract.ts";
import { actor, commitOf, send, take, whole, write } from "../contract/shared.contract.ts";
import { Site } from "../contract/workflows-shared.contract.ts";
import { NEWEST_SCHEMA } from "./migrations.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const REMINDER_TABLES = [
  ...["reminder_types", "reminder_generations", "reminders", "reminder_leases", "reminder_data", "dead_reminders"],
];
const WORKFLOW_TABLES = ["kinds", "runs", "tasks", "pages", "inbox", "workers"].map((name) => `workflow_${name}`);
const SHARD_TABLES = ["shard_rules", "shard_homes", "remembered_actors"];
const LATER_TABLES = ["cluster_secret"];

/** Makes the file look as if the later steps had never run. */
function asOf(version: 2 | 3, file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 30_000 });
  for (const table of [...LATER_TABLES, ...SHARD_TABLES, ...WORKFLOW_TABLES]) db.exec(`DROP TABLE ${table}`);
  if (version === 2) for (const table of REMINDER_TABLES) db.exec(`DROP TABLE ${table}`);
  db.exec(`PRAGMA user_version = ${version}`);
  return db;
}

test("a file without reminders gets their tables, keeps its actors, and a process of its version goes on writing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "limpet-migrations-"));
  try {
    const file = join(folder, "limpet.db");
    const first = await openSqliteStore(file);
    const alice = actor("alice");
    const before = await take(first, alice);
    await write(first, before, whole("1"));
    await first.close();

    const old = asOf(2, file);
    const commit = old.prepare(
      `UPDATE actors SET version = version + 1, commit_id = ?, committed_at = ?, state = ?
       WHERE ref = ? AND epoch = ? AND version = ? AND pieces = 0`,
    );
    assert.equal(commit.run("a", 1, "2", before.ref, before.epoch, 1).changes, 1);

    const store = await openSqliteStore(file);
    assert.equal(old.prepare("PRAGMA user_version").get()?.user_version, NEWEST_SCHEMA);
    assert.equal(commit.run("b", 1, "3", before.ref, before.epoch, 2).changes, 1);
    const it = new Place(store);
    await it.set(it.key("tea"));
    assert.equal(commit.run("c", 1, "4", before.ref, before.epoch, 3).changes, 1);
    assert.deepEqual(await it.names(), ["tea"]);

    const after = await take(store, alice);
    assert.deepEqual([after.version, after.state?.whole], [4, "4"]);
    assert.equal(commit.run("d", 1, "5", before.ref, before.epoch, 4).changes, 0);
    assert.equal(await send(store, commitOf(after, whole("5"))), "committed");
    old.close();
    await store.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a file without workflows gets their tables, keeps its reminders, and a process of its version goes on writing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "limpet-migrations-"));
  try {
    const file = join(folder, "limpet.db");
    const first = await openSqliteStore(file);
    await first.reminders.write([setOf(new Place(first, "n").key("tea"), { at: 1 })]);
    await first.close();

    const old = asOf(3, file);
    const moveOn = old.prepare("UPDATE reminders SET at = ? WHERE name = ?");
    const store = await openSqliteStore(file);
    assert.equal(old.prepare("PRAGMA user_version").get()?.user_version, NEWEST_SCHEMA);
    const it = new Site(store, "n");
    await it.start("a", { reminders: [setOf(it.place.key("timer"), { at: 2 })] });
    assert.equal(moveOn.run(3, "tea").changes, 1);
    assert.deepEqual(await it.ids(), ["a"]);
    assert.deepEqual(await it.place.names(), ["timer", "tea"]);
    old.close();
    await store.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("many processes that open a file of an earlier version at once all succeed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "limpet-migrations-"));
  try {
    const file = join(folder, "limpet.db");
    await (await openSqliteStore(file)).close();
    asOf(2, file).close();
    const stores = await Promise.all(Array.from({ length: 5 }, () => openSqliteStore(file)));
    const places = stores.map((store) => new Place(store, "n"));
    const generations = await Promise.all(places.map((it, i) => it.set(it.key(`${i}`))));
    assert.equal(new Set(generations).size, 5);
    await Promise.all(stores.map((store) => store.close()));
  } finally {
    await rm(folder, { recursive: true });
  }
});
