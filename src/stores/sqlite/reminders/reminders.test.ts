import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import type { Worker } from "node:worker_threads";
import type { LimpetError } from "../../../kernel/errors.ts";
import { silentLog } from "../../../ports/log.ts";
import type { Store } from "../../../ports/store/store.ts";
import { freshToken, HOUR, leasesOf, Place, setOf, TRIED } from "../../contract/reminders-shared.contract.ts";
import { actor, change, commitOf, keep, take, takeAll, whole } from "../../contract/shared.contract.ts";
import { type OpenedReminders, remindersContract } from "../../reminders.contract.ts";
import { openSqliteStore, SqliteStore } from "../sqlite-store.ts";
import { spawnWorker, WorkerLink } from "../thread/worker-link.ts";

let folder: string;
let files = 0;
const freshFile = () => join(folder, `${++files}.db`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "limpet-reminders-"));
});
after(() => rm(folder, { recursive: true }));

async function open(): Promise<OpenedReminders> {
  const file = freshFile();
  const store = await openSqliteStore(file);
  const other = new DatabaseSync(file, { timeout: 30_000 });
  const again = () => openSqliteStore(file);
  return {
    store,
    second: again,
    reopen: again,
    advance: async (ms) => {
      other.exec("BEGIN IMMEDIATE");
      for (const table of ["reminders", "dead_reminders"]) {
        other.prepare(`UPDATE ${table} SET at = at - ?1, due = due - ?1`).run(ms);
      }
      other.prepare("UPDATE reminder_leases SET until = until - ?").run(ms);
      other.exec("COMMIT");
    },
    dispose: async () => {
      other.close();
      await store.close();
    },
  };
}

remindersContract("SQLite", open);

