// Notifications about reminders: one for a batch, only if other processes may need them, and again after a
// lost connection.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { NOTIFY_AHEAD_MS } from "../../../ports/store/reminders.ts";
import type { Store } from "../../../ports/store/store.ts";
import { cancelOf, freshToken, HOUR, Place, setOf, TRIED } from "../../contract/reminders-shared.contract.ts";
import { actor, commitOf, keep, takeAll } from "../../contract/shared.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";
import { parseNotification } from "./notifications.ts";

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < 30_000; attempt++) {
    if (await condition()) return;
    await pause(5);
  }
  assert.fail(`never happened: ${what}`);
}

describe("notifications about reminders", () => {
  let server: TestServer;
  let url: string;
  let stores: Store[];
  let listener: pg.Client;
  let payloads: string[];

  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
    await (await openPostgresStore(url)).close();
  });
  after(async () => {
    await server?.dispose();
  });

  beforeEach(async () => {
    stores = [];
    payloads = [];
    listener = new pg.Client({ connectionString: url });
    listener.on("error", () => undefined);
    listener.on("notification", ({ payload }) => payloads.push(payload ?? ""));
    await listener.connect();
    await listener.query("LISTEN limpet");
  });
  afterEach(async () => {
    await listener.end();
    for (const store of stores) await store.close();
  });

  const open = async (options = {}) => {
    const store = await openPostgresStore(url, options);
    stores.push(store);
    return store;
  };

  /** Closes all stores, which flushes their notifications, and returns all of them. */
  async function everything(): Promise<string[]> {
    for (const store of stores.splice(0)) await store.close();
    // Notifications arrive in order.
    await listener.query("SELECT pg_notify('limpet', 'the end')");
    await until(() => payloads.includes("the end"), "the end arrives");
    return payloads.filter((one) => one !== "the end");
  }

  const payloadsIn = (namespace: string) =>
    payloads.filter((one) => parseNotification(one, "")?.namespace === namespace);

  test("a batch of a thousand reminders is notified once", async () => {
    const it = new Place(await open());
    await it.reminders.write(Array.from({ length: 1_000 }, (_, i) => setOf(it.key(`${i}`), { at: Date.now() + i })));
    const all = await everything();
    assert.deepEqual(
      all.map((one) => parseNotification(one, "")),
      [{ namespace: it.namespace, longAgo: undefined }],
    );
  });

  test("a batch of commits is notified once", async () => {
    const store = await open();
    const it = new Place(store);
    const keys = Array.from({ length: 50 }, (_, i) => ({ ...actor(`${i}`, it.namespace), owner: "host-1" }));
    const held = await takeAll(store, keys);
    await store.commit(held.map((one, i) => ({ ...commitOf(one, keep), reminders: [setOf(it.key(`${i}`))] })));
    assert.equal((await everything()).length, 1);
  });

  test("many batches in the same moment are notified together", async () => {
    const it = new Place(await open());
    await Promise.all(Array.from({ length: 200 }, (_, i) => it.set(it.key(`${i}`), { at: Date.now() })));
    const { length } = await everything();
    assert.ok(length > 0 && length < 100, `${length} times`);
  });

  test("a notification about reminders due long ago has the earliest time of the batch", async () => {
    const it = new Place(await open());
    await it.reminders.write([5_000, 3_000, 4_000].map((at) => setOf(it.key(`${at}`), { at })));
    const all = await everything();
    assert.deepEqual(
      all.map((one) => parseNotification(one, "")),
      [{ namespace: it.namespace, longAgo: 3_000 }],
    );
  });

  test("reminders that are due much later, kept by their writer, unchanged or cancelled cause no notification", async () => {
    const it = new Place(await open());
    const token = freshToken();
    const lease = { token, leaseMs: HOUR };
    const generation = await it.set(it.key("kept"), { lease });
    await it.set(it.key("later"), { at: Date.now() + NOTIFY_AHEAD_MS + HOUR });
    await it.reminders.write([setOf(it.key("kept"), { isNew: true }), cancelOf(it.key("later"))]);
    const tick = { at: Date.now(), due: 0, number: 2, attempt: 0 };
    await it.settle({ kind: "next", tick, leaseMs: HOUR, generation, token });
    await it.settle({ kind: "next", tick: { ...tick, at: tick.at + HOUR * 9 }, leaseMs: undefined, generation, token });
    assert.deepEqual(await everything(), []);
  });

  test("released and revived reminders cause a notification", async () => {
    const it = new Place(await open());
    const token = freshToken();
    const lease = { token, leaseMs: HOUR };
    const [released, next, dead] = [
      await it.set(it.key("released"), { lease }),
      await it.set(it.key("next"), { lease }),
      await it.set(it.key("dead"), { lease }),
    ];
    const steps = [
      () => it.settle({ kind: "release", generation: released, token }),
      () => {
        const tick = { at: Date.now(), due: 0, number: 2, attempt: 0 };
        return it.settle({ kind: "next", tick, leaseMs: undefined, generation: next, token });
      },
      async () => {
        await it.settle({ kind: "dead", tick: TRIED, error: "e", generation: dead, token });
        return it.reminders.revive(it.key("dead"));
      },
    ];
    for (const [i, step] of steps.entries()) {
      assert.equal(await step(), true);
      await until(() => payloads.length === i + 1, `step ${i} is notified`);
    }
  });

  test("a process gets no notification about its own writes", async () => {
    const it = new Place(await open());
    const there = new Place(await open(), it.namespace);
    const elsewhere = new Place(stores[1]!);
    await elsewhere.set(elsewhere.key("tea"));
    await until(() => payloadsIn(elsewhere.namespace).length === 1, "the notification comes before the listener");
    let [notified, notifiedElsewhere] = [0, 0];
    it.reminders.watch(it.namespace, () => notified++);
    it.reminders.watch(elsewhere.namespace, () => notifiedElsewhere++);
    // A new listener checks each namespace once for due reminders.
    await until(() => notifiedElsewhere > 0, "it listens, and has looked");
    await it.set(it.key("own"));
    await until(() => payloadsIn(it.namespace).length === 1, "its own write is notified");
    await there.set(there.key("another's"));
    await until(() => payloadsIn(it.namespace).length === 2, "the write of the other is notified");
    // Notifications arrive in order, so after this one all earlier ones have arrived.
    const before = notifiedElsewhere;
    await elsewhere.set(elsewhere.key("the last"));
    await until(() => notifiedElsewhere > before, "the last notification arrives");
    assert.equal(notified, 1);
  });

  test("a listener that lost its connection listens again, and is notified of reminders written meanwhile", async () => {
    const [it, elsewhere] = [new Place(await open()), new Place(await open())];
    const there = new Place(stores[1]!, it.namespace);
    let [notified, wrongly] = [0, 0];
    it.reminders.watch(it.namespace, () => notified++);
    it.reminders.watch(elsewhere.namespace, () => wrongly++);
    await until(async () => {
      await there.set(there.key("tea"));
      return notified > 0;
    }, "it listens");
    const listeners = `FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND application_name = 'limpet'`;
    for (let round = 0; round < 3; round++) {
      await until(async () => (await listener.query(`SELECT ${listeners}`)).rows.length === 1, "it listens again");
      await listener.query(`SELECT pg_terminate_backend(pid) ${listeners}`);
      const before = notified;
      await there.set(there.key(`${round}`));
      await until(() => notified > before, "it is notified again");
    }
    assert.equal(wrongly, 0);
  });

  test("a listener listens again after an outage, and a store can be closed during the outage", async () => {
    const it = new Place(await open());
    let notified = 0;
    it.reminders.watch(it.namespace, () => notified++);
    const closing = new Place(await open());
    closing.reminders.watch(closing.namespace, () => assert.fail("nothing was written there"));
    await server.stop("immediate");
    await stores[1]!.close();
    await server.start();
    const there = new Place(await open(), it.namespace);
    await there.set(there.key("tea"));
    await until(() => notified > 0, "it is notified again");
  });

  test("a store without notifications sends none and offers no watch", async () => {
    const it = new Place(await open({ notify: false }));
    assert.equal(
      it.reminders.watch(it.namespace, () => undefined),
      undefined,
    );
    await it.set(it.key("tea"));
    const { reminders } = await it.claim({ token: "t" });
    await it.settle({ kind: "release", generation: reminders[0]!.generation, token: "t" });
    assert.deepEqual(await everything(), []);
  });

  test("foreign messages on the same channel are ignored", () => {
    const ours = JSON.stringify({ from: "a", namespace: "n", longAgo: 5 });
    assert.deepEqual(parseNotification(ours, "b"), { namespace: "n", longAgo: 5 });
    assert.equal(parseNotification(ours, "a"), undefined);
    for (const noise of [undefined, "", "hello", "{}", "null", "[]", "5", `{"namespace":"n"}`, `{"from":"a"}`]) {
      assert.equal(parseNotification(noise, "b"), undefined, noise);
    }
  });
});
