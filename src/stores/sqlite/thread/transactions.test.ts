import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { isBusy, toLimpetError } from "../sqlite-errors.ts";
import { patiently, Transactions } from "./transactions.ts";

/** An error as node:sqlite throws it. */
const sqliteError = (errcode: number, message: string) => Object.assign(new Error(message), { errcode });

function memory() {
  const db = new DatabaseSync(":memory:");
  db.exec("CREATE TABLE t (x)");
  const rows = () =>
    db
      .prepare("SELECT x FROM t")
      .all()
      .map((row) => row.x);
  return { db, rows, transactions: new Transactions(db, 0) };
}

/** The same database, except that its next COMMITs fail as given. */
function failingCommits(db: DatabaseSync, failures: { error: Error; applied: boolean }[]): DatabaseSync {
  const prepare = (sql: string) => {
    const statement = db.prepare(sql);
    if (sql !== "COMMIT") return statement;
    return {
      run() {
        const failure = failures.shift();
        if (failure === undefined || failure.applied) statement.run();
        if (failure !== undefined) throw failure.error;
      },
    };
  };
  return {
    prepare,
    exec: (sql: string) => db.exec(sql),
    get isTransaction() {
      return db.isTransaction;
    },
  } as unknown as DatabaseSync;
}

test("a transaction whose work throws is rolled back, and the next transaction works", () => {
  const { db, rows, transactions } = memory();
  const failing = () => {
    db.exec("INSERT INTO t VALUES (1)");
    db.exec("INSERT INTO nowhere VALUES (1)");
  };
  assert.throws(() => transactions.write("COMMIT_UNKNOWN", failing), /nowhere/);
  transactions.write("COMMIT_UNKNOWN", () => db.exec("INSERT INTO t VALUES (2)"));
  assert.deepEqual(rows(), [2]);
});

test("a COMMIT that fails is unknown, whether it counted or not, and the next transaction works", () => {
  for (const applied of [false, true]) {
    const { db, rows } = memory();
    const error = sqliteError(10 | (4 << 8), "disk I/O error");
    const transactions = new Transactions(failingCommits(db, [{ error, applied }]), 0);
    const insert = (x: number) => () => db.exec(`INSERT INTO t VALUES (${x})`);
    assert.throws(() => transactions.write("COMMIT_UNKNOWN", insert(1)), { code: "COMMIT_UNKNOWN" });
    transactions.write("COMMIT_UNKNOWN", insert(2));
    assert.deepEqual(rows(), applied ? [1, 2] : [2]);
  }
});

test("a COMMIT that fails is unavailable for work that is harmless to repeat", () => {
  const { db } = memory();
  const error = sqliteError(13, "database or disk is full");
  const transactions = new Transactions(failingCommits(db, [{ error, applied: false }]), 0);
  assert.throws(() => transactions.write("STORE_UNAVAILABLE", () => {}), { code: "STORE_UNAVAILABLE" });
});

test("the error code of a failed COMMIT may depend on requests that joined meanwhile", () => {
  const { db } = memory();
  const error = sqliteError(10 | (4 << 8), "disk I/O error");
  const transactions = new Transactions(failingCommits(db, [{ error, applied: false }]), 0);
  const joined = ["take"];
  const uncertain = () => (joined.includes("commit") ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE");
  assert.throws(() => transactions.write(uncertain, () => joined.push("commit")), { code: "COMMIT_UNKNOWN" });
});

test("a COMMIT that met a lock is repeated with its work, and counts once", () => {
  const { db, rows } = memory();
  const busy = { error: sqliteError(5, "database is locked"), applied: false };
  const transactions = new Transactions(failingCommits(db, [busy, busy]), 60_000);
  transactions.write("COMMIT_UNKNOWN", () => db.exec("INSERT INTO t VALUES (1)"));
  assert.deepEqual(rows(), [1]);
});

test("a lock becomes an error when the busy timeout ends", () => {
  let tries = 0;
  const locked = () => {
    tries++;
    throw sqliteError(5 | (1 << 8), "database is locked");
  };
  assert.throws(() => patiently(5, locked), isBusy);
  assert.ok(tries > 1);
});

test("an error other than a lock is not retried", () => {
  let tries = 0;
  const broken = () => {
    tries++;
    throw sqliteError(11, "database disk image is malformed");
  };
  assert.throws(() => patiently(60_000, broken), /malformed/);
  assert.equal(tries, 1);
});

test("a full disk is reported as an unavailable store, as SQLite itself reports it", () => {
  const { db, transactions, rows } = memory();
  db.exec("PRAGMA max_page_count = 10");
  const fill = () => db.exec("INSERT INTO t VALUES (zeroblob(1000000))");
  let full: unknown;
  assert.throws(
    () => transactions.write("COMMIT_UNKNOWN", fill),
    (error) => {
      full = error;
      return true;
    },
  );
  const { code, message, retry } = toLimpetError(full, "/data/limpet.db");
  assert.deepEqual([code, retry], ["STORE_UNAVAILABLE", "later"]);
  assert.match(message, /limpet\.db: the disk is full/);
  assert.deepEqual(rows(), []);
});

test("every other failure of SQLite is unavailable too, and an error of other code is a bug", () => {
  assert.equal(toLimpetError(sqliteError(23, "not authorized"), "f").code, "STORE_UNAVAILABLE");
  assert.equal(toLimpetError(sqliteError(8 | (1 << 8), "readonly"), "f").code, "STORE_UNAVAILABLE");
  assert.equal(toLimpetError(new TypeError("x is not a function"), "f").code, "INVARIANT");
});
