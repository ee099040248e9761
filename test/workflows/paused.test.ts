// A worker stops for longer than its lease, with activities in progress and runs in its memory. Its runs
// continue elsewhere meanwhile, after a replay. Its later requests are rejected and nothing counts twice; its
// runs in memory are out of date, and it detects that.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import { errand, outcomeOf, type Plan } from "./errands.ts";
import { Workshop } from "./workshop.ts";

const RUNS = 4;
const WORDS = ["one", "two", "three"];

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`a worker on ${store} that stands still`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("a paused worker is rejected when it continues; its runs continued elsewhere, and are in memory there", async (t) => {
      await using place = await grounds.place();
      await using shop = await Workshop.open(t, place, { lease: "4s", pollInterval: "100ms" });
      const sleeper = await shop.startWorker("sleeper", { cluster: false });
      const plans = new Map<string, Plan>();
      const gate = join(place.folder, "gate");
      const steps = (id: string): Plan => [
        id.startsWith("busy") ? { do: "activity", key: `${id}/a`, until: gate } : { do: "activity", key: `${id}/a` },
        { do: "listen" },
        { do: "activity", key: `${id}/b` },
        { do: "listen" },
        { do: "activity", key: `${id}/c` },
        { do: "listen" },
      ];
      const start = async (id: string): Promise<string> => {
        plans.set(id, steps(id));
        await shop.app.workflows.start(errand, { id, input: { plan: plans.get(id)! } });
        return id;
      };
      const resting = await Promise.all(Array.from({ length: RUNS }, (_, i) => start(`resting-${i}`)));
      for (const id of resting) assert.equal((await shop.rests(id)).stickyWorker, sleeper.workerId);
      const busy = await Promise.all(Array.from({ length: RUNS }, (_, i) => start(`busy-${i}`)));
      for (const id of busy) await shop.until(async () => (await shop.begun(`${id}/a`)).length === 1, `${id} is busy`);
      const all = [...resting, ...busy];
      const send = (word: number): Promise<unknown> =>
        Promise.all(all.map((id) => shop.handle(id).signal("word", WORDS[word])));
      /** Waits until each is idle again, after so many activities. */
      const done = (key: string): Promise<unknown> =>
        Promise.all(
          all.map(async (id) => {
            const ended = async () =>
              (await shop.historyOf(id)).some(
                ({ event }) => event.kind === "ActivityCompleted" && event.result === `activity ${id}/${key}`,
              );
            await shop.until(ended, `${id}/${key} is done`);
            return shop.rests(id);
          }),
        );
      const modes = async (): Promise<(string | undefined)[]> =>
        Promise.all(all.map(async (id) => (await shop.run(id)).task?.mode));
      const owners = async (): Promise<Set<string | undefined>> =>
        new Set(await Promise.all(all.map(async (id) => (await shop.run(id)).stickyWorker)));

      const other = await shop.startWorker("other", { cluster: false });
      await shop.paused(sleeper.host, async () => {
        await writeFile(gate, "");
        await send(0);
        await done("b");
        assert.deepEqual([...(await owners())], [other.workerId], "they have moved");
      });
      for (const id of busy) assert.equal((await shop.begun(`${id}/a`)).length, 2, "begun again elsewhere");
      const late = async () =>
        (await shop.attempts()).filter(
          ({ kind, process, key }) => kind === "end" && process === "sleeper" && key.startsWith("busy"),
        ).length === RUNS;
      await shop.until(late, "it comes to the end of what it had begun");
      await shop.until(async () => (await sleeper.host.metric("limpet_workflows_working")) === 0, "it lets go of it");
      for (const id of all) {
        const of = (await shop.historyOf(id)).filter(({ event }) => event.kind === "ActivityCompleted");
        assert.equal(of.length, 2, `${id}: nothing counts twice`);
      }

      await send(1);
      await done("c");
      assert.deepEqual(
        await modes(),
        all.map(() => "sticky_hit_expected"),
        "stickiness is back, with the other one",
      );
      assert.deepEqual([...(await owners())], [other.workerId]);
      for (const id of all)
        assert.deepEqual(
          (await shop.begun(`${id}/c`)).map(({ process }) => process),
          ["other"],
        );

      // The paused worker's runs in memory are out of date.
      await other.host.leave();
      await send(2);
      for (const id of all) assert.deepEqual(await shop.handle(id).result(), outcomeOf(plans.get(id)!, WORDS));
      await shop.checkHistories();
      const begun = (await shop.attempts()).filter(({ kind }) => kind === "begin");
      t.diagnostic(`${begun.length} attempts at ${all.length * 3} activities`);
      assert.equal(begun.length, all.length * 3 + RUNS, "only what it slept through was done twice");
      shop.finish();
    });
  });
}
