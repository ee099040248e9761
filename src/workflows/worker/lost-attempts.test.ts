import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { silentLog } from "../../ports/log.ts";
import type { ClaimedTask, TaskReturn } from "../../ports/store/workflows.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { checkAttempts, Suspects } from "./lost-attempts.ts";

const task = (ref: number, lost: number): ClaimedTask => ({
  namespace: "n",
  workflowId: `w-${ref}`,
  runId: `r-${ref}`,
  ref,
  type: "order",
  token: `t-${ref}`,
  attempt: lost + 1,
  lost,
  mode: "cold_replay",
  pinned: undefined,
  last: 1,
  taken: 0,
  delivered: 0,
});

function scene(maxLost = 3) {
  const clock = new VirtualClock();
  const returned: TaskReturn[] = [];
  const giveBack = async (batch: readonly TaskReturn[]): Promise<boolean[]> => {
    returned.push(...batch);
    return batch.map(() => true);
  };
  const suspects = new Suspects(maxLost, { clock, log: silentLog, store: { giveBack } });
  const admit = async (...tasks: ClaimedTask[]) => (await suspects.admit("w", tasks)).map(({ ref }) => ref);
  return { clock, returned, suspects, admit };
}

describe("suspects among claimed tasks", () => {
  it("a worker begins one suspect and all other tasks, and returns the other suspects without a problem", async () => {
    const { admit, returned } = scene();
    assert.deepEqual(await admit(task(1, 0), task(2, 2), task(3, 1), task(4, 0), task(5, 1)), [1, 3, 4]);
    assert.deepEqual(
      returned.map(({ ref, problem }) => [ref, problem]),
      [
        [5, undefined],
        [2, undefined],
      ],
    );
    assert.ok(returned[0]!.pauseMs < returned[1]!.pauseMs);
  });

  it("the next suspect waits until the first one has written a step or was returned", async () => {
    const { admit, suspects } = scene();
    assert.deepEqual(await admit(task(1, 1)), [1]);
    assert.deepEqual(await admit(task(2, 1)), []);
    suspects.passed("w", 7);
    assert.deepEqual(await admit(task(2, 1)), []);
    suspects.passed("w", 1);
    assert.deepEqual(await admit(task(2, 1)), [2]);
  });

  it("a suspect that is silent for long does not delay the others", async () => {
    const { admit, clock } = scene();
    assert.deepEqual(await admit(task(1, 1)), [1]);
    await clock.advance(10_000);
    assert.deepEqual(await admit(task(2, 1)), [2]);
  });

  it("a task that is to be parked is no suspect: its code does not run", async () => {
    const { admit } = scene();
    assert.deepEqual(await admit(task(1, 3), task(2, 4), task(3, 1)), [1, 2, 3]);
  });

  it("a task at the limit is parked with the reason, and a task below it continues", () => {
    checkAttempts(task(1, 2), 3);
    assert.throws(
      () => checkAttempts(task(1, 3), 3),
      (error) => isLimpetError(error, "WORKFLOW_ATTEMPTS_LOST") && /w-1 --wake/.test(error.message),
    );
  });
});
