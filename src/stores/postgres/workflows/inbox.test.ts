// Messages to runs that end in the same moment: none of them stays in the inbox.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { startPostgres, type TestServer } from "../../../../test/support/postgres.ts";
import type { Store } from "../../../ports/store/store.ts";
import { batchOf, closeAs, Site } from "../../contract/workflows-shared.contract.ts";
import { openPostgresStore } from "../postgres-store.ts";

describe("inboxes of runs on PostgreSQL", () => {
  let server: TestServer;
  let store: Store;
  let sender: pg.Client;
  let admin: pg.Client;

  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    store = await openPostgresStore(url, { lockTimeoutMs: 20_000, statementTimeoutMs: 30_000 });
    [sender, admin] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })];
    await sender.connect();
    await admin.connect();
  });
  after(async () => {
    await sender?.end();
    await admin?.end();
    await store?.close();
    await server?.dispose();
  });

  /**
   * A message is committed while `end` waits for the row of the task. Returns the number of messages that are
   * left.
   */
  async function deliverDuring(ref: number, end: () => Promise<unknown>): Promise<number> {
    await sender.query("BEGIN");
    await sender.query("UPDATE limpet.workflow_tasks SET arrived = arrived + 1 WHERE ref = $1", [ref]);
    await sender.query("INSERT INTO limpet.workflow_inbox (ref, number, key, data) VALUES ($1, 1, 'late', 'x')", [ref]);
    const ending = end();
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'limpet'";
    for (let tries = 0; (await admin.query(waiting)).rowCount === 0; tries++) {
      assert.ok(tries < 3_000, "the end of the run waits for the delivery");
      await pause(5);
    }
    await sender.query("COMMIT");
    await ending;
    const { rowCount } = await admin.query("SELECT FROM limpet.workflow_inbox WHERE ref = $1", [ref]);
    return rowCount ?? 0;
  }

  test("a message that commits while the last step of its run waits does not stay in the inbox", async () => {
    const it = new Site(store);
    const held = await it.leased("a");
    const complete = async () => {
      const outcome = await it.complete(held, { batch: batchOf("end"), outcome: closeAs() });
      assert.equal(outcome.kind, "done");
    };
    assert.equal(await deliverDuring(held.ref, complete), 0);
  });

  test("a message that commits while its run is terminated does not stay in the inbox", async () => {
    const it = new Site(store);
    const { ref } = await it.leased("b");
    const close = async () => assert.equal(await it.workflows.close(it.closing("b")), true);
    assert.equal(await deliverDuring(ref, close), 0);
  });
});
