// A row that another transaction holds: only its own operation waits, all others go on.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import type { Store, Taken } from "../../ports/store/store.ts";
import {
  actor,
  change,
  commitOf,
  freshNamespace,
  send,
  take,
  takeAll,
  whole,
  write,
} from "../contract/shared.contract.ts";
import { openPostgresStore } from "./postgres-store.ts";

describe("actor rows that another transaction holds", () => {
  let server: TestServer;
  let store: Store;
  let patient: Store;
  let somebody: pg.Client;

  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    store = await openPostgresStore(url, { lockTimeoutMs: 20 });
    patient = await openPostgresStore(url, { lockTimeoutMs: 10_000 });
    somebody = new pg.Client({ connectionString: url });
    somebody.on("error", () => undefined);
    await somebody.connect();
  });
  after(async () => {
    await somebody?.end();
    await patient?.close();
    await store?.close();
    await server?.dispose();
  });

  /** Runs `work` while an open transaction holds the rows of `refs`; it ends only after `work` does. */
  async function whileHeld(refs: readonly number[], work: () => Promise<void>): Promise<void> {
    await somebody.query("BEGIN");
    try {
      await somebody.query("SELECT FROM limpet.actors WHERE ref = ANY ($1) FOR UPDATE", [refs]);
      await work();
    } finally {
      await somebody.query("ROLLBACK");
    }
  }

  async function takeMany(count: number): Promise<Taken[]> {
    const namespace = freshNamespace();
    return takeAll(
      store,
      Array.from({ length: count }, (_, i) => ({ ...actor(`${i}`, namespace), owner: "host-1" })),
    );
  }

  for (const [kind, size] of [
    ["small", 10],
    ["large", 2_000],
  ] as const) {
    test(`a locked row does not delay the rest of a batch of ${kind} states, and is written when it is sent again`, async () => {
      const held = await takeMany(20);
      const batch = held.map((one, i) => commitOf(one, whole(`${i}`.padEnd(size))));
      await whileHeld([held[7]!.ref, held[3]!.ref], async () => {
        const expected = batch.map((_, i) => (i === 3 || i === 7 ? "locked" : "committed"));
        assert.deepEqual(await store.commit(batch), expected);
        const others = batch.filter((_, i) => i !== 7 && i !== 3);
        assert.deepEqual(await store.commit(others), Array(18).fill("committed"));
        assert.deepEqual(await store.commit([batch[3]!]), ["locked"]);
      });
      assert.deepEqual(await store.commit(batch), Array(20).fill("committed"));
      const next = held.map((one) => commitOf(one, whole("next"), 1));
      assert.deepEqual(await store.commit(next), Array(20).fill("committed"));
    });
  }

  test("a locked row does not delay batches without it", async () => {
    const [first, ...rest] = await takeMany(20);
    await whileHeld([first!.ref], async () => {
      const waiting = store.commit([commitOf(first!, whole("x"))]);
      for (const one of rest) assert.equal(await send(store, commitOf(one, whole("x"))), "committed");
      assert.deepEqual(await waiting, ["locked"]);
    });
  });

  test("a locked actor is not taken, and the rest of its batch is", async () => {
    const namespace = freshNamespace();
    const keys = ["a", "b", "c"].map((id) => ({ ...actor(id, namespace), owner: "host-1" }));
    const held = await takeAll(store, keys);
    await write(store, held[2]!, whole("w".repeat(2_000)), change("x"));
    const all = [...keys, { ...actor("new", namespace), owner: "host-1" }];
    await whileHeld([held[1]!.ref], async () => {
      const answers = await store.take(all);
      assert.deepEqual(
        answers.map((answer) => (answer === "locked" ? answer : typeof answer)),
        ["object", "locked", "object", "object"],
      );
      const epochOf = async (id: string) => (await store.find(actor(id, namespace)))!.epoch;
      for (const [i, id] of ["a", "b", "c"].entries()) assert.equal((await epochOf(id)) > held[i]!.epoch, id !== "b");
      assert.equal(await epochOf("new"), (answers[3] as Taken).epoch);
    });
    const again = await takeAll(store, all);
    assert.deepEqual(
      again.map(({ version, state }) => [version, state?.changes]),
      [
        [0, undefined],
        [0, undefined],
        [2, ["x"]],
        [0, undefined],
      ],
    );
  });

  test("a batch waits for a row that is unlocked soon", async () => {
    const held = await takeMany(10);
    // The store belongs to the same owner.
    await take(patient, actor("anybody"));
    let batch: Promise<unknown> = Promise.resolve();
    await whileHeld([held[0]!.ref], async () => {
      batch = patient.commit(held.map((one) => commitOf(one, whole("x"))));
      // Once a session waits for the row, the batch is there; unlocking now is in time.
      for (let i = 0; i < 1_000; i++) {
        await somebody.query("SELECT pg_stat_clear_snapshot()");
        const { rows } = await somebody.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
        if (rows.length > 0) return;
      }
      assert.fail("no session waited for the row");
    });
    assert.deepEqual(await batch, Array(10).fill("committed"));
  });

  test("a commit whose row its holder changes meanwhile is fenced, small or large", async () => {
    for (const data of ["small", "l".repeat(5_000)]) {
      const key = actor("alice");
      const held = await take(store, key);
      let late: Promise<unknown> = Promise.resolve();
      await somebody.query("BEGIN");
      await somebody.query("UPDATE limpet.actors SET epoch = epoch + 1 WHERE ref = $1", [held.ref]);
      late = store.commit([commitOf(held, whole(data))]);
      await somebody.query("COMMIT");
      assert.deepEqual(await late, ["fenced"]);
      assert.equal((await take(store, key)).state, undefined);
    }
  });
});
