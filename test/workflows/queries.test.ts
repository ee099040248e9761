// Queries between processes that share only a store: the queried process does not have the code.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLimpetError, limpet, query, workflow } from "../../src/index.ts";
import { STORES } from "../support/two-stores.ts";

const heard = query<number>("heard");
const counts = workflow("counts", async (ctx): Promise<number> => {
  let n = 0;
  ctx.onQuery(heard, () => n);
  while ((await ctx.signal("go")) !== "end") n++;
  return n;
});

for (const { name, open } of STORES) {
  describe(`a process without the code of a workflow, with ${name}`, { timeout: 600_000 }, () => {
    test("a process without the code gets answers from one that has it, while the run is idle, continues and is over", async () => {
      await using place = await open();
      const common = { store: place.store, cluster: false, logLevel: "error" } as const;
      await using asker = await limpet({ ...common, worker: false });
      const handle = await asker.workflows.start("counts", { id: "c", input: undefined });
      await assert.rejects(handle.query(heard), (error) => isLimpetError(error, "WORKFLOW_TYPE_UNKNOWN"));
      await using worker = await limpet({ ...common, workflows: [counts] });
      assert.equal(await handle.query(heard), 0);
      await handle.signal("go", 1);
      for (let n = 0; n === 0; ) n = await handle.query(heard);
      const { historyEvents } = await handle.describe();
      assert.deepEqual(await Promise.all(Array.from({ length: 20 }, () => handle.query(heard))), Array(20).fill(1));
      assert.equal((await handle.describe()).historyEvents, historyEvents);
      await handle.signal("go", "end");
      assert.equal(await handle.result(), 1);
      assert.equal(await handle.query(heard), 1);
      await worker.stop();
      await assert.rejects(handle.query(heard), (error) => isLimpetError(error, "WORKFLOW_TYPE_UNKNOWN"));
    });
  });
}
