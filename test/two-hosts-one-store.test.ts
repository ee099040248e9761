// Two processes that run alone, and so know nothing of each other, call the same actors on one store. The
// process that took an actor last may commit; the other one is fenced, and detects it before it has
// acknowledged anything.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { effort } from "./support/effort.ts";
import { HostProcess } from "./support/host-process.ts";
import { Ledger } from "./support/ledger.ts";
import { type Dice, dice } from "./support/seed.ts";
import { type Place, STORES } from "./support/two-stores.ts";

const INCREMENTS = effort(4_000, 10_000);
const ACTORS = 40;
/** Concurrent calls from each side; now and then several wait for the same actor. */
const LANES = 30;

for (const { name, open } of STORES) {
  describe(`two processes on ${name}`, { timeout: 600_000 }, () => {
    let place: Place;
    before(async () => {
      place = await open();
    });
    after(() => place?.[Symbol.asyncDispose]());

    test("the older activation is fenced, its caller may retry at once, and then sees the changes of the newer one", async () => {
      await using one = await HostProcess.start({ ...place, alone: true });
      await using two = await HostProcess.start({ ...place, alone: true });
      assert.equal(await one.add("a", "first"), 1);
      assert.equal(await two.add("a", "second"), 2);
      await assert.rejects(one.add("a", "third"), { code: "FENCED", retry: "now" });
      assert.equal(await one.add("a", "third"), 3);
      await assert.rejects(two.add("a", "fourth"), { code: "FENCED" });
      assert.deepEqual(await two.report("a"), { n: 3, seen: ["first", "second", "third"], again: [] });
      assert.equal(await two.version("a"), 3);
    });

    test("increments from both sides add up: none is lost, none is applied twice", async (t) => {
      await using one = await HostProcess.start({ ...place, alone: true });
      await using two = await HostProcess.start({ ...place, alone: true });
      const hosts = [one, two];
      const ledger = new Ledger();
      const chance = dice(t);
      await Promise.all(hosts.map((host) => load(host, ledger, chance)));

      assert.equal(ledger.acked, INCREMENTS);
      assert.equal(ledger.unknown, 0, "with a store that answers, every outcome is known");
      const fenced = await Promise.all(hosts.map((host) => host.counter("limpet_commits_fenced_total")));
      t.diagnostic(`${fenced.join(" + ")} times fenced for ${INCREMENTS} increments`);
      assert.equal(fenced[0]! + fenced[1]!, ledger.count("FENCED"));
      for (const times of fenced) assert.ok(times > 0, "nobody was fenced: they did not meet");

      await Promise.all(hosts.map((host) => host.stop()));
      await using third = await HostProcess.start({ ...place, alone: true });
      await ledger.audit(third);
    });

    test("long turns get through from both sides, although each side takes the actor from the other", async (t) => {
      await using one = await HostProcess.start({ ...place, alone: true });
      await using two = await HostProcess.start({ ...place, alone: true });
      const ledger = new Ledger();
      const lane = async (host: HostProcess): Promise<void> => {
        for (let i = 0; i < 10; i++) await ledger.add(host, "slow", "addSlowly");
      };
      // On each side a call always waits, so that an actor that was taken away is taken back at once.
      await Promise.all([one, two, one, two, one, two].map(lane));
      t.diagnostic(`${ledger.count("FENCED")} times fenced for ${ledger.acked} increments`);
      assert.ok(ledger.count("FENCED") < 12 * ledger.acked, "they keep each other from committing");
      await using third = await HostProcess.start({ ...place, alone: true });
      await ledger.audit(third);
    });
  });
}

/** One side's half of the increments. */
async function load(host: HostProcess, ledger: Ledger, chance: Dice): Promise<void> {
  let left = INCREMENTS / 2;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await ledger.add(host, `actor ${chance.below(ACTORS)}`);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
