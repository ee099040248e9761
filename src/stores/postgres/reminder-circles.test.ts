// Many who want the same rows, each in an order of its own: they wait for each other, and never in a circle.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import type { ReminderKey, ReminderWrite, Settlement } from "../../ports/reminders.ts";
import type { Commit, Store } from "../../ports/store.ts";
import { cancelOf, HOUR, Place, setOf } from "../contract/reminders-shared.contract.ts";
import { actor, commitOf, keep, takeAll } from "../contract/shared.contract.ts";
import { openPostgresStore } from "./postgres-store.ts";

const KEYS = 60;
const ROUNDS = 12;

describe("many who want the same reminders in different orders", () => {
  let server: TestServer;
  let stores: Store[];
  let client: pg.Client;

  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    // Whoever waits in a circle waits until the server notices, which is after a second.
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

  async function circles(): Promise<number> {
    await client.query("SELECT pg_stat_clear_snapshot()");
    const { rows } = await client.query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
    return Number(rows[0].deadlocks) + (server.log().match(/deadlock detected/g)?.length ?? 0);
  }

  test("settle, renew, set, cancel and commit without ever waiting in a circle", async () => {
    const { namespace } = new Place(stores[0]!);
    const token = "shared";
    const lease = { token, leaseMs: HOUR };
    const [here, there] = stores.map((store) => new Place(store, namespace)) as [Place, Place];
    // Generations are given in an order that is not that of the keys.
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
      await Promise.all(
        shuffled([
          () => here.reminders.settle(settle("done")),
          () => there.reminders.settle(settle("release")),
          () => there.reminders.settle(next()),
          () =>
            here.reminders.renew(
              some(rows).map(({ generation }) => generation),
              token,
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
    }
    assert.equal(await circles(), 0);
  });
});
