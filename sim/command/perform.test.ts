import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { KIND } from "../../src/world/timeline.ts";
import type { Stage } from "../stage.ts";
import { perform } from "./perform.ts";
import { SMALL_PLAN } from "./small-plan.ts";

const job = { seed: SMALL_PLAN.seed, plan: SMALL_PLAN };

/** Does something in every other run: what must never happen in a run. */
function impure(disturb: (stage: Stage) => void): (stage: Stage) => void {
  let runs = 0;
  return (stage) => {
    if (runs++ % 2 === 1) disturb(stage);
  };
}

describe("a job", () => {
  it("is run twice, and both runs are the same", async () => {
    const { violations, runs, steps, operations, simulatedMs } = await perform(job);
    assert.deepEqual({ violations, runs }, { violations: [], runs: 2 });
    assert.ok(steps > 0 && operations > 0 && simulatedMs >= SMALL_PLAN.chaosMs);
    assert.equal((await perform(job)).trace, (await perform({ ...job, once: true })).trace);
  });

  it("tells what happened, if it is asked to", async () => {
    const { told } = await perform({ ...job, once: true, tells: "coarsely" });
    assert.ok(told.includes("   1.0s host-1   append Ledger/a → 1"), told.join("\n"));
    assert.deepEqual((await perform({ ...job, once: true })).told, []);
  });
});

describe("a run that is not the same the second time", () => {
  it("breaks determinism, and where it does is said", async () => {
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

  it("names the host it was in", async () => {
    const { violations } = await perform(
      job,
      impure((stage) => {
        const setTimer = () => void stage.player("host-2").host.process?.clock.after(100, () => {});
        stage.world.timeline.plan(2_000, KIND.message, undefined, setTimer);
      }),
    );
    assert.match(violations[0]!.what, /a message of the world at 2\.000 s in the other/);
  });

  it("is seen when only what was said differs", async () => {
    const { violations } = await perform(
      job,
      impure((stage) => {
        stage.observers.push({ asked: () => stage.world.timeline.noteText("something else") });
      }),
    );
    assert.match(violations[0]!.what, /a script of the world at 1\.000 s in both, with another result/);
  });
});

describe("an exception that nobody catches", () => {
  /** The test runner takes such exceptions for its own, so this happens in a process without one. */
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
    it(`is a violation of that run, and not the end of the command: ${kind}`, () => {
      const violations = violationsOf(happening);
      assert.equal(violations[0]?.checker, "no exception");
      assert.match(violations[0].what, /planted/);
      assert.equal(violations.length, 1);
    });
  }
});
