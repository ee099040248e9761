import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { Middleman } from "../../../../test/support/middleman.ts";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import { isLimpetError } from "../../../kernel/errors.ts";
import type { Store } from "../../../ports/store/store.ts";
import {
  drop,
  HOUR,
  newCandidate,
  newDedicated,
  newMember,
  save,
} from "../../contract/coordination-shared.contract.ts";
import { actor } from "../../contract/shared.contract.ts";
import { coordinationContract } from "../../coordination.contract.ts";
import { termAt } from "../../leadership.ts";
import { openPostgresStore } from "../postgres-store.ts";

let server: TestServer;

before(async () => {
  server = await startPostgres();
});
after(async () => {
  await server?.dispose();
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

coordinationContract(
  "PostgreSQL",
  async () => {
    const url = await server.createDatabase();
    const store = await openPostgresStore(url);
    const other = await connect(url);
    let moving: Promise<unknown> = Promise.resolve();
    return {
      store,
      second: () => openPostgresStore(url),
      advance: async (ms) => {
        // In the order in which every statement locks: leadership first.
        const by = `SET until = until - ${ms} * interval '1 millisecond'`;
        moving = moving.then(() => other.query(`UPDATE limpet.leadership ${by}; UPDATE limpet.schedulers ${by}`));
        await moving;
      },
      listMany: async (count, dedicated) => {
        await other.query(
          `INSERT INTO limpet.schedulers
           SELECT 'many-' || i, $2, $3, clock_timestamp() + $3 * interval '1 millisecond',
                  json_build_object('incarnation', 'many-' || i, 'address', i::text)
           FROM generate_series(1, $1) AS i`,
          [count, dedicated, HOUR],
        );
      },
      addMany: async (count) => {
        await other.query(
          `INSERT INTO limpet.members SELECT 'many-' || i, 'n', '', '', 1, '[]' FROM generate_series(1, $1) AS i`,
          [count],
        );
      },
      dispose: async () => {
        await other.end();
        await store.close();
      },
    };
  },
  { modelRuns: 30 },
);

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

describe("coordination on PostgreSQL", { timeout: 600_000 }, () => {
  let url: string;
  let store: Store;
  let somebody: pg.Client;

  before(async () => {
    url = await server.createDatabase();
    store = await openPostgresStore(url);
    somebody = await connect(url);
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

  test("a campaign that waited for the lock sees a scheduler that registered meanwhile", async () => {
    // A statement that read the list before it waited would not see the dedicated scheduler, and the old
    // leader would stay.
    const embedded = newCandidate();
    const { term } = await store.coordination.campaign(embedded);
    await somebody.query("BEGIN; SELECT FROM limpet.leadership FOR UPDATE");
    const campaign = store.coordination.campaign(embedded);
    await waiting(1);
    await somebody.query(
      `INSERT INTO limpet.schedulers VALUES ('big', true, 60000, clock_timestamp() + interval '1 minute',
         '{"incarnation": "big", "address": ""}');
       COMMIT`,
    );
    const { leading, leader, schedulers, ...rest } = await campaign;
    assert.deepEqual([leading, leader, schedulers.length, rest.term], [false, undefined, 2, term]);
    await store.coordination.resign("big");
    await store.coordination.resign(embedded.incarnation);
  });

  test("a member write that waited for the lock is refused when a new term has begun meanwhile", async () => {
    const leader = newCandidate();
    const { term } = await store.coordination.campaign(leader);
    const member = newMember();
    await store.coordination.persist(term, [save(member)]);
    for (const write of [
      () => store.coordination.persist(term, [save({ ...member, types: [] })]),
      () => store.coordination.persist(term, [drop(member.incarnation)]),
    ]) {
      await somebody.query("BEGIN; SELECT FROM limpet.leadership FOR UPDATE");
      const late = persist(write);
      await waiting(1);
      await somebody.query("UPDATE limpet.leadership SET term = term + 1; COMMIT");
      assert.equal(await late, false);
      await somebody.query("UPDATE limpet.leadership SET term = term - 1");
      assert.deepEqual(await store.coordination.members(), [member]);
    }
    await store.coordination.resign(leader.incarnation);
  });

  test("a member that leaves while a write about it waits stays away, and the rest is written", async () => {
    const patient = await openPostgresStore(url, { lockTimeoutMs: 14_000 });
    const leader = newCandidate();
    const { term } = await patient.coordination.campaign(leader);
    const others = await patient.coordination.members();
    const [leaving, staying, dropped, added] = [newMember(), newMember(), newMember(), newMember()];
    await patient.coordination.persist(
      term,
      [leaving, staying, dropped].map((member) => save(member)),
    );
    await somebody.query("BEGIN; SELECT FROM limpet.leadership FOR UPDATE");
    const changed = { ...staying, types: ["New"] };
    const noted = patient.coordination.persist(term, [
      save({ ...leaving, types: ["New"] }, true),
      save(changed, true),
      drop(dropped.incarnation),
      save(added),
    ]);
    await waiting(1);
    await patient.coordination.leave([leaving.incarnation]);
    await waiting(1);
    await somebody.query("COMMIT");
    assert.equal(await noted, true);
    assert.deepEqual(await patient.coordination.members(), [...others, changed, added]);
    await patient.coordination.persist(term, [drop(staying.incarnation), drop(added.incarnation)]);
    await patient.coordination.resign(leader.incarnation);
    await patient.close();
  });

  test("a leader keeps its leadership while every connection of the store is in use", async () => {
    const busy = await openPostgresStore(url, { connections: 8, lockTimeoutMs: 14_000 });
    const leader = newCandidate();
    const { term } = await busy.coordination.campaign(leader);
    const key = actor("alice");
    await somebody.query("BEGIN; LOCK TABLE limpet.actors IN ACCESS EXCLUSIVE MODE");
    const finds = Array.from({ length: 10 }, () => busy.find(key));
    await waiting(3);
    for (let i = 0; i < 20; i++) {
      const kept = await busy.coordination.campaign(leader);
      assert.deepEqual([kept.term, kept.leading], [term, true]);
    }
    await waiting(3);
    await somebody.query("COMMIT");
    await Promise.all(finds);
    await busy.coordination.resign(leader.incarnation);
    await busy.close();
  });

  test("a campaign waits for a lock only within limits, and fails without any effect", async () => {
    const me = newCandidate();
    await somebody.query("BEGIN; SELECT FROM limpet.leadership FOR UPDATE");
    await assert.rejects(store.coordination.campaign(me), { code: "STORE_UNAVAILABLE" });
    assert.equal((await somebody.query("SELECT FROM limpet.schedulers")).rowCount, 0);
    await somebody.query("COMMIT");
    assert.equal((await store.coordination.campaign(me)).leading, true);
    await store.coordination.resign(me.incarnation);
  });

  test("a process of the release before, which sends no seen term, also campaigns in terms of the clock", async () => {
    const { rows } = await somebody.query(
      "SELECT at_term FROM limpet.campaign('old', 'a:1', 'm', 1, true, 60000, 1000, '{}', 1000)",
    );
    assert.ok(Number(rows[0].at_term) >= termAt(Date.now()) - 60);
    await store.coordination.resign("old");
  });

  test("an acknowledged step survives a crash, and the next step needs no help", async () => {
    // Steps that leave the leadership unchanged need not survive, and are repeated by the schedulers
    // themselves.
    const [first, second] = [newDedicated({ leaseMs: HOUR }), newDedicated({ leaseMs: HOUR })];
    const { term } = await persist(() => store.coordination.campaign(first));
    // Leaves little to recover.
    await somebody.query("CHECKPOINT");
    await server.stop("immediate");
    await assert.rejects(store.coordination.campaign(first), { code: "STORE_UNAVAILABLE" });
    await server.start();
    const kept = await persist(() => store.coordination.campaign(first));
    assert.deepEqual([kept.term, kept.leading], [term, true]);
    const other = await store.coordination.campaign(second);
    assert.deepEqual([other.term, other.leading, other.schedulers.length], [term, false, 2]);
    await store.coordination.resign(first.incarnation);
    await server.stop("immediate");
    await server.start();
    const next = await persist(() => store.coordination.campaign(first));
    assert.deepEqual([next.term > term, next.leading], [true, true]);
    await somebody.end().catch(() => undefined);
    somebody = await connect(url);
    await store.coordination.resign(first.incarnation);
    await store.coordination.resign(second.incarnation);
  });

  test("no term has two leaders and acknowledged writes hold when the server goes away under load", async () => {
    const stores = [store, await openPostgresStore(url)];
    const leaders = new Map<number, string>();
    let highest = 0;
    let answers = 0;
    let stopping = false;
    const campaigner = async (number: number) => {
      const me = newCandidate({ leaseMs: 200 });
      while (!stopping) {
        const floor = highest;
        const { term, leading, leader } = await persist(() => stores[number % 2]!.coordination.campaign(me));
        assert.ok(term >= floor);
        highest = Math.max(highest, term);
        if (leader) assert.equal(leaders.get(term) ?? leader.incarnation, leader.incarnation);
        if (leader) leaders.set(term, leader.incarnation);
        if (leading && ++answers % 10 === 0)
          await persist(() => stores[number % 2]!.coordination.resign(me.incarnation));
        await pause(1);
      }
      await persist(() => stores[number % 2]!.coordination.resign(me.incarnation));
    };
    const campaigners = Array.from({ length: 4 }, (_, number) => campaigner(number));
    const failed = Promise.all(campaigners);
    const more = async (count: number) => {
      const goal = answers + count;
      while (answers < goal) await Promise.race([failed, pause(5)]);
    };
    await more(30);
    await server.stop("fast");
    await server.start();
    await more(30);
    stopping = true;
    await failed;
    assert.ok(leaders.size > 3);
    await stores[1]!.close();
    somebody = await connect(url);
  });

  test("a step whose response was lost was applied, and is recognised when it is sent again", async () => {
    await using middleman = await Middleman.before(server.port);
    const detour = new URL(url);
    detour.port = `${middleman.port}`;
    const far = await openPostgresStore(detour.href);
    const me = newDedicated();
    try {
      const { term, leading } = await persist(() => far.coordination.campaign(me));
      assert.ok(leading);
      await far.coordination.resign(me.incarnation);
      middleman.losesAnswers = true;
      await assert.rejects(far.coordination.campaign(me), { code: "STORE_UNAVAILABLE" });
      middleman.losesAnswers = false;
      for (let attempt = 0; ; attempt++) {
        const { rows } = await somebody.query("SELECT term, incarnation FROM limpet.leadership");
        if (rows[0].incarnation === me.incarnation) break;
        assert.ok(attempt < 30_000, "the step never arrived");
      }
      const again = await persist(() => far.coordination.campaign(me));
      assert.deepEqual([again.term > term, again.leading], [true, true]);
      await far.coordination.resign(me.incarnation);
    } finally {
      await far.close();
    }
  });

  test("only taking, keeping and freeing the leadership wait for the disk", async () => {
    const [first, second] = [newDedicated(), newDedicated()];
    await store.coordination.campaign(first);
    await store.coordination.campaign(second);
    /** True if data written since `work` began is on the disk. */
    const flushed = async (work: () => Promise<unknown>) => {
      const lsn = async (which: string) =>
        Number((await somebody.query(`SELECT pg_current_wal_${which}_lsn() - '0/0' AS at`)).rows[0].at);
      const begun = await lsn("insert");
      await work();
      return (await lsn("flush")) > begun;
    };
    for (let i = 0; i < 10; i++) assert.ok(await flushed(() => store.coordination.campaign(first)));
    // The server flushes by itself now and then, so one of many is enough.
    let lazy = false;
    for (let i = 0; i < 100 && !lazy; i++) lazy = !(await flushed(() => store.coordination.campaign(second)));
    assert.ok(lazy, "a step that changes nothing but the list waits for the disk");
    await store.coordination.resign(first.incarnation);
    await store.coordination.resign(second.incarnation);
  });
});
