// Checks that no wake-up is lost: an event that has arrived at a run and is not in its history makes the task
// ready, or reaches the holder of the task.
import type { CheckerKind } from "../checker.ts";
import { labelOfRun, runsOf } from "./workflow-runs.ts";

export const workflowWakeUps: CheckerKind = {
  name: "no lost wake-up",
  rule: "the task of a run is not idle while an unprocessed event waits",
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};
    runsOf(stage).watchers.push({
      moved(run, cause) {
        const { task } = run.stored;
        if (task?.state !== "idle" || task.arrived <= task.taken) return;
        report(`${labelOfRun(run)} rests after ${cause.kind}, and ${task.arrived - task.taken} messages wait for it`);
      },
    });
    return {};
  },
};
