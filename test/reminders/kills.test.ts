// kill -9 of processes that deliver reminders, at random moments, while others take their place. Every reminder fires, none early, and
// only what a kill fell into may fire twice.
//
// REMINDERS=200000 SPREAD_S=60 sets more of them, spread over a longer time, with more kills.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { GROUNDS, type Grounds } from "../support/cluster-places.ts";
import { dice } from "../support/seed.ts";
import { Belfry, type Stroke, tickOf } from "./belfry.ts";

const SPREAD_MS = Number(process.env.SPREAD_S ?? 6) * 1_000;
const COUNTS = { SQLite: 4_000, PostgreSQL: 20_000 };
const PROCESSES = 4;
const KILLS = Math.ceil(SPREAD_MS / 1_500);
/** Kills come while between so much and so much of it is left, so that some reminders are out of their reach. */
const FIRST_KILL = 0.8;
const LAST_KILL = 0.4;
/** Most of them are set by then. */
const HEADSTART_MS = 2_000;
const LEASE_MS = 4_000;

for (const { store, open } of GROUNDS) {
  describe(`reminders on ${store} while processes are killed`, { timeout: SPREAD_MS + 80_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("every one fires, none is early, and twice only what a kill fell into", async (t) => {
      const chance = dice(t);
      const count = Number(process.env.REMINDERS ?? COUNTS[store]);
      await using place = await grounds.place();
      await using belfry = await Belfry.open(t, place, {
        ...{ pollInterval: "200ms", fetchAhead: "1s", lease: LEASE_MS, batchSize: 200 },
      });
      await belfry.startAll(Array.from({ length: PROCESSES }, (_, i) => `first ${i}`));

      const from = Date.now() + HEADSTART_MS;
      const expected = new Set<string>();
      const sets = Array.from({ length: count }, (_, i) => {
        const type = i % 2 === 0 ? "Bell" : "Chimes";
        const [id, name] = [`${i % 997}`, `${i}`];
        expected.add(tickOf({ bell: `${type}/${id}`, name, number: 1 }));
        return belfry.set(type, id, name, { due: new Date(from + chance.below(SPREAD_MS)) });
      });
      await Promise.all(sets);

      for (let kill = 0; kill < KILLS; kill++) {
        const part = (kill + chance.below(100) / 100) / KILLS;
        const left = count * (FIRST_KILL - (FIRST_KILL - LAST_KILL) * part);
        await belfry.until(async () => (await belfry.counts()).all <= left, `only ${left} are left`);
        const victims = belfry.alive;
        const victim = victims[chance.below(victims.length)]!;
        await belfry.kill(victim);
        await belfry.start(`${victim.name}'`);
      }
      await belfry.done();
      const again = await belfry.check(expected);
      const processes = new Set(belfry.kills.map(({ process }) => process));
      t.diagnostic(
        `${belfry.kills.length} kills; ${again.filter(([first]) => processes.has(first!.process)).length} of those that
        fired more than once had begun in a process that was killed`.replaceAll(/\s+/g, " "),
      );
      assert.deepEqual(
        again.filter((times) => !belfry.kills.some((kill) => fellInto(kill.at, times))),
        [],
        "fired twice, and nobody had been killed",
      );
    });
  });
}

/** A kill at that moment explains that the tick began again: it was under way, or sent off and about to begin. */
const fellInto = (kill: number, [first, second]: readonly Stroke[]): boolean =>
  kill > first!.at - LEASE_MS && kill < second!.at;
