import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { setTimeout as tick } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import type { LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { silentLog } from "../../../ports/log.ts";
import { HOUR, newCandidate, newMember, save } from "../../contract/coordination-shared.contract.ts";
import { actor, change, commitOf, freshNamespace, take, takeAll, whole } from "../../contract/shared.contract.ts";
import { coordinationContract, type OpenedCoordination } from "../../coordination.contract.ts";
import { openSqliteStore, SqliteStore } from "../sqlite-store.ts";
import { spawnWorker, WorkerLink } from "../thread/worker-link.ts";

let folder: string;
let files = 0;
const freshFile = () => join(folder, `${++files}.db`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "limpet-coordination-"));
});
after(() => rm(folder, { recursive: true }));

async function open(): Promise<OpenedCoordination> {
  const file = freshFile();
  const store = await openSqliteStore(file);
  const other = new DatabaseSync(file, { timeout: 30_000 });
  const transaction = (work: () => void) => {
    other.exec("BEGIN IMMEDIATE");
    work();
    other.exec("COMMIT");
  };
  return {
    store,
    second: () => openSqliteStore(file),
    advance: async (ms) =>
      transaction(() => {
        other.prepare("UPDATE leadership SET until = until - ?").run(ms);
        other.prepare("UPDATE schedulers SET until = until - ?").run(ms);
      }),
    listMany: async (count, dedicated) =>
      transaction(() => {
        const list = other.prepare("INSERT INTO schedulers VALUES (?, ?, '', 1, ?, ?, ?)");
        for (let i = 0; i < count; i++) list.run(`many-${i}`, `${i}`, dedicated ? 1 : 0, HOUR, Date.now() + HOUR);
      }),
    addMany: async (count) =>
      transaction(() => {
        const add = other.prepare("INSERT INTO members VALUES (?, 'n', '', '', 1, '[]')");
        for (let i = 0; i < count; i++) add.run(`many-${i}`);
      }),
    dispose: async () => {
      other.close();
      await store.close();
    },
  };
}

coordinationContract("SQLite", open);

