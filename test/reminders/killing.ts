// kill -9 of processes that deliver reminders, at random moments, while others take their place. Every
// reminder fires, none early, and only those hit by a kill may fire twice; changes of state by handlers count
// once. On a machine that is so busy that processes lose leases, they report it, and these reminders may fire
// twice as well.
// REMINDERS=200000 SPREAD_S=60 sets more of them, spread over a longer time, with more kills.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { dice } from "../support/seed.ts";
import type { Place } from "../support/two-stores.ts";
import { Belfry, type Stroke, tickOf } from "./belfry.ts";

const SPREAD_MS = Number(process.env.SPREAD_S ?? 6) * 1_000;
const PROCESSES = 4;
const KILLS = Math.ceil(SPREAD_MS / 1_500);
/** Kills happen in this part of the time, so that some reminders are not affected. */
const FIRST_KILL = 0.8;
const LAST_KILL = 0.4;
/** Most of them are set by then. */
const HEADSTART_MS = 2_000;
const LEASE_MS = 4_000;

export const KILLING_TIMEOUT_MS = SPREAD_MS * 2 + 200_000;

export async function killProcesses(t: TestContext, place: Place, usually: number): Promise<void> {
  const chance = dice(t);
  const count = Number(process.env.REMINDERS ?? usually);
  const short = { pollInterval: "200ms", fetchAhead: "1s", lease: LEASE_MS, batchSize: 200 } as const;
  await using belfry = await Belfry.open(t, place, short);
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
  const rung = await belfry.rung();
  const lost = await belfry.lostLeases();
  const again = await belfry.check(expected);

  const killed = new Set(belfry.kills.map(({ process }) => process));
  const there = again.filter(([first]) => killed.has(first!.process)).length;
  t.diagnostic(
    `${KILLS} kills; of those that fired again ${there} had begun in a process that was killed; ${lost} leases lost`,
  );
  const unexplained = again.filter((times) => !belfry.kills.some(({ at }) => fellInto(at, times)));
  assert.ok(unexplained.length <= lost, `${unexplained.length} fired twice without a kill; ${lost} leases were lost`);
  const kept = [...expected].filter((tick) => tick.startsWith("Chimes/"));
  assert.deepEqual(rung.sort(), kept.sort(), "what a handler does to the state counts with the end of its tick: once");
}

/** A kill at that moment explains a repeated tick: it was in progress, or sent and about to begin. */
const fellInto = (kill: number, [first, second]: readonly Stroke[]): boolean =>
  kill > first!.at - LEASE_MS && kill < second!.at;
