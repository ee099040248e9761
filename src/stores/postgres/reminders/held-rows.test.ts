// A reminder that another transaction holds: only its own operation waits, all others go on.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import type { Settlement } from "../../../ports/store/reminders.ts";
import type { Commit, Store } from "../../../ports/store/store.ts";
import { cancelOf, freshToken, HOUR, leasesOf, Place, setOf, TRIED } from "../../contract/reminders-shared.contract.ts";
import { actor, commitOf, takeAll, whole } from "../../contract/shared.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";

describe("reminder rows that another transaction holds", () => {
  let server: TestServer;
  let store: Store;
  let patient: Store;
  let somebody: pg.Client;

  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    store = await openPostgresStore(url, { lockTimeoutMs: 20 });
    patient = await openPostgresStore(url, { lockTimeoutMs: 40_000 });
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

  /** Runs `work` while an open transaction has run `what`; it ends only after `work` does. */
  async function during(what: string, values: unknown[], work: () => Promise<void>): Promise<void> {
    await somebody.query("BEGIN");
    try {
      await somebody.query(what, values);
      await work();
    } finally {
      await somebody.query("ROLLBACK");
    }
  }

  const whileHeld = (generations: readonly number[], work: () => Promise<void>) =>
    during("SELECT FROM limpet.reminders WHERE generation = ANY ($1) FOR UPDATE", [generations], work);

  /** The server shows only the beginning of running statements. */
  const shortly = (statement: string): string => statement.replaceAll(/\s+/g, "").slice(0, 500);

  /** Statements that timed out on a row after `since` in the log. */
  function gaveUp(since: string): string[] {
    const entries = server
      .log()
      .slice(Math.max(server.log().lastIndexOf(since), 0))
      .split(/ERROR: +canceling statement/);
    return entries.slice(1).flatMap((entry) => {
      const [, statement] = /STATEMENT:((?:.*\n)(?:\t.*\n)*)/.exec(entry) ?? [];
      return statement === undefined ? [] : [shortly(statement)];
    });
  }

  /** Twenty claimed reminders. */
  async function claimed(it: Place): Promise<{ generations: number[]; token: string }> {
    await it.reminders.write(Array.from({ length: 20 }, (_, i) => setOf(it.key(`${i}`.padStart(2, "0")), { at: i })));
    const token = freshToken();
    const { reminders } = await it.claim({ token });
    return { generations: reminders.map(({ generation }) => generation), token };
  }

  const left = async (it: Place) => {
    return (await it.reminders.list({ namespace: it.namespace, limit: 100 })).map(({ key }) => key.name);
  };

  test("a locked reminder is not claimed and does not delay the others", async () => {
    const it = new Place(store);
    for (const type of ["A", "B"]) {
      for (const name of ["1", "2", "3"]) await it.set(it.key(name, "alice", type), { at: Number(name) });
    }
    const { generation } = await it.stored(it.key("2", "alice", "A"));
    await whileHeld([generation], async () => {
      assert.deepEqual(await it.names({ types: ["A"], limit: 2 }), ["1", "3"]);
      assert.deepEqual(await it.names({ types: ["A", "B"] }), ["1", "2", "3"]);
      assert.deepEqual((await it.claim({ types: ["A", "B"] })).reminders, []);
    });
    assert.deepEqual(await it.names({ types: ["A", "B"] }), ["2"]);
  });

  const tick = { at: 9, due: 9, number: 2, attempt: 0 };
  for (const [kind, outcome] of [
    ["done", { kind: "done" }],
    ["next", { kind: "next", tick, leaseMs: undefined }],
    ["release", { kind: "release" }],
    ["dead", { kind: "dead", tick: TRIED, error: "e" }],
  ] as const) {
    test(`a locked reminder does not delay the rest of a settled batch (${kind}), and is settled when it is sent again`, async () => {
      const it = new Place(store);
      const { generations, token } = await claimed(it);
      const batch = generations.map((generation): Settlement => ({ ...outcome, generation, token }));
      const others = batch.filter((_, i) => i !== 3 && i !== 7);
      await whileHeld([generations[7]!, generations[3]!], async () => {
        await assert.rejects(it.reminders.settle(batch), { code: "COMMIT_UNKNOWN" });
        // The others are settled: they do not count a second time.
        assert.deepEqual(await it.reminders.settle(others), Array(18).fill(false));
        await assert.rejects(it.reminders.settle([batch[3]!]), { code: "STORE_UNAVAILABLE" });
      });
      assert.deepEqual(
        await it.reminders.settle(batch),
        batch.map((_, i) => i === 3 || i === 7),
      );
    });
  }

  test("a locked reminder that cannot be renewed is reported as lost, and the others are renewed", async () => {
    const it = new Place(store);
    const { generations, token } = await claimed(it);
    await whileHeld([generations[5]!], async () => {
      assert.deepEqual(await it.reminders.renew(leasesOf(generations, token), 9 * HOUR), [generations[5]!]);
    });
    const { now } = await it.claim({ types: [] });
    for (const { generation, leasedUntil } of await it.reminders.list({ namespace: it.namespace, limit: 100 })) {
      assert.equal(leasedUntil! > now + 5 * HOUR, generation !== generations[5]);
    }
  });

  test("a locked reminder is not set or cancelled, nor is the rest of its batch, until the batch is sent again", async () => {
    const it = new Place(store);
    const generation = await it.set(it.key("held"), { data: "old" });
    await it.set(it.key("there"), { data: "old" });
    const batches = [
      [setOf(it.key("held"), { data: "new" }), setOf(it.key("fresh")), cancelOf(it.key("there"))],
      [cancelOf(it.key("held")), setOf(it.key("fresh")), cancelOf(it.key("there"))],
    ];
    await whileHeld([generation], async () => {
      for (const batch of batches) await assert.rejects(it.reminders.write(batch), { code: "STORE_UNAVAILABLE" });
      assert.deepEqual(await left(it), ["held", "there"]);
    });
    await it.reminders.write(batches[0]!);
    assert.deepEqual(await left(it), ["fresh", "held"]);
    assert.equal((await it.stored(it.key("held"))).data, "new");
  });

  test("operations wait for a reminder that is unlocked soon", async () => {
    const it = new Place(patient);
    const { generations, token } = await claimed(it);
    const [first, second, third] = generations;
    let steps: Promise<unknown>[] = [];
    const begin = `they begin ${token}`;
    await somebody.query(`DO $$ BEGIN RAISE LOG '${begin}'; END $$`);
    await whileHeld([first!, second!, third!], async () => {
      steps = [
        it.reminders.settle([first!, generations[9]!].map((generation) => ({ kind: "done", generation, token }))),
        it.reminders.renew(leasesOf([second!, generations[8]!], token), HOUR),
        it.reminders.write([cancelOf(it.key("02")), setOf(it.key("03"))]),
      ];
      void Promise.allSettled(steps);
      // A session with short waits shows in the log; one with longer waits shows as waiting. Unlocking then
      // is in time.
      const waiting = new Set<string>();
      for (let i = 0; i < 10_000 && waiting.size < 3; i++) {
        await somebody.query("SELECT pg_stat_clear_snapshot()");
        const { rows } = await somebody.query("SELECT query FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
        for (const { query } of rows) waiting.add(shortly(query));
        for (const statement of gaveUp(begin)) waiting.add(statement);
      }
      assert.equal(waiting.size, 3, "an operation did not wait");
    });
    assert.deepEqual(await Promise.all(steps.slice(0, 2)), [[true, true], []]);
    const [cancelled, set] = (await steps[2]) as { kind: string; existed?: boolean }[];
    assert.deepEqual([cancelled, set!.kind], [{ kind: "cancelled", existed: true }, "set"]);
  });

  test("a reminder is cancelled although it is set again while the cancel waits for it", async () => {
    const it = new Place(patient);
    const generation = await it.set(it.key("tea"));
    let cancel: Promise<unknown> = Promise.resolve();
    await somebody.query("BEGIN");
    await somebody.query("UPDATE limpet.reminders SET generation = generation + 1000000 WHERE generation = $1", [
      generation,
    ]);
    cancel = it.reminders.write([cancelOf(it.key("tea"))]);
    for (let waiting = 0; waiting === 0; ) {
      await somebody.query("SELECT pg_stat_clear_snapshot()");
      const { rows } = await somebody.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      waiting = rows.length;
    }
    await somebody.query("COMMIT");
    assert.deepEqual(await cancel, [{ kind: "cancelled", existed: true }]);
    assert.equal(await it.reminders.get(it.key("tea")), undefined);
  });

  describe("locked reminders of commits", () => {
    /** Ten commits; each settles one reminder, replaces one and sets one. */
    async function batchOf(it: Place): Promise<{ batch: Commit[]; generations: number[]; replaced: number[] }> {
      const { generations, token } = await claimed(it);
      const keys = Array.from({ length: 10 }, (_, i) => ({ ...actor(`${i}`, it.namespace), owner: "host-1" }));
      const held = await takeAll(store, keys);
      const replaced: number[] = [];
      for (let i = 0; i < 10; i++) replaced.push(await it.set(it.key(`replaced ${i}`), { data: "old" }));
      const batch = held.map((one, i): Commit => {
        const settle: Settlement[] = [{ kind: "done", generation: generations[i]!, token }];
        const reminders = [setOf(it.key(`replaced ${i}`), { data: "new" }), setOf(it.key(`fresh ${i}`))];
        return { ...commitOf(one, whole(`${i}`)), settle, reminders };
      });
      return { batch, generations, replaced };
    }

    async function check(it: Place, batch: readonly Commit[], missing: number): Promise<void> {
      const expected = batch.map((_, i) => (i === missing ? "locked" : "committed"));
      assert.deepEqual(await store.commit(batch), expected);
      const names = await left(it);
      for (let i = 0; i < 10; i++) {
        assert.equal(names.includes(`0${i}`), i === missing);
        assert.equal(names.includes(`fresh ${i}`), i !== missing);
        assert.equal((await it.stored(it.key(`replaced ${i}`))).data, i === missing ? "old" : "new");
      }
      assert.equal((await store.find(actor(`${missing}`, it.namespace)))?.version, 0);
    }

    test("a locked reminder that a commit settles or replaces delays only its own commit", async () => {
      for (const which of ["generations", "replaced"] as const) {
        const it = new Place(store);
        const made = await batchOf(it);
        await whileHeld([made[which][4]!], () => check(it, made.batch, 4));
        assert.deepEqual(await store.commit(made.batch), Array(10).fill("committed"));
        assert.equal((await left(it)).length, 30);
      }
    });

    test("a new reminder that another transaction is inserting, too, delays only its own commit", async () => {
      const it = new Place(store);
      const { batch } = await batchOf(it);
      const insert = `INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace,
                                                    type, id, name, schedule)
                      VALUES (-1, 1, 1, 1, 1, 0, 0, true, $1, 'Cart', 'alice', 'fresh 6', 's')`;
      await during(insert, [it.namespace], () => check(it, batch, 6));
      assert.deepEqual(await store.commit(batch), Array(10).fill("committed"));
      assert.equal((await left(it)).length, 30);
    });
  });
});
