import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { silentLog } from "../../../ports/log.ts";
import { actor, commitOf, take, whole } from "../../contract/shared.contract.ts";
import { SqliteStore } from "../sqlite-store.ts";
import { type LinkOptions, spawnWorker, WorkerLink } from "./worker-link.ts";

let folder: string;
let files = 0;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "limpet-worker-"));
});
const everyWorker: Worker[] = [];
after(async () => {
  await Promise.all(everyWorker.map((worker) => worker.terminate()));
  await rm(folder, { recursive: true });
});

/** A store with workers that a test can reach. */
function openStore(options: Partial<LinkOptions> = {}) {
  const workers: Worker[] = [];
  const logged: string[] = [];
  const file = options.file ?? join(folder, `${++files}.db`);
  const { spawn = spawnWorker, ...rest } = options;
  const link = new WorkerLink({
    file,
    busyTimeoutMs: 60_000,
    stallTimeoutMs: 60_000,
    restartable: true,
    ...rest,
    log: { ...silentLog, warn: (event) => logged.push(event) },
    spawn: (start) => {
      const worker = spawn(start);
      workers.push(worker);
      everyWorker.push(worker);
      return worker;
    },
  });
  return { store: new SqliteStore(file, link), file, workers, logged };
}

const silentWorker = () => new Worker("setInterval(() => {}, 1000)", { eval: true });

describe("worker thread of an SQLite store", { timeout: 600_000 }, () => {
  test("a killed worker thread leaves commits unknown and other requests unavailable, and a new one goes on", async () => {
    const { store, file, workers, logged } = openStore();
    const alice = await take(store, actor("alice"));
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    const commit = commitOf(alice, whole("x"));
    const rejections = Promise.all([
      assert.rejects(store.commit([commit]), { code: "COMMIT_UNKNOWN" }),
      assert.rejects(store.take([{ ...actor("bob"), owner: "host-1" }]), { code: "STORE_UNAVAILABLE" }),
      assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE" }),
    ]);
    await workers[0]!.terminate();
    await rejections;
    other.close();
    assert.deepEqual(logged, ["store.worker.lost"]);
    assert.deepEqual(await store.commit([commit]), ["committed"]);
    assert.deepEqual(await store.commit([commit]), ["committed"]);
    assert.equal(workers.length, 2);
    await store.close();
  });

  test("a worker thread that dies while idle is replaced without any error", async () => {
    const { store, workers } = openStore();
    const alice = await take(store, actor("alice"));
    await workers[0]!.terminate();
    assert.deepEqual(await store.commit([commitOf(alice, whole("x"))]), ["committed"]);
    assert.equal(workers.length, 2);
    await store.close();
  });

  test("a worker thread with a database in memory is not replaced, because its epochs are gone", async () => {
    const { store, workers } = openStore({ file: ":memory:", restartable: false });
    const alice = await take(store, actor("alice"));
    await workers[0]!.terminate();
    await assert.rejects(store.commit([commitOf(alice, whole("x"))]), { code: "STORE_UNAVAILABLE" });
    await assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE", message: /memory was lost/ });
    await store.close();
  });

  test("a worker thread that never responds is given up, and the next request starts a new one", async () => {
    const { store, workers } = openStore({ stallTimeoutMs: 20, spawn: silentWorker });
    const ghost = { ref: 1, epoch: 1, version: 0, state: undefined };
    await Promise.all([
      assert.rejects(store.commit([commitOf(ghost, whole("x"))]), {
        code: "COMMIT_UNKNOWN",
        message: /did not respond/,
      }),
      assert.rejects(store.find(actor("alice")), { code: "STORE_UNAVAILABLE" }),
    ]);
    assert.equal(workers.length, 1);
    await assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE" });
    assert.equal(workers.length, 2);
  });

  test("a worker thread that never responds does not delay close", async () => {
    const { store } = openStore({ stallTimeoutMs: 20, spawn: silentWorker });
    await Promise.all([assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE" }), store.close()]);
  });

  test("a worker thread that cannot be started is an error of the store, and the next request tries again", async () => {
    let spawned = 0;
    const { store } = openStore({
      spawn: (start) => {
        if (++spawned === 1) throw new RangeError("no more threads");
        return spawnWorker(start);
      },
    });
    await assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE", message: /no more threads/ });
    await store.ping();
    await store.close();
  });

  test("a worker thread that throws an uncaught error is reported with that error", async () => {
    const { store } = openStore({ spawn: () => new Worker("throw new TypeError('boom')", { eval: true }) });
    await assert.rejects(store.ping(), { code: "STORE_UNAVAILABLE", message: /boom/ });
    await store.close();
  });
});