describe("reminders on a busy SQLite file", { timeout: 600_000 }, () => {
  let file: string;
  let store: Store;
  let other: DatabaseSync;

  before(async () => {
    file = freshFile();
    store = await openSqliteStore(file);
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
  async function together<T>(send: () => Promise<T>[]): Promise<unknown[]> {
    other.exec("BEGIN IMMEDIATE");
    const sent = send();
    other.exec("ROLLBACK");
    const results = await Promise.allSettled(sent);
    return results.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as LimpetError).code));
  }

  const tables = ["reminders", "reminder_leases", "reminder_data", "dead_reminders"];
  const rows = (table: string) => other.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n as number;
  const everyRow = () => tables.map(rows);

  test("reminder writes, claims, settlements and commits that wait together see each other in the order they were sent", async () => {
    const it = new Place(store);
    const held = await take(store, actor("alice", it.namespace));
    const token = freshToken();
    const generation = await it.set(it.key("first"), { lease: { token, leaseMs: HOUR } });
    const [set, claimed, counted, committed, more, none] = await together<unknown>(() => [
      it.reminders.write([setOf(it.key("second"), { at: 2 })]),
      it.names(),
      it.reminders.settle([{ kind: "release", generation, token }]),
      store.commit([{ ...commitOf(held, keep), reminders: [setOf(it.key("third"), { at: 3 })] }]),
      it.names(),
      it.names(),
    ]);
    assert.equal((set as { kind: string }[])[0]?.kind, "set");
    assert.deepEqual([claimed, counted, committed], [["second"], [true], ["committed"]]);
    assert.deepEqual([more, none], [["third", "first"], []]);
  });

  test("an invalid reminder write fails alone, and the others are applied once", async () => {
    const it = new Place(store);
    const held = await takeAll(
      store,
      ["a", "b"].map((id) => ({ ...actor(id, it.namespace), owner: "host-1" })),
    );
    await it.set(it.key("due"));
    const results = await together<unknown>(() => [
      it.reminders.write([setOf(it.key("set"), { isNew: true })]).then(([one]) => one?.kind),
      it.names({ limit: 1 }),
      store.commit([{ ...commitOf(held[0]!, change("on top of nothing")), reminders: [setOf(it.key("lost"))] }]),
      store.commit([{ ...commitOf(held[1]!, whole("b")), reminders: [setOf(it.key("with b"), { isNew: true })] }]),
    ]);
    assert.deepEqual(results, ["set", ["due"], "INVARIANT", ["committed"]]);
    const listed = await it.reminders.list({ namespace: it.namespace, limit: 9 });
    assert.deepEqual(
      listed.map(({ key }) => key.name),
      ["due", "set", "with b"],
    );
  });

  test("a batch of commits with an invalid one leaves no reminder behind", async () => {
    const it = new Place(store);
    const held = await takeAll(
      store,
      ["a", "b"].map((id) => ({ ...actor(id, it.namespace), owner: "host-1" })),
    );
    const before = everyRow();
    const batch = [
      { ...commitOf(held[0]!, whole("x")), reminders: [setOf(it.key("lost"), { data: "x".repeat(5_000) })] },
      commitOf(held[1]!, change("on top of nothing")),
    ];
    await assert.rejects(store.commit(batch), { code: "INVARIANT" });
    assert.deepEqual(everyRow(), before);
    assert.equal((await store.find(actor("a", it.namespace)))?.version, 0);
  });

  test("a batch of reminder writes with an invalid one is not written at all", async () => {
    const it = new Place(store);
    const before = everyRow();
    const nonsense = setOf(it.key("b"), { number: Number.NaN });
    await assert.rejects(it.reminders.write([setOf(it.key("a")), nonsense]), { name: "LimpetError" });
    assert.deepEqual(everyRow(), before);
  });

  test("no row of a reminder stays behind, however the reminder ends", async () => {
    const it = new Place(store);
    const before = everyRow();
    const lease = { token: "mine", leaseMs: HOUR };
    for (const data of ["small", "x".repeat(5_000)]) {
      await it.set(it.key("cancelled"), { data, lease });
      await it.cancel(it.key("cancelled"));
      await it.set(it.key("done"), { data, lease });
      const generation = await it.set(it.key("done"), { data, lease });
      assert.equal(await it.settle({ kind: "done", generation, token: "mine" }), true);
      const dying = await it.set(it.key("dead"), { data, lease });
      assert.equal(await it.settle({ kind: "dead", tick: TRIED, error: "e", generation: dying, token: "mine" }), true);
      await it.reminders.revive(it.key("dead"));
      await it.cancel(it.key("dead"));
    }
    assert.deepEqual(everyRow(), before);
  });

  test("reminder operations fail with nothing applied when the lock is held for too long, and work again afterwards", async () => {
    const hasty = await openSqliteStore(file, { busyTimeoutMs: 20 });
    const it = new Place(hasty);
    other.exec("BEGIN IMMEDIATE");
    const refused = { code: "STORE_UNAVAILABLE", message: /lock/ };
    await assert.rejects(it.reminders.write([setOf(it.key("tea"))]), refused);
    await assert.rejects(it.claim(), refused);
    assert.equal(await it.reminders.get(it.key("tea")), undefined);
    other.exec("ROLLBACK");
    await it.set(it.key("tea"));
    assert.deepEqual(await it.names(), ["tea"]);
    await hasty.close();
  });

  test("reminder operations other than claims and renewals are ambiguous when the thread is lost, and a new thread goes on", async () => {
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
    const it = new Place(restarted);
    const generation = await it.set(it.key("tea"), { lease: { token: "mine", leaseMs: HOUR } });
    other.exec("BEGIN IMMEDIATE");
    const [unknown, unavailable] = [{ code: "COMMIT_UNKNOWN" }, { code: "STORE_UNAVAILABLE" }];
    const lost = Promise.all([
      assert.rejects(it.reminders.write([setOf(it.key("cake"))]), unknown),
      assert.rejects(it.reminders.settle([{ kind: "done", generation, token: "mine" }]), unknown),
      assert.rejects(it.reminders.revive(it.key("tea")), unknown),
      assert.rejects(it.reminders.forget(it.key("tea")), unknown),
      assert.rejects(it.claim(), unavailable),
      assert.rejects(it.reminders.renew(leasesOf([generation], "mine"), HOUR), unavailable),
      assert.rejects(it.reminders.get(it.key("tea")), unavailable),
    ]);
    await workers[0]!.terminate();
    await lost;
    other.exec("ROLLBACK");
    assert.equal(await it.settle({ kind: "done", generation, token: "mine" }), true);
    assert.equal(workers.length, 2);
    await restarted.close();
  });

  test("a claim of large reminders returns as many as may travel together, and reports that there are more", async () => {
    const it = new Place(store);
    const data = "x".repeat(4 * 1024 * 1024);
    for (let i = 0; i < 4; i++) await it.set(it.key(`${i}`), { at: i, data });
    const first = await it.claim();
    assert.deepEqual([first.reminders.length, first.next], [2, first.now]);
    assert.deepEqual(await it.names(), ["2", "3"]);
  });
});
