// Workflows in SQLite beyond the contract: contents of the tables, times in the index, requests that end
// early, and a busy file.
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
import { assertAbout, setOf } from "../../contract/reminders-shared.contract.ts";
import { actor, commitOf, take, whole } from "../../contract/shared.contract.ts";
import {
  batchOf,
  closeAs,
  further,
  HOUR,
  KEEP,
  lease,
  leasedOf,
  MINUTE,
  Site,
} from "../../contract/workflows-shared.contract.ts";
import { openSqliteStore, SqliteStore } from "../sqlite-store.ts";
import { spawnWorker, WorkerLink } from "../thread/worker-link.ts";

describe("workflows in a SQLite file", { timeout: 600_000 }, () => {
  let folder: string;
  let file: string;
  let store: Store;
  let other: DatabaseSync;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "limpet-workflow-tables-"));
    file = join(folder, "limpet.db");
    store = await openSqliteStore(file);
    other = new DatabaseSync(file, { timeout: 30_000 });
  });
  after(async () => {
    other?.close();
    await store?.close();
    await rm(folder, { recursive: true });
  });

  const site = () => new Site(store);
  const one = (sql: string, ...values: (number | string)[]) => Object.values(other.prepare(sql).get(...values)!)[0];
  const passes = (ms: number) => {
    other
      .prepare("UPDATE workflow_tasks SET at = at - ?1, until = until - ?1, sticky_until = sticky_until - ?1")
      .run(ms);
  };

  describe("times of leases in the index", () => {
    const at = (ref: number) => one("SELECT at FROM workflow_tasks WHERE ref = ?", ref) as number;

    test("a holder that renews its lease leaves the index alone, and a claim that reads it too early corrects the time", async () => {
      const it = site();
      let held = await it.leased("a", { lease: lease("w1", MINUTE) });
      const first = at(held.ref);
      for (let i = 0; i < 3; i++) {
        await it.complete(held, { batch: batchOf("more"), outcome: KEEP });
        held = further(held, 1);
      }
      assert.deepEqual(await it.workflows.renew([held], HOUR), []);
      assert.equal(at(held.ref), first);
      passes(10 * MINUTE);
      const { now, tasks, next } = await it.claim({ worker: "w2" });
      assert.deepEqual(tasks, []);
      assertAbout(next, now + 50 * MINUTE);
      assertAbout(at(held.ref), now + 50 * MINUTE);
    });

    test("a task that was claimed for long and kept for a moment is free after that moment", async () => {
      const it = site();
      const kept = await it.leased("kept", { lease: lease("w1", 9 * HOUR) });
      const renewed = await it.leased("renewed", { lease: lease("w1", 9 * HOUR) });
      await it.complete(kept, { outcome: { kind: "keep", leaseMs: MINUTE } });
      await it.workflows.renew([renewed], MINUTE);
      assert.deepEqual(await it.ids(), []);
      passes(2 * MINUTE);
      assert.deepEqual((await it.ids()).sort(), ["kept", "renewed"]);
    });

    test("many tasks with renewed leases do not hide a free task", async () => {
      const it = site();
      const own = lease("w1", MINUTE);
      const starts = Array.from({ length: 600 }, (_, i) => it.startOf(`${i}`, { lease: own }));
      const outcomes = await it.workflows.start(starts);
      const tasks = outcomes.map(({ ref }) => ({ ref, token: own.token }));
      assert.deepEqual(await it.workflows.renew(tasks, HOUR), []);
      passes(2 * MINUTE);
      await it.start("free");
      assert.deepEqual(await it.ids({ limit: 1 }), ["free"]);
      assert.deepEqual(await it.ids(), []);
    });

    test("many tasks whose renewed leases have ended are claimed once each", async () => {
      const it = site();
      const own = lease("w1", MINUTE);
      const outcomes = await it.workflows.start(
        Array.from({ length: 600 }, (_, i) => it.startOf(`${i}`, { lease: own })),
      );
      const tasks = outcomes.map(({ ref }) => ({ ref, token: own.token }));
      for (const [i, task] of tasks.entries()) await it.workflows.renew([task], 2 * MINUTE + i);
      passes(9 * MINUTE);
      const claimed = (await it.claim({ limit: 5_000 })).tasks;
      assert.deepEqual([claimed.length, new Set(claimed.map(({ ref }) => ref)).size], [600, 600]);
      assert.ok(claimed.every(({ attempt }) => attempt === 2));
    });

    test("many tasks with affinity to a living worker do not hide a free one, and are free when the affinity ends", async () => {
      const it = site();
      await it.seen("owner");
      const own = lease("owner");
      const starts = Array.from({ length: 1_500 }, (_, i) => it.startOf(`${i}`, { lease: own }));
      const outcomes = await it.workflows.start(starts);
      const affinity = { worker: "owner", ms: HOUR };
      const steps = outcomes.map(({ ref }) =>
        it.completionOf({ ref, token: own.token, last: 1, taken: 0 }, { affinity }),
      );
      await it.workflows.complete(steps);
      await it.workflows.deliver(starts.map(({ workflowId }) => it.messageTo(workflowId)));
      await it.start("free");
      const { tasks, next, now } = await it.claim({ worker: "w2", limit: 5_000 });
      assert.deepEqual([tasks.length, tasks[0]?.workflowId], [1, "free"]);
      assert.ok(next! > now && next! <= now + HOUR);
      passes(2 * HOUR);
      const modes = (await it.claim({ worker: "w2", limit: 5_000 })).tasks.map(({ mode }) => mode);
      assert.equal(modes.filter((mode) => mode === "forced_cold_replay").length, 1_500);
    });
  });

  describe("rows that stay", () => {
    const tables = ["runs", "tasks", "pages", "inbox"];
    const rows = () => tables.map((table) => one(`SELECT count(*) FROM workflow_${table}`));

    test("no row of a run stays when the run is removed", async () => {
      const it = site();
      const before = rows();
      const step = { batch: batchOf("2"), outcome: closeAs() };
      await it.complete(await it.leased("closed"), step);
      const held = await it.leased("with an inbox");
      await it.workflows.deliver(["1", "2", "3"].map((key) => it.messageTo("with an inbox", key)));
      await it.complete(held, { ...step, taken: 2 });
      await it.start("terminated");
      await it.deliver("terminated");
      await it.workflows.close(it.closing("terminated"));
      await it.start("replaced");
      await it.deliver("replaced");
      await it.workflows.close(it.closing("replaced"));
      await it.start("replaced");
      await it.workflows.close(it.closing("replaced"));
      assert.equal(await it.workflows.prune(it.namespace, Date.now() + HOUR, 100), 5);
      assert.deepEqual(rows(), before);
    });

    test("a ref is never used twice, even when the latest run was removed", async () => {
      const it = site();
      const { ref } = await it.closed("a");
      assert.equal(await it.workflows.prune(it.namespace, Date.now() + HOUR, 100), 1);
      assert.ok((await it.start("b")).ref > ref);
    });

    test("a batch of steps with an invalid one is not applied at all", async () => {
      const it = site();
      const [a, b] = [await it.leased("a"), await it.leased("b")];
      const before = rows();
      const batch = [
        it.completionOf(a, { batch: batchOf("2"), starts: [it.startOf("child")], messages: [it.messageTo("b")] }),
        it.completionOf(b, { batch: { count: Number.NaN, data: "x" } }),
      ];
      await assert.rejects(it.workflows.complete(batch), { name: "LimpetError" });
      assert.deepEqual(rows(), before);
      assert.equal((await it.complete(a, { batch: batchOf("2") })).kind, "done");
    });
  });

  describe("requests that end early", () => {
    test("long lists and counts are complete for every kind of filter", async () => {
      const it = site();
      const all = Array.from({ length: 5_200 }, (_, i) => i);
      const starts = all.map((i) => it.startOf(`run ${i}`, { attributes: `{"part":${i % 13}}`, type: `T${i % 3}` }));
      await it.workflows.start(starts);
      const query = { namespace: it.namespace, limit: 10_000 };
      const listed = await it.workflows.list({ ...query, attributes: { part: 5 } });
      const expected = all.filter((i) => i % 13 === 5).reverse();
      assert.deepEqual(
        listed.map(({ workflowId }) => workflowId),
        expected.map((i) => `run ${i}`),
      );
      const few = await it.workflows.list({ ...query, attributes: { part: 5 }, prefix: "run", limit: 250 });
      assert.deepEqual(few, listed.slice(0, 250));
      const rest = await it.workflows.list({ ...query, attributes: { part: 5 }, before: few.at(-1)!.ref });
      assert.deepEqual(rest, listed.slice(250));
      const narrow = await it.workflows.list({ ...query, prefix: "run 51", type: "T0" });
      assert.deepEqual(
        narrow.map(({ workflowId }) => workflowId),
        all
          .filter((i) => `${i}`.startsWith("51") && i % 3 === 0)
          .reverse()
          .map((i) => `run ${i}`),
      );
      assert.equal(await it.workflows.count(query), 5_200);
      assert.equal(await it.workflows.count({ ...query, attributes: { part: 5 } }), expected.length);
      assert.equal(await it.workflows.count({ ...query, prefix: "run" }), 5_200);
      assert.equal(await it.workflows.count({ ...query, prefix: "run", limit: 4_000 }), 4_000);
      assert.equal((await it.workflows.list({ ...query, limit: 5_000 })).length, 5_000);
    });

    test("affinity is counted over all open runs, in parts", async () => {
      const it = site();
      const own = lease();
      const starts = Array.from({ length: 50 }, (_, i) => it.startOf(`${i}`, { lease: own }));
      const outcomes = await it.workflows.start(starts);
      // Many tasks of another kind lie between them.
      other.exec(`INSERT INTO workflow_tasks (ref, kind, state, at, until, last, bytes, arrived, taken, attempt, watched)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45000)
        SELECT 1000000 + i, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM n`);
      try {
        other.prepare("UPDATE workflow_tasks SET ref = 2000000 + ref WHERE ref = ?").run(outcomes[49]!.ref);
        const affinity = { worker: "w1", ms: HOUR };
        const refs = outcomes.map(({ ref }, i) => (i === 49 ? 2_000_000 + ref : ref));
        const steps = refs.map((ref) => it.completionOf({ ref, token: own.token, last: 1, taken: 0 }, { affinity }));
        await it.workflows.complete(steps);
        assert.deepEqual(await it.workflows.stickiness(it.namespace), { runs: 50, ready: 0, leased: 0, owned: 0 });
      } finally {
        other.exec("DELETE FROM workflow_tasks WHERE ref > 1000000");
      }
    });
  });

  describe("a busy file", () => {
    /**
     * Sends everything while another connection holds the lock, so that all of it waits when the first
     * request can go on.
     */
    async function together(send: () => Promise<unknown>[]): Promise<unknown[]> {
      other.exec("BEGIN IMMEDIATE");
      const sent = send();
      other.exec("ROLLBACK");
      const results = await Promise.allSettled(sent);
      return results.map((result) =>
        result.status === "fulfilled" ? result.value : (result.reason as LimpetError).code,
      );
    }

    test("workflow starts, messages, steps, claims and commits that wait together see each other in the order they were sent", async () => {
      const it = site();
      const alice = await take(store, actor("alice", it.namespace));
      const [held, rests] = [await it.leased("a"), await it.leased("b")];
      const results = await together(() => [
        it.complete(held, { batch: batchOf("2"), messages: [it.messageTo("b", "from a")] }).then(({ kind }) => kind),
        it.complete(rests, { batch: batchOf("2") }).then((outcome) => outcome.kind === "done" && outcome.delivered),
        it.ids(),
        store.commit([{ ...commitOf(alice, whole("1")), starts: [it.startOf("c")], messages: [it.messageTo("a")] }]),
        it.ids(),
        it.ids(),
      ]);
      assert.deepEqual(results.slice(0, 4), ["done", 1, ["b"], ["committed"]]);
      assert.deepEqual([(results[4] as string[]).sort(), results[5]], [["a", "c"], []]);
    });

    test("an invalid workflow request fails alone, and the others are applied once", async () => {
      const it = site();
      const held = await it.leased("a");
      const timer = setOf(it.place.key("timer"), { isNew: true });
      const results = await together(() => [
        it.complete(held, { batch: batchOf("2"), outcome: KEEP, reminders: [timer] }).then(({ kind }) => kind),
        it.start("b", { delayMs: Number.NaN }),
        it.deliver("a", "k").then(({ kind }) => kind),
        it.workflows.close(it.closing("nobody")),
      ]);
      assert.deepEqual(results, ["done", "STORE_UNAVAILABLE", "delivered", false]);
      assert.deepEqual(await it.events(held.ref), ["started", "2"]);
      assert.deepEqual([await it.reminders(), (await it.task("a")).arrived], [["timer"], 1]);
      assert.equal(await it.workflows.find(it.key("b")), undefined);
    });

    test("requests in progress when the thread is lost fail as ambiguous, and may be sent again", async () => {
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
      const it = new Site(restarted);
      const held = await it.leased("a");
      await it.start("ready");
      const [unknown, unavailable] = [{ code: "COMMIT_UNKNOWN" }, { code: "STORE_UNAVAILABLE" }];
      const [start, message] = [it.startOf("b"), it.messageTo("a")];
      const step = it.completionOf(held, { batch: batchOf("2") });
      other.exec("BEGIN IMMEDIATE");
      const lost = Promise.all([
        assert.rejects(it.send(start), unknown),
        assert.rejects(it.workflows.deliver([message]), unknown),
        assert.rejects(it.step(step), unknown),
        assert.rejects(it.workflows.close(it.closing("a")), unknown),
        assert.rejects(it.workflows.giveBack([{ ...held, pauseMs: 0, problem: undefined }]), unknown),
        assert.rejects(it.claim(), unavailable),
        assert.rejects(it.workflows.renew([held], HOUR), unavailable),
        assert.rejects(it.stored("a"), unavailable),
      ]);
      await workers[0]!.terminate();
      await lost;
      other.exec("ROLLBACK");
      assert.deepEqual([(await it.send(start)).isNew, (await it.step(step)).kind], [true, "done"]);
      assert.equal((await it.workflows.deliver([message]))[0]?.kind, "delivered");
      assert.deepEqual((await it.ids()).sort(), ["a", "b", "ready"]);
      assert.equal(workers.length, 2);
      await restarted.close();
    });
  });

  test("two processes never claim the same task, and both append to their own", async () => {
    const second = await openSqliteStore(file);
    try {
      const sites = [site(), site()];
      const [it] = sites as [Site];
      sites[1] = new Site(second, it.namespace);
      await it.workflows.start(Array.from({ length: 200 }, (_, i) => it.startOf(`${i}`)));
      const done: string[] = [];
      await Promise.all(
        sites.map(async (mine, i) => {
          for (;;) {
            const { tasks } = await mine.claim({ worker: `w${i}`, limit: 7 });
            if (tasks.length === 0) return;
            const steps = tasks.map((task) =>
              mine.completionOf(leasedOf(task), { batch: batchOf("2"), outcome: closeAs() }),
            );
            const outcomes = await mine.workflows.complete(steps);
            assert.ok(outcomes.every(({ kind }) => kind === "done"));
            done.push(...tasks.map(({ workflowId }) => workflowId));
          }
        }),
      );
      assert.equal(done.length, 200);
      assert.equal(new Set(done).size, 200);
    } finally {
      await second.close();
    }
  });
});
