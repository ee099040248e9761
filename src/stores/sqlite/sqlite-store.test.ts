import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { setTimeout as tick } from "node:timers/promises";
import { actor, commitOf, take, whole } from "../contract/shared.contract.ts";
import { storeContract } from "../store.contract.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: string;
let files = 0;
const freshFile = () => join(folder, `${++files}.db`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "limpet-sqlite-"));
});
after(() => rm(folder, { recursive: true }));

storeContract("SQLite", async () => {
  const file = freshFile();
  const store = await openSqliteStore(file);
  const open = () => openSqliteStore(file);
  return { store, second: open, reopen: open, dispose: () => store.close() };
});

storeContract("SQLite in memory", async () => {
  const store = await openSqliteStore(":memory:");
  return { store, dispose: () => store.close() };
});

describe("opening an SQLite file", () => {
  test("the folder is created when it does not exist", async () => {
    const file = join(folder, "a", "b", "limpet.db");
    const store = await openSqliteStore(file);
    assert.equal(store.location, file);
    assert.ok(existsSync(file));
    await store.close();
  });

  test("a name that looks like a URI is still a file name", async () => {
    const file = join(folder, "file:x?mode=memory");
    const store = await openSqliteStore(file);
    await store.close();
    assert.ok(existsSync(file));
  });

  test("the log has been copied into the file when the last store is closed", async () => {
    const file = freshFile();
    const store = await openSqliteStore(file);
    await store.commit([commitOf(await take(store, actor("alice")), whole("x"))]);
    assert.ok(existsSync(`${file}-wal`));
    await store.close();
    assert.ok(!existsSync(`${file}-wal`));
  });

  test("a current file opens while another process is writing", async () => {
    const file = freshFile();
    await (await openSqliteStore(file)).close();
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    const store = await openSqliteStore(file, { busyTimeoutMs: 0 });
    assert.equal(await store.find(actor("alice")), undefined);
    other.close();
    await store.close();
  });

  test("a file written by a newer Limpet is rejected with advice", async () => {
    const file = freshFile();
    await (await openSqliteStore(file)).close();
    const other = new DatabaseSync(file);
    other.exec("PRAGMA user_version = 9999");
    other.close();
    await assert.rejects(openSqliteStore(file), { code: "STORE_INCOMPATIBLE", message: /newer Limpet.*9999.*upgrade/ });
  });

  test("a database of another program is rejected and left alone", async () => {
    for (const mark of ["PRAGMA application_id = 7", "PRAGMA user_version = 1"]) {
      const file = freshFile();
      const other = new DatabaseSync(file);
      other.exec(`CREATE TABLE theirs (x); ${mark}`);
      await assert.rejects(openSqliteStore(file), { code: "STORE_INCOMPATIBLE", message: /another program/ });
      assert.deepEqual(
        other
          .prepare("SELECT name FROM sqlite_schema")
          .all()
          .map((row) => row.name),
        ["theirs"],
      );
      other.close();
    }
  });

  test("a file that is not a database is rejected and left alone", async () => {
    const file = freshFile();
    await writeFile(file, "not a database, but long enough to have a header of its own: ".repeat(100));
    await assert.rejects(openSqliteStore(file), { code: "STORE_INCOMPATIBLE", message: /not an SQLite database/ });
  });

  test("a path that cannot be a file is a clear error", async () => {
    const taken = join(folder, "a-folder");
    await mkdir(taken);
    await assert.rejects(openSqliteStore(taken), { code: "STORE_UNAVAILABLE", message: /cannot be opened/ });
    const file = freshFile();
    await writeFile(file, "");
    await assert.rejects(openSqliteStore(join(file, "limpet.db")), { code: "STORE_UNAVAILABLE", message: /folder/ });
    await assert.rejects(openSqliteStore(""), { code: "OPTION_INVALID" });
  });

  test("a read-only file is a clear error", async (t) => {
    if (process.getuid?.() === 0) return t.skip("nothing is read-only for root");
    const closed = join(folder, "read-only");
    await mkdir(closed, { mode: 0o500 });
    await assert.rejects(openSqliteStore(join(closed, "limpet.db")), {
      code: "STORE_UNAVAILABLE",
      message: /permissions/,
    });
  });
});

describe("an SQLite file that another process is writing", () => {
  async function held(busyTimeoutMs: number) {
    const file = freshFile();
    const store = await openSqliteStore(file, { busyTimeoutMs });
    const alice = await take(store, actor("alice"));
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    return { store, alice, other };
  }

  test("a commit waits for the lock of another process while the event loop keeps running", async () => {
    const { store, alice, other } = await held(60_000);
    let settled = false;
    const commit = store.commit([commitOf(alice, whole("patient"))]).finally(() => {
      settled = true;
    });
    for (let i = 0; i < 50; i++) await tick(1);
    assert.equal(settled, false);
    other.exec("COMMIT");
    assert.deepEqual(await commit, ["committed"]);
    other.close();
    await store.close();
  });

  test("a commit and a take fail with nothing applied when the lock is held for too long, and work again afterwards", async () => {
    const { store, alice, other } = await held(20);
    const bob = actor("bob");
    const commit = commitOf(alice, whole("w".repeat(5_000)));
    await assert.rejects(store.commit([commit]), { code: "STORE_UNAVAILABLE", message: /lock/ });
    await assert.rejects(store.take([{ ...bob, owner: "host-1" }]), { code: "STORE_UNAVAILABLE" });
    assert.deepEqual(other.prepare("SELECT count(*) AS n FROM actor_wholes").get()?.n, 0);
    assert.deepEqual(other.prepare("SELECT version FROM actors WHERE ref = ?").get(alice.ref)?.version, 0);
    other.exec("ROLLBACK");
    assert.equal(await store.find(bob), undefined);
    assert.deepEqual(await store.commit([commit]), ["committed"]);
    assert.equal((await take(store, bob)).version, 0);
    other.close();
    await store.close();
  });

  test("reads do not wait for the lock of another process", async () => {
    const { store, other } = await held(0);
    await store.ping();
    assert.deepEqual(await store.list({ namespace: "nobody", limit: 1 }), []);
    other.close();
    await store.close();
  });
});
