// PostgreSQL is stopped in the middle, once in an orderly way and once as in a crash, while processes deliver
// reminders. Nothing is lost, early or given up, and the processes continue by themselves.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type StopMode, startPostgres, type TestServer } from "../support/postgres.ts";
import { dice } from "../support/seed.ts";
import { tempPlace } from "../support/two-stores.ts";
import { Belfry, tickOf } from "./belfry.ts";

const COUNT = 1_500;
const SPREAD_MS = 5_000;
const HEADSTART_MS = 500;
/** Longer than a lease of reminders. */
const OUTAGE_MS = 2_500;

describe("reminders while PostgreSQL is restarted", { timeout: 600_000 }, () => {
  let server: TestServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.dispose());

  for (const mode of ["fast", "immediate"] satisfies StopMode[]) {
    const how = mode === "fast" ? "stopped in good order" : "crashed";
    test(`nothing is lost, early or given up when PostgreSQL is ${how}, and all processes continue`, async (t) => {
      const chance = dice(t);
      await using temp = await tempPlace();
      const place = { ...temp, store: await server.createDatabase() };
      const short = { pollInterval: "200ms", fetchAhead: "600ms", lease: "2s" } as const;
      await using belfry = await Belfry.open(t, place, short);
      const hosts = await belfry.startAll(["one", "two", "three"]);
      const expected = new Set<string>();
      const from = Date.now() + HEADSTART_MS;
      const set = (i: number, moment: number): Promise<void> => {
        const [type, id, name] = [i % 2 === 0 ? "Bell" : "Chimes", `${i % 97}`, `${i}`];
        for (const number of [1, 2]) expected.add(tickOf({ bell: `${type}/${id}`, name, number }));
        return belfry.set(type, id, name, { due: new Date(moment), every: "1s", times: 2, missed: "all" });
      };
      await Promise.all(Array.from({ length: COUNT }, (_, i) => set(i, from + chance.below(SPREAD_MS))));
      await belfry.until(async () => (await belfry.counts()).all < COUNT * 0.8, "a fifth of them are over");

      await server.stop(mode);
      const begun = (await belfry.begun()).length;
      await pause(OUTAGE_MS);
      t.diagnostic(`${(await belfry.begun()).length - begun} began while it was away`);
      await server.start();

      await belfry.done();
      // Processes that ran all the time still get notifications of new reminders.
      await set(COUNT, Date.now() + 100);
      await belfry.done();
      assert.equal(belfry.alive.length, hosts.length, "none of them had to be started again");
      const again = await belfry.check(expected);
      const attempts = again.flat().filter(({ attempt }) => attempt > 1).length;
      t.diagnostic(`${attempts} further attempts`);
    });
  }
});
