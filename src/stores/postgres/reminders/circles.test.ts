// Many operations on the same rows, each in an order of its own: they wait for each other, and never in a
// deadlock that only the server could break. If the server breaks one, no caller notices.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import type { ReminderKey, ReminderWrite, Settlement } from "../../../ports/store/reminders.ts";
import type { Commit, Store } from "../../../ports/store/store.ts";
import { cancelOf, HOUR, Place, setOf } from "../../contract/reminders-shared.contract.ts";
import { actor, commitOf, keep, takeAll } from "../../contract/shared.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";
import { setReminders } from "./writes.ts";

const KEYS = 60;
const ROUNDS = 12;
/**
 * The beginning of the only statement without a short lock timeout; all others time out on a row after a
 * moment.
 */
const PATIENT = setReminders("limpet").text.trim().split("\n", 1)[0]!;

describe("operations on the same reminders in different orders", () => {
  let server: TestServer;
  let stores: Store[];
  let client: pg.Client;

  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    // A deadlock lasts until the server detects it, which is after a second.
    stores = await Promise.all([1, 2].map(() => openPostgresStore(url, { lockTimeoutMs: 20_000 })));
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });
  after(async () => {
    await client?.end();
    await Promise.all(stores?.map((store) => store.close()) ?? []);
    await server?.dispose();
  });

  const shuffled = <T>(list: readonly T[]): T[] =>
    list
      .map((one) => ({ one, rank: Math.random() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ one }) => one);
  const some = <T>(list: readonly T[]): T[] => shuffled(list).slice(0, Math.ceil(list.length / 2));

  /**
   * Each deadlock that the server logged. On a busy machine it logs some that were about to end by
   * themselves: it checks when a session has waited for a second, and another session may be about to time
   * out. These do no harm.
   */
  function circles(): string[][] {
    const reports = server.log().split("deadlock detected").slice(1);
    return reports.map((text) => text.split(/Process \d+: /).slice(1));
  }

  test("patient operations never deadlock while reminders are settled, renewed, set, cancelled and committed", async () => {
    const { namespace } = new Place(stores[0]!);
    const token = "shared";
    const lease = { token, leaseMs: HOUR };
    const [here, there] = stores.map((store) => new Place(store, namespace)) as [Place, Place];
    // Generations are given in an order that is not the order of the keys.
    const keys = shuffled(Array.from({ length: KEYS }, (_, i) => here.key(`${i}`)));
    for (let round = 0; round < ROUNDS; round++) {
      for (const key of shuffled(keys)) await here.set(key, { lease });
      const rows = await here.reminders.list({ namespace, limit: KEYS });
      const settle = (kind: "done" | "release"): Settlement[] =>
        some(rows).map(({ generation }) => ({ kind, generation, token }));
      const next = (): Settlement[] =>
        some(rows).map(({ generation, tick }) => ({ kind: "next", tick, leaseMs: HOUR, generation, token }));
      const set = (key: ReminderKey) => setOf(key, { lease, isNew: Math.random() < 0.2 });
      const sets = (): ReminderWrite[] => some(keys).map(set);
      const mixed = (): ReminderWrite[] => some(keys).map((key) => (Math.random() < 0.3 ? cancelOf(key) : set(key)));
      const commits = async (store: Store): Promise<Commit[]> => {
        const ids = Array.from({ length: 6 }, (_, i) => `${stores.indexOf(store)}-${round}-${i}`);
        const held = await takeAll(
          store,
          ids.map((id) => ({ ...actor(id, namespace), owner: "host-1" })),
        );
        const [ends, writes] = [[...settle("done"), ...next()], mixed()];
        const unique = [...new Map(ends.map((end) => [end.generation, end])).values()];
        return held.map((one, i) => ({
          ...commitOf(one, keep),
          settle: unique.filter((_, n) => n % 6 === i),
          reminders: writes.filter((_, n) => n % 6 === i),
        }));
      };
      const batches = await Promise.all(stores.map(commits));
      const ends = await Promise.allSettled(
        shuffled<() => Promise<unknown>>([
          () => here.reminders.settle(settle("done")),
          () => there.reminders.settle(settle("release")),
          () => there.reminders.settle(next()),
          () =>
            here.reminders.renew(
              some(rows).map(({ generation }) => ({ generation, token })),
              HOUR,
            ),
          () => here.reminders.write(mixed()),
          () => there.reminders.write(mixed()),
          () => here.reminders.write(sets()),
          () => there.reminders.write(sets()),
          () => there.reminders.write(sets()),
          () => stores[0]!.commit(batches[0]!),
          () => stores[1]!.commit(batches[1]!),
        ]).map((step) => step()),
      );
      for (const end of ends) if (end.status === "rejected") throw end.reason;
      // After each round, because only the newest part of the log is kept.
      const hopeless = circles().filter((members) => members.every((one) => one.trimStart().startsWith(PATIENT)));
      assert.deepEqual(hopeless, []);
    }
  });

  test("a deadlock with a foreign transaction is broken by the server, and the caller that set a reminder does not notice", async () => {
    const place = new Place(stores[0]!);
    const [first, second] = ["1", "2"].map((id) => place.key(id)) as [ReminderKey, ReminderKey];
    await place.set(first);
    await place.set(second);
    const lock = "SELECT 1 FROM limpet.reminders WHERE namespace = $1 AND id = $2 AND name = $3 FOR UPDATE";
    const isWaiting = `SELECT count(*)::int AS waiting FROM pg_locks
      WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`;
    const before = circles().length;
    // The session that detects the deadlock is rolled back: that must not be this client.
    await client.query("BEGIN; SET LOCAL deadlock_timeout = '10min'");
    await client.query(lock, [place.namespace, second.id, second.name]);
    const written = place.reminders.write([setOf(first, { at: 1 }), setOf(second, { at: 1 })]);
    while ((await client.query(isWaiting)).rows[0].waiting === 0) await pause(5);
    await client.query(lock, [place.namespace, first.id, first.name]);
    await client.query("COMMIT");
    assert.deepEqual(
      (await written).map(({ kind }) => kind),
      ["set", "set"],
    );
    const reports = circles().slice(before);
    assert.equal(reports.length, 1, "there was one");
    assert.ok(
      reports[0]!.some((member) => member.trimStart().startsWith(PATIENT)),
      "and the server logs its members",
    );
  });
});
