// Leases of dead processes: free soon after PostgreSQL has seen their connection end, and never while the
// process has a connection.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { startPgBouncer } from "../../../../test/support/pgbouncer.ts";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { missing } from "../../../../test/support/tools.ts";
import { freshToken, HOUR, Place, setOf } from "../../contract/reminders-shared.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";

async function until(condition: () => boolean | Promise<boolean>, subject: string): Promise<void> {
  for (let attempt = 0; attempt < 30_000; attempt++) {
    if (await condition()) return;
    await pause(20);
  }
  assert.fail(`never happened: ${subject}`);
}

describe("leases of reminders on PostgreSQL", { timeout: 600_000 }, () => {
  let server: TestServer;
  let url: string;

  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
  });
  after(async () => {
    await server?.dispose();
  });

  /** A process that claims free reminders, under a lease that no test waits for. */
  async function openProcess(namespace?: string, through = url) {
    const store = await openPostgresStore(through);
    const place = new Place(store, namespace);
    place.reminders.watch(place.namespace, () => undefined);
    const mark = () => place.reminders.tokenMark!();
    await until(() => mark() !== "", "the process holds its lock");
    const claim = async (token = `${freshToken()}${mark()}`) => {
      const request = {
        namespace: place.namespace,
        types: ["Cart", "Order"],
        limit: 10,
        aheadMs: 1_000,
        leaseMs: HOUR,
      };
      return (await place.reminders.claim({ ...request, token })).reminders.map(({ key }) => key.name);
    };
    return { store, place, mark, claim };
  }

  test("a claim takes the rows of a dead process, and none of a process that lives or has no mark", async () => {
    const living = await openProcess();
    const { namespace } = living.place;
    const [dead, nameless, survivor] = [
      await openProcess(namespace),
      await openProcess(namespace),
      await openProcess(namespace),
    ];
    const { place } = living;
    await place.set(place.key("of the living"));
    assert.deepEqual(await living.claim(), ["of the living"]);
    await place.set(place.key("without a mark"));
    assert.deepEqual(await nameless.claim(freshToken()), ["without a mark"]);
    await place.set(place.key("of the dead"));
    assert.deepEqual(await dead.claim(), ["of the dead"]);
    const leased = { token: `${freshToken()}${dead.mark()}`, leaseMs: HOUR };
    await place.set(place.key("set by the dead", "alice", "Order"), { lease: leased });
    // No lease is returned: to the server this is the end of a killed process.
    await dead.store.close();
    await nameless.store.close();
    // The living process loses its connection too, and makes a new one.
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const number = Number.parseInt(living.mark().slice(1), 16);
    const { rowCount } = await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1::bigint::oid",
      [number],
    );
    assert.equal(rowCount, 1);
    await admin.end();
    const taken: string[] = [];
    await until(async () => taken.push(...(await survivor.claim())) > 1, "the rows of the dead are claimed");
    assert.deepEqual(taken.sort(), ["of the dead", "set by the dead"]);
    assert.deepEqual(await survivor.claim(), []);
    await living.store.close();
    await survivor.store.close();
  });

  test("a process that starts after a crash is notified of the rows that the crash has left", async () => {
    const dead = await openProcess();
    const { place } = dead;
    await place.set(place.key("left"));
    assert.deepEqual(await dead.claim(), ["left"]);
    await dead.store.close();
    const next = await openProcess(place.namespace);
    let isWoken = false;
    next.place.reminders.watch(place.namespace, () => {
      isWoken = true;
    });
    assert.deepEqual(await next.claim(), []);
    await until(() => isWoken, "the process is woken");
    assert.deepEqual(await next.claim(), ["left"]);
    await next.store.close();
  });

  test("a claim takes the rows of a dead process behind many leases of a living process, and the old token counts no more", async () => {
    const living = await openProcess();
    const { place } = living;
    const [dead, survivor] = [await openProcess(place.namespace), await openProcess(place.namespace)];
    const earlier = Array.from({ length: 1_000 }, (_, i) =>
      setOf(place.key(`${i}`), { at: Date.now() - 2 * HOUR + i }),
    );
    await place.reminders.write(earlier);
    const token = `${freshToken()}${living.mark()}`;
    assert.equal((await place.claim({ token })).reminders.length, 1_000);
    const generation = await place.set(place.key("of the dead"));
    const lost = `${freshToken()}${dead.mark()}`;
    assert.deepEqual(await dead.claim(lost), ["of the dead"]);
    await dead.store.close();
    const taken: string[] = [];
    await until(async () => taken.push(...(await survivor.claim())) > 0, "the row of the dead process is claimed");
    assert.deepEqual(taken, ["of the dead"]);
    // A process that was only disconnected comes back with the token of its claim.
    assert.equal(await place.settle({ kind: "done", generation, token: lost }), false);
    assert.deepEqual(await place.reminders.renew([{ generation, token: lost }], HOUR), [generation]);
    await living.store.close();
    await survivor.store.close();
  });

  /** A process behind PgBouncer dies with a claimed row; a process with a direct connection is left. */
  async function dieBehindPgBouncer(settings: Readonly<Record<string, string>>) {
    await using stack = new AsyncDisposableStack();
    const pooled = { pool_mode: "session", default_pool_size: "40", ignore_startup_parameters: "options", ...settings };
    const pooler = stack.use(await startPgBouncer(server.port, pooled));
    const dead = await openProcess(undefined, pooler.url(new URL(url).pathname.slice(1)));
    const { place } = dead;
    await place.set(place.key("of the dead"));
    assert.deepEqual(await dead.claim(), ["of the dead"]);
    const number = Number.parseInt(dead.mark().slice(1), 16);
    await dead.store.close();
    const survivor = await openProcess(place.namespace);
    stack.defer(() => survivor.store.close());
    const kept = stack.move();
    return { survivor, number, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  const skip = missing("pgbouncer") ?? false;

  test("PgBouncer with session pooling releases the lock of a dead process, and a claim takes its rows", {
    skip,
  }, async () => {
    await using left = await dieBehindPgBouncer({});
    const taken: string[] = [];
    await until(async () => taken.push(...(await left.survivor.claim())) > 0, "the row of the dead is claimed");
    assert.deepEqual(taken, ["of the dead"]);
  });

  test("PgBouncer without a reset query keeps the lock, and the rows of a dead process wait for the end of their lease", {
    skip,
  }, async () => {
    await using left = await dieBehindPgBouncer({ server_reset_query: "" });
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const held = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = $1::bigint::oid AND granted";
    assert.equal((await admin.query(held, [left.number])).rowCount, 1);
    // Longer than the grace of a missing process.
    for (const end = performance.now() + 4_000; performance.now() < end; await pause(200)) {
      assert.deepEqual(await left.survivor.claim(), []);
    }
    await admin.query("UPDATE limpet.reminders SET leased_until = 0 WHERE namespace = $1", [
      left.survivor.place.namespace,
    ]);
    await admin.end();
    const taken: string[] = [];
    await until(async () => taken.push(...(await left.survivor.claim())) > 0, "the row is claimed after its lease");
    assert.deepEqual(taken, ["of the dead"]);
  });

  test("a store without notifications holds no lock, and its tokens have no mark", async () => {
    const store = await openPostgresStore(url, { notify: false });
    assert.equal(
      store.reminders.watch("n", () => undefined),
      undefined,
    );
    assert.equal(store.reminders.tokenMark?.(), "");
    await store.close();
  });
});
