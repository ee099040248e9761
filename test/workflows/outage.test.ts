// PostgreSQL is stopped in the middle, once in an orderly way and once as in a crash, while workers run
// workflows and clients start, signal and update them. Every run ends as planned, and no process has to
// restart.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type StopMode, startPostgres, type TestServer } from "../support/postgres.ts";
import { dice } from "../support/seed.ts";
import { tempPlace } from "../support/two-stores.ts";
import { runErrands } from "./killing.ts";
import { Workshop } from "./workshop.ts";

const COUNT = 100;
/** Longer than a lease. */
const OUTAGE_MS = 1_500;

describe("workflows while PostgreSQL is restarted", { timeout: 600_000 }, () => {
  let server: TestServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.dispose());

  for (const mode of ["fast", "immediate"] satisfies StopMode[]) {
    const how = mode === "fast" ? "stopped in good order" : "crashed";
    test(`all workflows end as planned when PostgreSQL is ${how}, and all processes continue`, async (t) => {
      await using temp = await tempPlace();
      const place = { ...temp, store: await server.createDatabase() };
      await using shop = await Workshop.open(t, place, { lease: "1s", pollInterval: "200ms" });
      const hosts = await shop.startAll(["one", "two"]);
      await runErrands(t, shop, dice(t), COUNT, async (untilOver) => {
        await untilOver(COUNT / 5);
        await server.stop(mode);
        await pause(OUTAGE_MS);
        await server.start();
      });
      assert.equal(shop.alive.length, hosts.length, "none of them had to be started again");
      shop.finish();
    });
  }
});
