// Frequency of sweeps for idle actors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Actor, type ActorClass } from "../index.ts";
import { testLimpet, VirtualClock } from "../testing.ts";

class Player extends Actor {
  static options = { placement: "sticky" as const };
  ping() {
    return 1;
  }
}
class Visitor extends Actor {
  ping() {
    return 1;
  }
}

/** Counts the timers that are set. */
class CountingClock extends VirtualClock {
  timers = 0;
  override after(...args: Parameters<VirtualClock["after"]>): ReturnType<VirtualClock["after"]> {
    this.timers++;
    return super.after(...args);
  }
}

const figure = (text: string, name: string, type: string): number =>
  Number(new RegExp(`^${name}\\{[^}]*type="${type}"[^}]*\\} (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN);

test("days with a sticky actor in memory take no more steps than days without", async () => {
  const steps: number[] = [];
  for (const type of [Player, Visitor] as ActorClass<Visitor>[]) {
    const clock = new CountingClock();
    await using app = await testLimpet({ actors: [Player, Visitor], clock });
    await app.actor(type, "a").ping();
    const before = clock.timers;
    await app.advance("3d");
    steps.push(clock.timers - before);
  }
  // Every ten minutes for three days, plus the timers of the rest of the process.
  assert.ok(steps[0]! < 3 * 24 * 6 + 2 * steps[1]!, `${steps}`);
});

test("an actor that leaves when it is idle does so in time beside one that stays", async () => {
  await using app = await testLimpet({ actors: [Player, Visitor], idleTimeout: "10m" });
  const resident = (): number[] =>
    ["Player", "Visitor"].map((type) => figure(app.metrics(), "limpet_actors_active", type));
  await app.actor(Player, "a").ping();
  await app.advance("9m");
  await app.actor(Visitor, "b").ping();
  await app.advance("9m");
  assert.deepEqual(resident(), [1, 1]);
  await app.advance("1m10s");
  assert.deepEqual(resident(), [1, 0]);
  assert.equal(figure(app.metrics(), "limpet_idle_deactivations_skipped_total", "Player"), 1);
});
