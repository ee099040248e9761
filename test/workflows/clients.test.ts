// A process without workers has everything of workflows but their code: it starts, signals and updates runs
// elsewhere, and gets their results. Here the worker is killed and replaced between the request and the
// answer as well.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import { errand, outcomeOf, type Plan } from "./errands.ts";
import { Workshop } from "./workshop.ts";

const MANY = 50;

for (const { store, open } of groundsFor("SQLite")) {
  describe(`a process without workers, on ${store}`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("a process without workers gets results and answers of runs elsewhere, whichever worker has them in the end", async (t) => {
      await using place = await grounds.place();
      await using shop = await Workshop.open(t, place, { lease: "1s", pollInterval: "100ms" });
      const { workflows } = shop.app;
      const planOf = (id: string): Plan => [
        { do: "activity", key: `${id}/a` },
        { do: "listen" },
        { do: "activity", key: `${id}/b` },
        { do: "anew" },
        { do: "listen" },
      ];
      const ids = Array.from({ length: MANY }, (_, i) => `errand-${i}`);
      const handles = await Promise.all(
        ids.map((id) => workflows.start(errand, { id, input: { plan: planOf(id) }, attributes: { kind: "many" } })),
      );
      // Requested before there is a worker.
      const results = Promise.all(handles.map((handle) => handle.result()));
      results.catch(() => {});
      assert.equal(await workflows.count({ attributes: { kind: "many" }, status: "running" }), MANY);
      const first = await shop.start("first", { cluster: false });
      const asked = await workflows.start(errand, { id: "asked", input: { plan: [{ do: "updates", count: 2 }] } });
      assert.equal(await asked.update("tell", "told"), "activity told");
      await Promise.all(ids.map((id) => shop.handle(id).signal("word", "one")));
      await first.kill();
      const update = asked.update("tell", "told later");
      update.catch(() => {});
      await shop.start("second", { cluster: false });
      await Promise.all(ids.map((id) => shop.handle(id).signal("word", "two")));
      for (const [i, result] of (await results).entries()) {
        assert.deepEqual(result, outcomeOf(planOf(ids[i]!), ["one", "two"]), ids[i]);
      }
      assert.equal(await update, "activity told later");
      assert.deepEqual(await asked.result(), ["2 updates"]);
      assert.equal(await workflows.count({ attributes: { kind: "many" }, status: "completed" }), MANY);
      assert.equal(await workflows.count({ status: "continued" }), MANY);
      await shop.checkHistories();
      shop.finish();
    });
  });
}
