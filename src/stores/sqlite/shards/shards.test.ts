import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import type { LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import type { Store } from "../../../ports/store/store.ts";
import { newCandidate } from "../../contract/coordination-shared.contract.ts";
import { Ground, newTerm } from "../../contract/shards-shared.contract.ts";
import { actor, change, commitOf, freshNamespace, take, takeAll, whole } from "../../contract/shared.contract.ts";
import { shardsContract } from "../../shards.contract.ts";
import { openSqliteStore } from "../sqlite-store.ts";

let folder: string;
let files = 0;
const freshFile = () => join(folder, `${++files}.db`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "limpet-shards-"));
});
after(() => rm(folder, { recursive: true }));

shardsContract("SQLite", async () => {
  const file = freshFile();
  const store = await openSqliteStore(file);
  const again = () => openSqliteStore(file);
  return { store, second: again, reopen: again, dispose: () => store.close() };
});

describe("shards on SQLite", () => {
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
  async function together<T>(send: () => T): Promise<T> {
    other.exec("BEGIN IMMEDIATE");
    const sent = send();
    other.exec("ROLLBACK");
    return sent;
  }

  test("the leader's requests about homes overtake waiting takes and commits", async () => {
    const namespace = freshNamespace();
    const batches = await Promise.all(
      Array.from({ length: 12 }, (_, batch) =>
        takeAll(
          store,
          Array.from({ length: LIMITS.batchSize }, (_, i) => ({ ...actor(`${batch}-${i}`, namespace), owner: "h" })),
        ),
      ),
    );
    const it = new Ground(store);
    const term = await newTerm(store);
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
      steps: [it.shards.noteHomes(term, [it.home(0, "a")]), it.homes()].map(goneBefore),
    }));
    // The thread was at the first batch already when they arrived.
    for (const gone of await Promise.all(steps)) assert.ok(gone <= 1, `${gone} batches of commits went before`);
    assert.ok((await Promise.all(commits)).flat().every((outcome) => outcome === "committed"));
  });

  test("a step of shards is applied once when it shares a transaction that fails because of another request", async () => {
    const it = new Ground(store);
    const held = await take(store, actor("a", it.namespace));
    const term = await newTerm(store);
    await it.remember(it.keep("gone"));
    const results = await together(() =>
      Promise.allSettled<unknown>([
        store.commit([commitOf(held, change("on top of nothing"))]),
        it.shards.settle(it.rule(3)),
        it.shards.settle(it.rule(4)),
        it.remember(it.keep("a"), it.forget("gone")),
        it.shards.noteHomes(term, [it.home(0, "a")]),
        it.shards.noteHomes(term - 1, [it.home(0, "b")]),
      ]),
    );
    const [bad, ...rest] = results.map((result) =>
      result.status === "fulfilled" ? result.value : (result.reason as LimpetError).code,
    );
    assert.equal(bad, "INVARIANT");
    assert.deepEqual(rest, [it.rule(3), it.rule(3), undefined, true, false]);
    assert.deepEqual(await it.homes(), [it.home(0, "a")]);
    assert.deepEqual(await it.ids(), ["a"]);
  });

  test("a reset of many actors lets urgent requests go first in between", async () => {
    const it = new Ground(store);
    for (let from = 0; from < 12_000; from += 1_000) {
      await it.remember(...Array.from({ length: 1_000 }, (_, i) => it.keep(`${from + i}`)));
    }
    let isOver = false;
    const reset = it.shards.reset(it.namespace, "Cart").then(() => {
      isOver = true;
    });
    const me = newCandidate();
    await store.coordination.campaign(me);
    assert.equal(isOver, false);
    await reset;
    assert.deepEqual(await it.ids(), []);
    await store.coordination.resign(me.incarnation);
  });

  test("a step of shards fails with nothing applied when the lock is held for too long, and works again afterwards", async () => {
    const it = new Ground(await openSqliteStore(file, { busyTimeoutMs: 20 }));
    const term = await newTerm(it.store);
    other.exec("BEGIN IMMEDIATE");
    const refused = { code: "STORE_UNAVAILABLE", message: /lock/ };
    await assert.rejects(it.shards.settle(it.rule()), refused);
    await assert.rejects(it.shards.noteHomes(term, [it.home(0, "a")]), refused);
    await assert.rejects(it.remember(it.keep("a")), refused);
    await assert.rejects(it.shards.reset(it.namespace, "Cart"), refused);
    // Reads do not wait for the lock.
    assert.deepEqual([await it.homes(), await it.ids()], [[], []]);
    other.exec("ROLLBACK");
    assert.deepEqual(await it.shards.settle(it.rule(2)), it.rule(2));
    assert.equal(await it.shards.noteHomes(term, [it.home(0, "a")]), true);
    await it.remember(it.keep("a"));
    assert.deepEqual([await it.homes(), await it.ids()], [[it.home(0, "a")], ["a"]]);
    await it.store.close();
  });

  test("homes of many types and hosts are returned complete and in order", async () => {
    const it = new Ground(store);
    const term = await newTerm(store);
    const homes = Array.from({ length: 900 }, (_, i) =>
      it.home(Math.floor(i / 30) * 3, `h${i % 7}`, `T${10 + (i % 30)}`),
    );
    assert.ok(await it.shards.noteHomes(term, homes));
    const sorted = homes.toSorted((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : a.shard - b.shard));
    assert.deepEqual(await it.homes(), sorted);
  });

  test("all rows of shards are found by their keys, and read in the order of the tree", () => {
    const plan = (sql: string) =>
      (other.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail).join("; ");
    const key = "namespace = '' AND type = ''";
    const plans = [
      plan(`DELETE FROM shard_homes WHERE ${key}`),
      plan(`SELECT shard, incarnation FROM shard_homes WHERE ${key} ORDER BY shard`),
      plan(`SELECT id FROM remembered_actors WHERE ${key} AND shard = 1 AND id > '' ORDER BY id LIMIT 1`),
      plan(`SELECT shard, id FROM remembered_actors WHERE ${key} ORDER BY shard, id LIMIT 1 OFFSET 5`),
      plan(`DELETE FROM remembered_actors WHERE ${key} AND (shard, id) <= (1, '')`),
    ];
    for (const one of plans) assert.match(one, /^SEARCH \w+ USING PRIMARY KEY \(namespace=\? AND type=\?.*\)$/);
    assert.match(plans[2]!, /shard=\? AND id>\?/);
    assert.match(plans[4]!, /\(shard,id\)<\(\?,\?\)|\(shard,id\)/);
    const types = plan("SELECT DISTINCT namespace, type FROM shard_homes ORDER BY namespace, type");
    assert.doesNotMatch(types, /TEMP B-TREE/);
  });
});