describe("coordination on a busy SQLite file", { timeout: 600_000 }, () => {
  let file: string;
  let store: SqliteStore;
  let other: DatabaseSync;

  before(async () => {
    file = freshFile();
    store = (await openSqliteStore(file)) as SqliteStore;
    other = new DatabaseSync(file);
  });
  after(async () => {
    other?.close();
    await store?.close();
  });

  /**
   * Sends everything while another connection holds the lock, so that all of it waits when the first request
   * can go on.
   */
  async function together<T>(send: () => T): Promise<T> {
    other.exec("BEGIN IMMEDIATE");
    const sent = send();
    other.exec("ROLLBACK");
    return sent;
  }

  test("a campaign waits for a writer that holds the lock for a moment", async () => {
    other.exec("BEGIN IMMEDIATE");
    let settled = false;
    const me = newCandidate();
    const campaign = store.coordination.campaign(me).finally(() => {
      settled = true;
    });
    for (let i = 0; i < 30; i++) await tick(1);
    assert.equal(settled, false);
    other.exec("ROLLBACK");
    assert.equal((await campaign).leading, true);
    await store.coordination.resign(me.incarnation);
  });

  test("a step of coordination overtakes waiting takes and commits", async () => {
    const namespace = freshNamespace();
    const batches = await Promise.all(
      Array.from({ length: 12 }, (_, batch) =>
        takeAll(
          store,
          Array.from({ length: LIMITS.batchSize }, (_, i) => ({ ...actor(`${batch}-${i}`, namespace), owner: "h" })),
        ),
      ),
    );
    const me = newCandidate();
    const { term } = await store.coordination.campaign(me);
    let committed = 0;
    const goneBefore = async (step: Promise<unknown>) => {
      await step;
      return committed;
    };
    const { commits, steps } = await together(() => ({
      commits: batches.map(async (held) => {
        const outcomes = await store.commit(held.map((one) => commitOf(one, whole("x"))));
        committed++;
        return outcomes;
      }),
      steps: [
        store.coordination.campaign(me),
        store.coordination.persist(term, [save(newMember())]),
        store.coordination.members(),
        store.coordination.resign(me.incarnation),
      ].map(goneBefore),
    }));
    // The thread was at the first batch already when they arrived.
    for (const gone of await Promise.all(steps)) assert.ok(gone <= 1, `${gone} batches of commits went before`);
    assert.ok((await Promise.all(commits)).flat().every((outcome) => outcome === "committed"));
  });

  test("a step of coordination is applied once when it shares a transaction that fails because of another request", async () => {
    const namespace = freshNamespace();
    const held = await Promise.all(["a", "b"].map((id) => take(store, actor(id, namespace))));
    const [first, second] = [newCandidate(), newCandidate()];
    const member = newMember();
    const { term } = await store.coordination.campaign(first);
    const known = await store.coordination.members();
    const results = await together(() =>
      Promise.allSettled<unknown>([
        store.commit([commitOf(held[0]!, change("on top of nothing"))]),
        store.coordination.resign(first.incarnation),
        store.coordination.campaign(second),
        store.coordination.persist(term, [save(member)]),
        store.coordination.persist(term + 1, [save(member)]),
        store.commit([commitOf(held[1]!, whole("b"))]),
      ]),
    );
    const [bad, , campaigned, ...rest] = results.map((result) =>
      result.status === "fulfilled" ? result.value : (result.reason as LimpetError).code,
    );
    assert.equal(bad, "INVARIANT");
    assert.deepEqual(rest, [false, true, ["committed"]]);
    const standing = campaigned as Awaited<ReturnType<typeof store.coordination.campaign>>;
    assert.deepEqual([standing.term, standing.leading, standing.schedulers.length], [term + 1, true, 1]);
    assert.deepEqual(await store.coordination.members(), [...known, member].sort(byIncarnation));
    assert.deepEqual(await store.coordination.campaign(second), standing);
    await store.coordination.resign(second.incarnation);
  });

  test("a step of coordination in progress can be repeated on the next thread when its thread is lost", async () => {
    const workers: Worker[] = [];
    const link = new WorkerLink({
      file,
      busyTimeoutMs: 60_000,
      stallTimeoutMs: 60_000,
      restartable: true,
      log: silentLog,
      spawn: (start) => {
        const worker = spawnWorker(start);
        workers.push(worker);
        return worker;
      },
    });
    const restarted = new SqliteStore(file, link);
    const me = newCandidate();
    const { term } = await restarted.coordination.campaign(me);
    other.exec("BEGIN IMMEDIATE");
    const lost = Promise.all([
      assert.rejects(restarted.coordination.campaign(me), { code: "STORE_UNAVAILABLE" }),
      assert.rejects(restarted.coordination.persist(term, [save(newMember())]), { code: "STORE_UNAVAILABLE" }),
      assert.rejects(restarted.coordination.resign("nobody"), { code: "STORE_UNAVAILABLE" }),
    ]);
    await workers[0]!.terminate();
    await lost;
    other.exec("ROLLBACK");
    const again = await restarted.coordination.campaign(me);
    assert.deepEqual([again.term, again.leading, workers.length], [term, true, 2]);
    await restarted.coordination.resign(me.incarnation);
    await restarted.close();
  });

  test("a campaign fails with nothing applied when the lock is held for too long, and works again afterwards", async () => {
    const hasty = await openSqliteStore(file, { busyTimeoutMs: 20 });
    const me = newCandidate();
    other.exec("BEGIN IMMEDIATE");
    await assert.rejects(hasty.coordination.campaign(me), { code: "STORE_UNAVAILABLE", message: /lock/ });
    assert.deepEqual(other.prepare("SELECT count(*) AS n FROM schedulers").get()?.n, 0);
    other.exec("ROLLBACK");
    assert.equal((await hasty.coordination.campaign(me)).leading, true);
    await hasty.coordination.resign(me.incarnation);
    await hasty.close();
  });
});

const byIncarnation = (a: { incarnation: string }, b: { incarnation: string }) =>
  a.incarnation < b.incarnation ? -1 : 1;
