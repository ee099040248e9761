// Checks that the server runs the statements of reminders by the intended index, regardless of its
// statistics. Also checks that the cost of a claim does not depend on unrelated rows.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { commitAny, commitReminders } from "../actors/commit.ts";
import { Connections, type Statement } from "../connection/connections.ts";
import type { PostgresSettings } from "../connection/settings.ts";
import { type Plan, PlanServer } from "../plan-kit.test.ts";
import { claimReminders, PostgresReminderClaims } from "./claims.ts";
import { findLostMarks } from "./holders.ts";
import { areDue, countReminders, forgetReminder, getReminder, listReminders, reviveReminder } from "./listing.ts";
import { countDead, LowMarks, type Mark, sweepBelow } from "./low-marks.ts";
import { queueOf } from "./queue.ts";
import { type Manner, readHeld, type SettlementKind, settleReminders } from "./settlements.ts";
import { setReminders, writeReminders } from "./writes.ts";

const SCHEMA = `"limpet"`;
const BEGINNING: Mark = { at: Number.MIN_SAFE_INTEGER, generation: 0 };
const PAGES = [
  { namespace: "n", limit: 10 },
  { namespace: "n", type: "T", limit: 10 },
  { namespace: "n", type: "T", id: "5", limit: 10 },
  { namespace: "n", after: { type: "T", id: "5", name: "x" }, limit: 10 },
  { namespace: "n", type: "T", after: { type: "T", id: "5", name: "x" }, limit: 10 },
];
const KINDS: SettlementKind[] = ["done", "next", "release", "dead", "renew"];
const MANNERS: Manner[] = ["patient", "free"];

const KEYS = /^(dead_)?reminders_(namespace_type_id_name_key|pkey)$/;
const DUE = /^reminders_due$/;
const ANY = /./;
/** Rows are found while they are inserted, which is not part of the plan. */
const NONE = undefined;

/** Each statement, and the index that may find its rows of reminders. */
const ours = (): [Statement, RegExp | undefined][] => [
  [claimReminders(SCHEMA, false), DUE],
  [claimReminders(SCHEMA, true), DUE],
  [sweepBelow(SCHEMA), DUE],
  [findLostMarks(SCHEMA), DUE],
  [writeReminders(SCHEMA), KEYS],
  [setReminders(SCHEMA), NONE],
  [getReminder(SCHEMA), KEYS],
  [reviveReminder(SCHEMA), KEYS],
  [forgetReminder(SCHEMA), KEYS],
  [readHeld(SCHEMA), /^reminders_pkey$/],
  // The names find the types, and the time finds the due rows.
  [countReminders(SCHEMA), ANY],
  [areDue(SCHEMA), ANY],
  [commitAny(SCHEMA), /^(actors|actor_parts)_pkey$/],
  [commitReminders(SCHEMA), /^(actors|actor_parts|reminders|dead_reminders)_(pkey|namespace_type_id_name_key)$/],
  ...KINDS.flatMap((kind) =>
    MANNERS.map((manner): [Statement, RegExp] => [settleReminders(SCHEMA, kind, manner), /^reminders_pkey$/]),
  ),
  ...[true, false].flatMap((isBrief) =>
    PAGES.flatMap((page): [Statement, RegExp][] => [
      [listReminders(SCHEMA, "reminders", { ...page, isBrief }).statement, KEYS],
      [listReminders(SCHEMA, "dead_reminders", { ...page, isBrief }).statement, KEYS],
    ]),
  ),
];

