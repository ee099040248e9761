// Stores that earlier releases wrote, opened with the code of today: nothing that was acknowledged then is
// lost by an upgrade.
import assert from "node:assert/strict";
import { copyFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import pg from "pg";
import type { App } from "../../src/index.ts";
import { startPostgres } from "../support/postgres.ts";
import { tempPlace } from "../support/two-stores.ts";
import { approval, approved, Beacon, Diary, failing, Lamp, nap, Purse, quick, savedApp } from "./saved-app.ts";

const TRIES = 600;

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`never happened: ${what}`);
}

async function checkActors(app: App): Promise<void> {
  assert.equal(await app.actor(Purse, "alice").add(1), 8);
  assert.equal(await app.actor(Purse, "bob").add(1), 2);
  const diary = app.actor(Diary, "long");
  assert.deepEqual(await diary.read(), { lines: 401, last: "a change after the whole", since: new Date(0) });
  assert.equal(await diary.write("written by the newest code"), 402);
}

async function checkShards(app: App): Promise<void> {
  for (const id of ["a", "b", "c"]) assert.equal(await app.actor(Lamp, id).lit(), 1);
  for (const id of ["north", "south"]) assert.equal(await app.actor(Beacon, id).see(), 2);
  assert.equal((await app.shards(Lamp).view()).paused, true);
}

async function checkReminders(app: App): Promise<void> {
  const alice = app.actor(Purse, "alice");
  await until(async () => (await alice.reminded()).includes("soon"), "the overdue reminder ticks");
  const far = await app.reminders.get(Purse, "alice", "far");
  assert.deepEqual(far?.data, ["kept"]);
  assert.ok(far.next > Date.UTC(2070, 0));
  assert.ok((await app.reminders.get(Purse, "bob", "cron")) !== undefined);
  assert.ok((await app.jobs.get("yearly")) !== undefined);
  const { reminders } = await app.host.reminders.listDead({ limit: 10 });
  assert.deepEqual(
    reminders.map(({ name }) => name),
    ["always-fails"],
  );
}

async function checkWorkflows(app: App): Promise<void> {
  assert.equal(await app.workflows.get(nap, "sleeps-briefly").result(), "rested");
  assert.equal(await app.workflows.get(quick, "completed").result(), 8);
  await assert.rejects(app.workflows.get(failing, "failed").result(), /this workflow always fails/);
  const waiting = app.workflows.get(approval, "waits-for-signal");
  const { attributes, memo } = await waiting.describe();
  assert.deepEqual({ attributes, memo }, { attributes: { region: "eu" }, memo: { note: "kept" } });
  await waiting.signal(approved, "the newest code");
  assert.deepEqual(await waiting.result(), { receipt: 42, by: "the newest code" });
  for (const id of ["sleeps-long", "waits-for-worker"]) {
    assert.equal((await app.workflows.get(id).describe()).status, "running");
  }
}

async function checkAll(store: string): Promise<void> {
  // Twice: the newest code must also open the store that it has migrated itself.
  {
    await using app = await savedApp(store);
    await checkActors(app);
    await checkShards(app);
    await checkReminders(app);
    await checkWorkflows(app);
  }
  await using app = await savedApp(store);
  assert.equal(await app.actor(Purse, "alice").add(1), 9);
}

const releases = (await readdir(import.meta.dirname, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe("a store of an earlier release", () => {
  for (const release of releases) {
    const folder = join(import.meta.dirname, release);

    it(`a SQLite file of release ${release} keeps everything when the newest code opens it`, async () => {
      await using place = await tempPlace();
      await copyFile(join(folder, "limpet.db"), place.store);
      await checkAll(place.store);
    });

    it(`a PostgreSQL database of release ${release} keeps everything when the newest code opens it`, async () => {
      await using server = await startPostgres();
      const url = await server.createDatabase();
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(await readFile(join(folder, "postgres.sql"), "utf8"));
      await client.end();
      await checkAll(url);
    });
  }
});
