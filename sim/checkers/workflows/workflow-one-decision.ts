// Checks that only the holder of a task's lease decides for a run: never two at once, and none after it was
// overtaken. The holder has the whole history, so all of its commands take effect.
import { isCommandEvent, isEnd } from "../../../src/workflows/engine/events.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOfRun, runsOf, type SeenRun } from "./workflow-runs.ts";

export const workflowOneDecision: CheckerKind = {
  name: "one decision per task",
  rule: "a step counts only while its lease is the latest one, and only if nothing was written in between; commands are numbered one by one",
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};
    const decided = new Map<SeenRun, number>();
    const over = new Set<SeenRun>();
    runsOf(stage).watchers.push({
      changed(run, now, batches, cause) {
        if (cause.kind !== "complete" || cause.isAgain) return;
        const { completion, process } = cause;
        const { holder } = run;
        if (cause.outcome.kind === "lost") {
          const isHeld = holder?.token === completion.token && now.task?.state === "leased";
          if (isHeld)
            report(
              `process ${process.number} has the task of ${labelOfRun(run)}, and wrote behind event ${completion.last}`,
            );
          return;
        }
        const hasChanged = batches.length > run.batches.length || now.status !== run.stored.status;
        const who = `process ${process.number} has written to ${labelOfRun(run)}`;
        if (hasChanged && holder?.token !== completion.token) {
          const other = holder === undefined ? "nobody has" : `process ${holder.process.number} has`;
          report(`${who} without the lease on its task, which ${other}`);
        }
        const last = run.batches.at(-1);
        const events = last === undefined ? 0 : last.from + last.count - 1;
        if (hasChanged && completion.last !== events)
          report(`${who} behind event ${completion.last}, and ${events} is its last`);
      },
      claimed(run, process, { lease }, task, now) {
        const { holder } = run;
        if (holder !== undefined && holder.until > now) {
          const left = `which process ${holder.process.number} has for ${holder.until - now} ms more`;
          report(`process ${process.number} was given the task of ${labelOfRun(run)}, ${left}`);
        }
        if (run.stored.status !== "running") report(`the task of ${labelOfRun(run)}, which is over, was given away`);
        if (holder?.token === lease.token) report(`two claims of ${labelOfRun(run)} have the same token ${task.token}`);
      },
      added(run, { event, number }) {
        const who = `event ${number} of ${labelOfRun(run)}, ${event.kind},`;
        if (over.has(run)) report(`${who} stands behind its end`);
        if (event.kind === "WorkflowTerminated" || event.kind === "WorkflowTimedOut") over.add(run);
        if (!isCommandEvent(event)) return;
        const before = decided.get(run) ?? 0;
        if (event.n !== before + 1) report(`${who} is decision ${event.n}, and ${before} is the one before it`);
        decided.set(run, event.n);
        if (isEnd(event)) over.add(run);
      },
    });
    return {};
  },
};