describe("statements of reminders on PostgreSQL", () => {
  let place: PlanServer;
  let settings: PostgresSettings;
  let client: pg.Client;

  before(async () => {
    place = await PlanServer.start();
    ({ settings, client } = place);
  });
  after(() => place?.[Symbol.asyncDispose]());

  async function checkPlans(): Promise<void> {
    for (const [statement, index] of ours()) {
      for (const { "Index Name": found, "Index Cond": condition } of await place.scansOf(statement, index)) {
        assert.ok(condition !== undefined, `${statement.name} reads all of ${found}`);
        if (found === "reminders_due") assert.match(condition, /queue = /, statement.name);
      }
    }
  }

  const fill = (type: string, count: number, at: string, name = "tick") =>
    client.query(
      `INSERT INTO limpet.reminders (generation, queue, at, due, number, attempt, leased_until, is_new, namespace, type, id,
                                     name, schedule)
       SELECT nextval('limpet.reminder_generations'), $1, ${at}, 0, 1, 0, 0, false, 'n', $2, i::text, $3, 's'
       FROM generate_series(1, ${count}) AS i`,
      [queueOf("n", type), type, name],
    );

  /** Pages that a claim of a hundred rows of `types` visits, from `low` on. It is rolled back. */
  async function cost(types: readonly string[], low = BEGINNING): Promise<number> {
    const { text } = claimReminders(SCHEMA, types.length > 1);
    const queues = types.map((type) => queueOf("n", type));
    const [lows, generations] = [types.map(() => low.at), types.map(() => low.generation)];
    const values = ["n", types, queues, lows, 100, 1_000, 10_000, "t", true, generations, []];
    await client.query("BEGIN");
    // Values replace the parameters: EXPLAIN of a prepared statement would not run it.
    const filled = text.replace(/\$(\d+)/g, (_, n) => {
      const value = values[Number(n) - 1]!;
      return Array.isArray(value) ? `'{${value.join(",")}}'` : typeof value === "string" ? `'${value}'` : `${value}`;
    });
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${filled}`);
    await client.query("ROLLBACK");
    const plan = rows[0]["QUERY PLAN"][0].Plan as Plan;
    return (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
  }

  test("statements of reminders find their rows by the right index in empty tables, before and after ANALYZE", async () => {
    await checkPlans();
    await client.query("ANALYZE limpet.reminders, limpet.dead_reminders, limpet.actors, limpet.actor_parts");
    await checkPlans();
  });

  test("statements of reminders find their rows by the right index in a full table, before and after ANALYZE", async () => {
    await fill("T", 100_000, "i");
    await checkPlans();
    await client.query("ANALYZE limpet.reminders");
    await checkPlans();
  });

  test("statements of reminders find their rows by the right index when the statistics are out of date", async () => {
    await client.query("UPDATE limpet.reminders SET token = 'x', leased_until = 1");
    await client.query("VACUUM ANALYZE limpet.reminders");
    await client.query("UPDATE limpet.reminders SET token = id, leased_until = generation");
    await checkPlans();
    await client.query("TRUNCATE limpet.reminders");
    await checkPlans();
  });

  test("a claim costs the same, however many reminders of other types are due, now or later", async () => {
    await client.query("TRUNCATE limpet.reminders");
    await fill("Few", 50, "i");
    await fill("Others", 50, "i");
    const alone = [await cost(["Few"]), await cost(["Few", "Others"])];
    await fill("Crowd", 100_000, "i");
    await fill("Later", 100_000, "4000000000000 + i");
    await fill("Few", 0, "i");
    await client.query(
      `UPDATE limpet.reminders SET type = 'Few', queue = $1, id = 'later ' || id WHERE type = 'Later' AND at % 2 = 0`,
      [queueOf("n", "Few")],
    );
    const among = [await cost(["Few"]), await cost(["Few", "Others"])];
    for (const i of [0, 1]) assert.ok(among[i]! < alone[i]! + 60, `${among} pages instead of ${alone}`);
  });

  test("a check for dead processes does not read a whole backlog", async () => {
    await client.query("TRUNCATE limpet.reminders");
    await fill("T", 30_000, "i");
    const { text } = findLostMarks(SCHEMA);
    const values = ["'n'", "'{T}'", `'{${queueOf("n", "T")}}'`, `'{${BEGINNING.at}}'`, "1000", "'{0}'"];
    const filled = text.replace(/\$(\d+)/g, (_, n) => values[Number(n) - 1]!);
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${filled}`);
    const plan = rows[0]["QUERY PLAN"][0].Plan as Plan;
    const pages = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
    assert.ok(pages < 500, `${pages} pages`);
  });

  for (const [what, apartMs] of [
    ["dead rows that vacuum cannot remove yet", 1],
    ["dead rows of the same millisecond as live rows", 0],
  ] as const) {
    test(`a claim with its low mark does not read ${what}`, async () => {
      await client.query("TRUNCATE limpet.reminders");
      const now = Date.now();
      const moment = (ms: number) => (apartMs > 0 ? `${now + ms} + i` : `${now - 60_000}`);
      await fill("T", 50, moment(500));
      const alone = await cost(["T"]);
      const old = new pg.Client(settings.driver);
      await old.connect();
      await old.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM limpet.reminders");
      const connections = new Connections(settings, settings.driver, 2);
      const lows = new LowMarks(connections, SCHEMA, 10_000);
      const claims = new PostgresReminderClaims(connections, SCHEMA, lows);
      const claim = () =>
        claims.claim({ namespace: "n", types: ["T"], limit: 10, aheadMs: 60_000, leaseMs: 60_000, token: "t" });
      await fill("T", 30_000, moment(-60_000), "gone");
      await client.query("DELETE FROM limpet.reminders WHERE name <> 'gone'");
      await fill("T", 50, moment(500));
      await client.query("UPDATE limpet.reminders SET leased_until = 0");
      await client.query("DELETE FROM limpet.reminders WHERE name = 'gone'");
      await client.query("VACUUM limpet.reminders");
      const hindered = await cost(["T"]);
      assert.ok(hindered > 5 * alone, "there is nothing in the way");
      await client.query("SELECT pg_stat_force_next_flush()");
      await lows.look();
      assert.deepEqual(lows.of("n", ["T"]), { areUsed: true, marks: [BEGINNING], stragglers: 0 });
      // The first claim from the beginning finds the first live row.
      assert.equal((await claim()).reminders.length, 10);
      const [mark] = lows.of("n", ["T"]).marks;
      const helped = await cost(["T"], mark);
      assert.ok(helped < hindered / 3, `${helped} pages instead of ${hindered}, and ${alone} when nothing was gone`);
      await old.query("ROLLBACK");
      await old.end();
      await connections.close();
    });
  }

  test("the statistics contain the number of dead rows", async () => {
    const { rows } = await client.query(countDead(SCHEMA).text);
    assert.ok(Number(Object.values(rows[0])[0]) > 10_000);
  });

  test("reminders that were set together are leased together by HOT updates", async () => {
    await client.query("TRUNCATE limpet.reminders");
    const rows = () =>
      client.query(
        "SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'reminders'",
      );
    await fill("T", 20_000, "i");
    await client.query("SELECT pg_stat_force_next_flush()");
    const before = (await rows()).rows[0];
    const connections = new Connections(settings, settings.driver, 1);
    const lows = new LowMarks(connections, SCHEMA);
    const claims = new PostgresReminderClaims(connections, SCHEMA, lows);
    const request = { namespace: "n", types: ["T"], limit: 1_000, aheadMs: 0, leaseMs: 60_000 };
    for (let i = 0; i < 20; i++) {
      const { reminders } = await claims.claim({ ...request, token: "a token as long as they are: 36 chars" });
      assert.equal(reminders.length, 1_000);
    }
    // The connection reports its statistics when it ends.
    await connections.close();
    for (let all = 0; all < 20_000; ) all = (await rows()).rows[0].all - before.all;
    const hot = (await rows()).rows[0].hot - before.hot;
    assert.ok(hot > 0.85 * 20_000, `${hot} of 20000`);
  });
});
