// The released Python SDK runs workflows against a host: selections, memos, local activities, cancellation
// with a cleanup, and responses of the control plane. Each scenario is a function of sdk_features.py, which
// prints its result.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { limpet } from "../../src/index.ts";
import { Command } from "../support/command.ts";
import { findPython } from "../support/tools.ts";
import { tempPlace } from "../support/two-stores.ts";

const SCRIPT = fileURLToPath(import.meta.resolve("./sdk_features.py"));

interface ScenarioResult {
  readonly name: string;
  readonly result?: unknown;
  readonly error?: string;
}

const EXPECTED: Readonly<Record<string, unknown>> = {
  health: "serving",
  select: ["quick", "activity", "quick", true, "after"],
  select_rest: [1, "timer", "late", "group", [1, 2]],
  select_failure: ["broken", false, true, "child", "child c"],
  select_condition: [true, ["WorkflowStarted"]],
  memo: [{ count: 7, ratio: 7, stage: "sent" }, "done"],
  local: ["local k", 3, true, "remote k", "again k", 1, 3],
  local_only: "alone",
  export: ["local exported", "ok", [], "CompleteWorkflow"],
  listing: [["listed"], 0, true],
  busy: ["busy", ["ada"]],
  cancel: [
    ...[false, true, true, "cancelled"],
    [
      ...["WorkflowStarted", "ActivityScheduled", "ActivityCompleted", "ActivityScheduled"],
      ...["CooperativeCancellationRequested", "CooperativeCancellationDelivered"],
      ...["ActivityScheduled", "ActivityCompleted", "TimerScheduled", "TimerFired", "WorkflowCancelled"],
    ],
  ],
  cancel_waiting: ["ended", "left early"],
  cancel_before_it_began: ["ended", "left early"],
  cancel_stuck: ["cancelled", ["CancelRequested", "WorkflowCancelled"]],
  cancel_unable: [true, "cancelled", ["WorkflowStarted", "TimerScheduled", "CancelRequested", "WorkflowCancelled"]],
};

/** Runs all scenarios once, against one host. */
async function runScenarios(python: string): Promise<ReadonlyMap<string, ScenarioResult>> {
  await using place = await tempPlace();
  const settings = { store: place.store, cluster: false, logLevel: "error" } as const;
  await using app = await limpet({ ...settings, http: { port: 0 } });
  await using script = new Command(place.folder, [python, "-B", SCRIPT, app.url!]);
  await script.ended();
  const lines = script.stdout.split("\n").filter((line) => line !== "");
  const results = lines.map((line) => JSON.parse(line) as ScenarioResult);
  assert.ok(results.length > 0, `nothing was printed: ${script.stderr.slice(-2_000)}`);
  return new Map(results.map((each) => [each.name, each]));
}

describe("the released Python SDK", { timeout: 600_000 }, async () => {
  const found = await findPython();
  const results = "python" in found ? runScenarios(found.python) : undefined;
  results?.catch(() => {});
  for (const [name, expected] of Object.entries(EXPECTED)) {
    it(`the Python SDK gets the expected result of scenario ${name}`, async (t: TestContext) => {
      if ("missing" in found) return t.skip(found.missing);
      const scenario = (await results)!.get(name);
      assert.deepEqual(scenario?.error ?? scenario?.result, expected);
    });
  }
});
