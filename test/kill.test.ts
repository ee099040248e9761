// kill -9 in the middle of load. Acknowledged increments are stored afterwards; pending ones may be stored,
// once.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { effort } from "./support/effort.ts";
import { HostProcess } from "./support/host-process.ts";
import { Ledger } from "./support/ledger.ts";
import { type Dice, dice } from "./support/seed.ts";
import { type Place, STORES } from "./support/two-stores.ts";

const ROUNDS = effort(2, 5);
const ACTORS = 200;
const LANES = 100;

for (const { name, open } of STORES) {
  describe(`a process that is killed under load, on ${name}`, { timeout: 600_000 }, () => {
    let place: Place;
    before(async () => {
      place = await open();
    });
    after(() => place?.[Symbol.asyncDispose]());

    test("a killed process has lost nothing it acknowledged when it starts again, each time", async (t) => {
      const chance = dice(t);
      const ledger = new Ledger();
      for (let round = 0; round < ROUNDS; round++) {
        await using host = await HostProcess.start(place);
        await killUnderLoad(host, ledger, chance, `again ${round % 2}`);
        await using next = await HostProcess.start(place);
        await ledger.audit(next);
        await next.stop();
      }
      t.diagnostic(`${ledger.acked} acknowledged, ${ledger.count("DIED")} under way when it was killed`);
      assert.ok(ledger.count("DIED") > 0, "every kill came at a moment when nothing was under way");
      assert.deepEqual([...ledger.errors.keys()], ["DIED"], "a process that comes after a dead one waits for nobody");
    });

    test("a killed process is replaced by another running one without waiting", async (t) => {
      const chance = dice(t);
      const ledger = new Ledger();
      await using survivor = await HostProcess.start(place);
      await using host = await HostProcess.start(place);
      await killUnderLoad(host, ledger, chance, "moved");
      for (let i = 0; i < ACTORS; i++) await ledger.add(survivor, actor("moved", i));
      assert.deepEqual([...ledger.errors.keys()], ["DIED"]);
      await using third = await HostProcess.start(place);
      await ledger.audit(third);
    });
  });
}

const actor = (group: string, i: number) => `${group} ${i}`;

/** Kills at a random moment, after at least some acknowledgements. */
async function killUnderLoad(host: HostProcess, ledger: Ledger, chance: Dice, group: string): Promise<void> {
  const enough = ledger.acked + 100 + chance.below(effort(800, 2_000));
  const reached = Promise.withResolvers<void>();
  let dead = false;
  const lane = async (): Promise<void> => {
    while (!dead) {
      if ((await ledger.add(host, actor(group, chance.below(ACTORS)))) === "unknown") return;
      if (ledger.acked >= enough) reached.resolve();
    }
  };
  const lanes = Array.from({ length: LANES }, lane);
  await Promise.race([reached.promise, ...lanes]);
  assert.ok(ledger.acked >= enough, `it ended by itself: ${host.output}`);
  // Not only right after an acknowledgement.
  await pause(chance.below(20));
  dead = true;
  await host.kill();
  await Promise.all(lanes);
}
