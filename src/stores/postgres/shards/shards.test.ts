import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { Middleman } from "../../../../test/support/middleman.ts";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { isLimpetError } from "../../../kernel/errors.ts";
import type { Store } from "../../../ports/store/store.ts";
import { Ground, newTerm } from "../../contract/shards-shared.contract.ts";
import { shardsContract } from "../../shards.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";

let server: TestServer;

before(async () => {
  server = await startPostgres();
});
after(async () => {
  await server?.dispose();
});

shardsContract(
  "PostgreSQL",
  async () => {
    const url = await server.createDatabase();
    // Six resets at once compete for one row; on a busy machine the last one waits longer than the default.
    const again = () => openPostgresStore(url, { lockTimeoutMs: 14_000 });
    const store = await again();
    return { store, second: again, reopen: again, dispose: () => store.close() };
  },
  { modelRuns: 30 },
);

describe("shards on PostgreSQL", { timeout: 600_000 }, () => {
  let url: string;
  let store: Store;
  let somebody: pg.Client;

  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  };

  before(async () => {
    url = await server.createDatabase();
    store = await openPostgresStore(url);
    somebody = await connect();
  });
  after(async () => {
    await somebody?.end();
    await store?.close();
  });

  /** Waits until this many sessions wait for a lock. */
  async function waiting(count: number): Promise<void> {
    const text = "SELECT DISTINCT pid FROM pg_locks WHERE NOT granted";
    for (let attempt = 0; attempt < 30_000; attempt++) if ((await somebody.query(text)).rowCount === count) return;
    assert.fail("no session waits for a lock");
  }

  /** Repeats `work` while the store is unavailable. */
  async function persist<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; attempt < 30_000; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!isLimpetError(error, "STORE_UNAVAILABLE")) throw error;
        await pause(10);
      }
    }
    assert.fail("the store did not come back");
  }

  test("a write of homes that waited for the leadership while a term began writes nothing", async () => {
    const it = new Ground(await openPostgresStore(url, { lockTimeoutMs: 14_000 }));
    const term = await newTerm(it.store);
    await somebody.query("BEGIN; UPDATE limpet.leadership SET term = term + 1");
    const noted = it.shards.noteHomes(term, [it.home(0, "a")]);
    await waiting(1);
    await somebody.query("COMMIT");
    assert.equal(await noted, false);
    assert.deepEqual(await it.homes(), []);
    await it.store.close();
  });

  test("no term begins while homes are written for the term before it", async () => {
    const it = new Ground(await openPostgresStore(url, { lockTimeoutMs: 14_000 }));
    const term = await newTerm(it.store);
    await it.shards.noteHomes(term, [it.home(0, "a")]);
    await somebody.query("BEGIN; SELECT FROM limpet.shard_homes FOR UPDATE");
    const noted = it.shards.noteHomes(term, [it.home(0, "b")]);
    await waiting(1);
    // The wait for the leadership times out earlier than that.
    const next = persist(() => newTerm(it.store));
    await waiting(2);
    await somebody.query("COMMIT");
    assert.equal(await noted, true);
    assert.equal(await next, term + 1);
    assert.deepEqual(await it.homes(), [it.home(0, "b")]);
    await it.store.close();
  });

  test("a home is removed also when it was written while the removal waited", async () => {
    // A statement that waits sees rows as they were before: it must not miss the row that was written
    // meanwhile.
    const it = new Ground(await openPostgresStore(url, { lockTimeoutMs: 14_000 }));
    const term = await newTerm(it.store);
    await somebody.query("BEGIN; SELECT FROM limpet.leadership FOR UPDATE");
    const noted = it.shards.noteHomes(term, [it.home(0, undefined)]);
    await waiting(1);
    await somebody.query("INSERT INTO limpet.shard_homes VALUES ($1, 'Cart', 0, 'a')", [it.namespace]);
    await somebody.query("COMMIT");
    assert.equal(await noted, true);
    assert.deepEqual(await it.homes(), []);
    await it.store.close();
  });

  test("a process that settles a rule while another process does gets the rule of the other", async () => {
    const it = new Ground(await openPostgresStore(url, { lockTimeoutMs: 14_000 }));
    await somebody.query("BEGIN");
    await somebody.query("INSERT INTO limpet.shard_rules VALUES ($1, 'Cart', 7, 'seven')", [it.namespace]);
    const settled = it.shards.settle(it.rule(8, "eight"));
    await waiting(1);
    await somebody.query("COMMIT");
    assert.deepEqual(await settled, it.rule(7, "seven"));
    await it.store.close();
  });

  test("a write waits for a row that is locked for a moment, and fails without effect if it stays locked", async () => {
    const it = new Ground(store);
    const term = await newTerm(store);
    await it.remember(it.keep("a"));
    await somebody.query(
      "BEGIN; SELECT FROM limpet.leadership FOR UPDATE; SELECT FROM limpet.remembered_actors FOR UPDATE",
    );
    const refused = { name: "LimpetError", code: "STORE_UNAVAILABLE" };
    await Promise.all([
      assert.rejects(it.shards.noteHomes(term, [it.home(0, "a")]), refused),
      assert.rejects(it.remember(it.keep("b"), it.forget("a")), refused),
    ]);
    assert.deepEqual(await it.homes(), []);
    assert.deepEqual(await it.ids(), ["a"]);
    const patient = it.at(await openPostgresStore(url, { lockTimeoutMs: 14_000 }));
    const writes = [patient.shards.noteHomes(term, [it.home(0, "a")]), patient.remember(it.keep("b"), it.forget("a"))];
    await waiting(2);
    await somebody.query("COMMIT");
    assert.deepEqual(await Promise.all(writes), [true, undefined]);
    await patient.store.close();
    assert.deepEqual(await it.homes(), [it.home(0, "a")]);
    assert.deepEqual(await it.ids(), ["b"]);
  });

  test("a write of a home that waited while the next home was written does not count", async () => {
    const it = new Ground(await openPostgresStore(url, { lockTimeoutMs: 14_000 }));
    await it.note(it.home(0, "a"), it.home(1, "a"));
    await it.remember(it.keep("x", 0), it.keep("x", 1));
    await somebody.query("BEGIN");
    await somebody.query(
      "UPDATE limpet.shard_homes SET incarnation = 'b' WHERE namespace = $1 AND type = 'Cart' AND shard = 0",
      [it.namespace],
    );
    const made = it.shards.remember("a", [it.forget("x", 0), it.forget("x", 1)]);
    await waiting(1);
    await somebody.query("COMMIT");
    assert.deepEqual(await made, [false, true]);
    assert.deepEqual([await it.ids(0), await it.ids(1)], [["x"], []]);
    await it.store.close();
  });

  test("any number of writes in progress leaves connections to other operations", async () => {
    const it = new Ground(await openPostgresStore(url, { connections: 8, lockTimeoutMs: 14_000 }));
    const term = await newTerm(it.store);
    await somebody.query("BEGIN; LOCK TABLE limpet.shard_homes, limpet.remembered_actors IN EXCLUSIVE MODE");
    const writes = Array.from({ length: 10 }, (_, i) => [
      it.shards.noteHomes(term, [it.home(i, "a")]),
      it.remember(it.keep(`${i}`)),
    ]).flat();
    await waiting(2);
    await it.store.ping();
    assert.deepEqual(await it.homes(), []);
    await somebody.query("COMMIT");
    await Promise.all(writes);
    assert.equal((await it.homes()).length, 10);
    assert.equal((await it.ids()).length, 10);
    await it.store.close();
  });

  test("a step of shards whose response was lost was applied, and may be sent again", async () => {
    await using middleman = await Middleman.before(server.port);
    const detour = new URL(url);
    detour.port = `${middleman.port}`;
    const it = new Ground(await openPostgresStore(detour.href));
    const here = it.at(store);
    const term = await newTerm(store);
    const note = (incarnation: string | undefined) => it.shards.noteHomes(term, [it.home(1, incarnation)]);
    const homes = async () => (await here.homes()).map(({ incarnation }) => incarnation).join();
    const ids = async () => (await here.ids()).join();
    const steps: [send: () => Promise<unknown>, look: () => Promise<string>, seen: string][] = [
      [() => note("a"), homes, "a"],
      [() => note("b"), homes, "b"],
      [() => note(undefined), homes, ""],
      [() => it.remember(it.keep("x"), it.keep("y")), ids, "x,y"],
      [() => it.remember(it.forget("x"), it.keep("z")), ids, "y,z"],
    ];
    try {
      for (const [send, look, seen] of steps) {
        await persist(() => it.store.ping());
        middleman.losesAnswers = true;
        await assert.rejects(send(), { code: "STORE_UNAVAILABLE" });
        middleman.losesAnswers = false;
        for (let attempt = 0; (await look()) !== seen; attempt++) assert.ok(attempt < 30_000, "it never arrived");
        await persist(send);
        assert.equal(await look(), seen);
      }
    } finally {
      await it.store.close();
    }
  });

  test("acknowledged writes of shards survive a crash", async () => {
    const it = new Ground(store);
    await it.shards.settle(it.rule(9, "nine"));
    await it.note(it.home(4, "a"));
    await it.remember(it.keep("x", 4));
    // Leaves little to recover.
    await somebody.query("CHECKPOINT");
    await it.remember(it.keep("z", 4));
    await server.stop("immediate");
    await assert.rejects(it.remember(it.keep("y", 4)), { code: "STORE_UNAVAILABLE" });
    await server.start();
    assert.deepEqual(await persist(() => it.shards.settle(it.rule(10))), it.rule(9, "nine"));
    assert.deepEqual(await it.homes(), [it.home(4, "a")]);
    assert.deepEqual(await it.ids(4), ["x", "z"]);
    await somebody.end().catch(() => undefined);
    somebody = await connect();
  });
});
