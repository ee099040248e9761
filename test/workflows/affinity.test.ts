// Runs in memory when their worker stays, dies, or is followed by one without a cache: a run completes with
// the same result each time, and only its way into memory differs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { groundsFor } from "../support/cluster-places.ts";
import { errand, outcomeOf, type Plan } from "./errands.ts";
import { Workshop } from "./workshop.ts";

const RUNS = 4;
const KEYS = ["a", "b", "c", "d", "e"];

const planOf = (id: string): Plan => KEYS.flatMap((key) => [{ do: "activity", key: `${id}/${key}` }, { do: "listen" }]);

for (const { store, open } of groundsFor("SQLite")) {
  test(`workflow runs on ${store} stay with their worker while it lives, and continue without it when it does not`, {
    timeout: 600_000,
  }, async (t) => {
    await using grounds = await open();
    await using place = await grounds.place();
    await using shop = await Workshop.open(t, place, { lease: "6s", pollInterval: "100ms" });
    const ids = Array.from({ length: RUNS }, (_, i) => `errand-${i}`);
    const owner = await shop.startWorker("owner", { cluster: false });
    for (const id of ids) await shop.app.workflows.start(errand, { id, input: { plan: planOf(id) } });

    /**
     * Waits until all of them are idle after that activity; returns how they came into memory, their worker,
     * and the worker of the activity.
     */
    const behind = async (key: string) => {
      const done = await Promise.all(
        ids.map(async (id) => {
          const isDone = async (): Promise<boolean> =>
            (await shop.historyOf(id)).some(
              ({ event }) => event.kind === "ActivityCompleted" && event.result === `activity ${id}/${key}`,
            );
          await shop.until(isDone, `${id}/${key} is done`);
          const { task, stickyWorker } = await shop.rests(id);
          return {
            mode: task?.mode,
            owner: stickyWorker,
            by: (await shop.begun(`${id}/${key}`)).map((one) => one.process),
          };
        }),
      );
      return done;
    };
    const all = (mode: string, owner: string | undefined, by: string) => ids.map(() => ({ mode, owner, by: [by] }));
    const send = () => Promise.all(ids.map((id) => shop.handle(id).signal("word", "on")));

    assert.deepEqual(await behind("a"), all("cold_replay", owner.workerId, "owner"), "nobody had them before");
    const heir = await shop.startWorker("heir", { cluster: false });
    await send();
    assert.deepEqual(await behind("b"), all("sticky_hit_expected", owner.workerId, "owner"), "kept for who has them");
    await owner.host.kill();
    await send();
    assert.deepEqual(
      await behind("c"),
      all("forced_cold_replay", heir.workerId, "heir"),
      "it is not heard of any more",
    );
    await send();
    assert.deepEqual(await behind("d"), all("sticky_hit_expected", heir.workerId, "heir"), "warm again");
    await heir.host.leave();
    await shop.start("forgetful", { cluster: false, worker: { sticky: false } });
    await send();
    const last = await behind("e");
    assert.deepEqual(
      last.map(({ by }) => by),
      ids.map(() => ["forgetful"]),
    );
    for (const { mode } of last) assert.match(mode!, /^(forced_)?cold_replay$/, "nobody has anything in memory");
    await send();
    const words = KEYS.map(() => "on");
    for (const id of ids) assert.deepEqual(await shop.handle(id).result(), outcomeOf(planOf(id), words));
    await shop.checkHistories();
    t.diagnostic(`${last.map(({ mode }) => mode).join(", ")} at the worker that keeps nothing`);
    shop.finish();
  });
}
