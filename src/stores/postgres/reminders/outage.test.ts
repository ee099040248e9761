// Outages of the server while reminders are claimed and settled and responses are lost.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { type StopMode, startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { isLimpetError } from "../../../kernel/errors.ts";
import type { Settlement } from "../../../ports/store/reminders.ts";
import { type Commit, verdictOf } from "../../../ports/store/store.ts";
import { freshToken, HOUR, Place, setOf } from "../../contract/reminders-shared.contract.ts";
import { actor, commitOf, take, whole } from "../../contract/shared.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";

const ROWS = 4_000;
const CLAIMERS = 4;

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let attempt = 0; attempt < 30_000; attempt++) {
    if (condition()) return;
    await pause(5);
  }
  assert.fail(`never happened: ${what}`);
}

describe("outages of the PostgreSQL server during deliveries", () => {
  let server: TestServer;

  before(async () => {
    server = await startPostgres();
  });
  after(async () => {
    await server?.dispose();
  });

  /** Repeats `work` while the store does not respond. */
  async function persist<T>(work: () => Promise<T>, refusals?: Map<string, number>): Promise<T> {
    for (let attempt = 0; attempt < 30_000; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!isLimpetError(error, "STORE_UNAVAILABLE") && !isLimpetError(error, "COMMIT_UNKNOWN")) throw error;
        refusals?.set(error.code, (refusals.get(error.code) ?? 0) + 1);
        await pause(10);
      }
    }
    assert.fail("the store did not come back");
  }

  test("no reminder is lost, settled again or claimed during another lease while the server goes away", async () => {
    const url = await server.createDatabase();
    const store = await openPostgresStore(url, { connectTimeoutMs: 1_000 });
    const it = new Place(store);
    for (let i = 0; i < ROWS; i += 1_000) {
      await it.reminders.write(Array.from({ length: 1_000 }, (_, n) => setOf(it.key(`${i + n}`), { at: i + n })));
    }
    const refusals = new Map<string, number>();
    /**
     * Number of acknowledged claims of each reminder, and the reminders whose settlement was acknowledged.
     */
    const claims = new Map<string, number>();
    const settled = new Set<string>();
    let isOver = false;

    const claimer = async () => {
      while (!isOver) {
        const token = freshToken();
        const { reminders } = await persist(() => it.claim({ limit: 20, token, leaseMs: 5 * HOUR }), refusals);
        if (reminders.length === 0) return;
        for (const { key } of reminders) claims.set(key.name, (claims.get(key.name) ?? 0) + 1);
        const ends = reminders.map(({ generation }): Settlement => ({ kind: "done", generation, token }));
        await persist(() => it.reminders.settle(ends), refusals);
        for (const { key } of reminders) settled.add(key.name);
      }
    };

    const claimers = Array.from({ length: CLAIMERS }, claimer);
    for (const mode of ["immediate", "fast", "immediate"] satisfies StopMode[]) {
      const goal = settled.size + 500;
      await until(() => settled.size >= goal, "500 more are settled");
      await server.stop(mode);
      await server.start();
    }
    await Promise.all(claimers);
    assert.ok(refusals.size > 0, "no operation failed while the server was away");
    assert.deepEqual(
      [...claims.values()].filter((count) => count !== 1),
      [],
      "some were claimed twice while their lease lasted",
    );
    // A claim whose response was lost has left a lease without a holder, and the reminder comes back when the
    // lease ends.
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query("SELECT name, leased_until > 0 AS leased FROM limpet.reminders");
    for (const { name, leased } of rows) assert.ok(leased && !settled.has(name), `${name} came back`);
    assert.equal(rows.length + settled.size, ROWS);
    await client.query("UPDATE limpet.reminders SET leased_until = 1");
    await client.end();
    const { reminders } = await it.claim({ limit: ROWS });
    assert.equal(reminders.length, rows.length);
    isOver = true;
    await store.close();
  });

  test("repeated commits settle and set their reminders once", async () => {
    const store = await openPostgresStore(await server.createDatabase(), { connectTimeoutMs: 1_000 });
    const it = new Place(store);
    const LANES = 4;
    const counts: number[] = Array(LANES).fill(0);
    let isOver = false;

    /** Each commit settles the reminder that the one before it set, and sets the next. */
    const lane = async (number: number) => {
      const held = await take(store, actor(`${number}`, it.namespace));
      const token = freshToken();
      const lease = { token, leaseMs: HOUR };
      const key = (count: number) => it.key(`${count}`, `${number}`);
      while (!isOver) {
        const count = counts[number]!;
        const before = count === 0 ? undefined : await persist(() => it.reminders.get(key(count - 1)));
        assert.ok(count === 0 || before !== undefined, "a committed reminder is missing");
        const commit: Commit = {
          ...commitOf(held, whole(`${count}`), count),
          settle: before === undefined ? [] : [{ kind: "done", generation: before.generation, token }],
          reminders: [setOf(key(count), { lease, isNew: true })],
        };
        const [outcome] = await persist(() => store.commit([commit]));
        assert.ok(outcome !== undefined && outcome !== "locked");
        assert.equal(verdictOf(outcome), "committed");
        counts[number]!++;
      }
    };

    const lanes = counts.map((_, number) => lane(number));
    const total = () => counts.reduce((sum, count) => sum + count, 0);
    for (const mode of ["immediate", "fast", "immediate"] satisfies StopMode[]) {
      const goal = total() + 100;
      await until(() => total() >= goal, "100 more are committed");
      await server.stop(mode);
      await server.start();
    }
    const goal = total() + 40;
    await until(() => total() >= goal, "commits go on after the last start");
    isOver = true;
    await Promise.all(lanes);
    const left = await it.reminders.list({ namespace: it.namespace, limit: 100 });
    assert.deepEqual(
      left.map(({ key }) => [key.id, key.name]),
      counts.map((count, number) => [`${number}`, `${count - 1}`]),
    );
    await store.close();
  });
});
