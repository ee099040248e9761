import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndedRun, Workflows } from "../../ports/store/workflows.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { EndWatch } from "./end-watch.ts";

const DONE = { status: "completed", result: "{}" } as const;

function watch(ends: EndedRun[] = []) {
  const clock = new VirtualClock();
  const store = { watchEnds: async () => ends } as unknown as Workflows;
  return { clock, ends: new EndWatch(clock, store, () => false) };
}

test("a caller that waits for a run does not receive the end of another run with the same ref", async () => {
  const { ends } = watch();
  const lost = ends.wait(7, "alice");
  const other = ends.wait(7, "bob");
  ends.ended(7, "bob", DONE);
  await assert.rejects(lost, { code: "WORKFLOW_UNKNOWN", message: /does not have run alice any more/ });
  assert.deepEqual(await other, DONE);
});

test("a run that the store reports under the ref of a lost one is another run", async () => {
  const { clock, ends } = watch([{ ref: 7, runId: "bob", ...DONE }]);
  const lost = assert.rejects(ends.wait(7, "alice"), { code: "WORKFLOW_UNKNOWN" });
  await clock.advance("5s");
  await lost;
});
