import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { KIND } from "../../src/world/timeline.ts";
import type { Stage } from "../stage.ts";
import { perform } from "./perform.ts";
import { SMALL_PLAN } from "./small-plan.ts";

const job = { seed: SMALL_PLAN.seed, plan: SMALL_PLAN };

/** Disturbs every other run, which must never happen in a real one. */
function impure(disturb: (stage: Stage) => void): (stage: Stage) => void {
  let runs = 0;
  return (stage) => {
    if (runs++ % 2 === 1) disturb(stage);
  };
}

describe("a job of the simulator", () => {
  it("a job runs twice, and both runs are equal", async () => {
    const { violations, runs, steps, operations, simulatedMs } = await perform(job);
    assert.deepEqual({ violations, runs }, { violations: [], runs: 2 });
    assert.ok(steps > 0 && operations > 0 && simulatedMs >= SMALL_PLAN.chaosMs);
    assert.equal((await perform(job)).trace, (await perform({ ...job, once: true })).trace);
  });

  it("a job reports its story on request", async () => {
    const { story } = await perform({ ...job, once: true, detail: "coarsely" });
    assert.ok(story.includes("   1.0s host-1   append Ledger/a → 1"), story.join("\n"));
    assert.deepEqual((await perform({ ...job, once: true })).story, []);
  });
});

describe("a run that differs the second time", () => {
  it("a run that differs breaks determinism, and the report contains the place", async () => {
    const { violations } = await perform(
      job,
      impure((stage) => {
        stage.world.timeline.plan(1_234, KIND.script, undefined, () => {});
      }),
    );
    assert.deepEqual(
      violations.map(({ checker }) => checker),
      ["determinism"],
    );
    assert.match(violations[0]!.what, /from step \d+ on: .*a script of the world at 1\.234 s in the other/);
  });

  it("a report about determinism names the host of the difference", async () => {
    const { violations } = await perform(
      job,
      impure((stage) => {
        const setTimer = () => void stage.player("host-2").host.process?.clock.after(100, () => {});
        stage.world.timeline.plan(2_000, KIND.message, undefined, setTimer);
      }),
    );
    assert.match(violations[0]!.what, /a message of the world at 2\.000 s in the other/);
  });

  it("a difference in the log alone is detected", async () => {
    const { violations } = await perform(
      job,
      impure((stage) => {
        stage.observers.push({ asked: () => stage.world.timeline.noteText("something else") });
      }),
    );
    assert.match(violations[0]!.what, /a script of the world at 1\.000 s in both, with another result/);
  });
});

describe("an uncaught exception", () => {
  /** The test runner handles uncaught exceptions itself, so this happens in a process without one. */
  function violationsOf(happening: string): { checker: string; what: string }[] {
    const script = `
      import { perform } from "./perform.ts";
      import { SMALL_PLAN as plan } from "./small-plan.ts";
      const { violations } = await perform({ seed: 1, plan }, (stage) => {
        stage.world.timeline.plan(1_000, 7, undefined, () => { ${happening} });
      });
      console.log(JSON.stringify(violations));
    `;
    const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: join(import.meta.dirname),
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout);
  }

  for (const [kind, happening] of [
    ["a rejected promise", `void Promise.reject(new Error("planted"));`],
    ["a throwing callback", `queueMicrotask(() => { throw new Error("planted"); });`],
    ["a throwing step", `throw new Error("planted");`],
  ] as const) {
    it(`an uncaught exception is a violation of its run, and does not end the command: ${kind}`, () => {
      const violations = violationsOf(happening);
      assert.equal(violations[0]?.checker, "no exception");
      assert.match(violations[0].what, /planted/);
      assert.equal(violations.length, 1);
    });
  }
});
