// Checks that a history grows only at its end, by events of a request, and that the numbers of its events
// have no gaps.
import type { CheckerKind } from "../checker.ts";
import { type Cause, labelOfRun, runsOf, type SeenRun, type StoredBatch } from "./workflow-runs.ts";

/** The batch of events that a request adds, if any. */
function batchOf(run: SeenRun, cause: Cause): string | undefined {
  switch (cause.kind) {
    case "start":
      return run.batches.length === 0 ? cause.start.first.data : undefined;
    case "complete":
      return cause.outcome.kind === "done" && !cause.isAgain ? cause.completion.batch?.data : undefined;
    case "close":
      return cause.isDone ? cause.closing.batch.data : undefined;
    default:
      return undefined;
  }
}

export const workflowHistory: CheckerKind = {
  name: "workflow history",
  rule: "a history changes only by appending at its end, and its numbers have no gaps",
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};

    function check(run: SeenRun, batches: readonly StoredBatch[], cause: Cause): void {
      const who = `${labelOfRun(run)}, after ${cause.kind}`;
      const changed = run.batches.findIndex(({ data }, i) => batches[i]?.data !== data);
      if (changed >= 0) report(`${who}: what was page ${changed + 1} of the history is something else`);
      const fresh = batches.slice(run.batches.length);
      const expected = batchOf(run, cause);
      if (fresh.length > 1) report(`${who}: the history has grown by ${fresh.length} pages at once`);
      else if (fresh.length === 1 && fresh[0]!.data !== expected)
        report(`${who}: the history has grown by events of no task: ${fresh[0]!.data}`);
      else if (fresh.length === 0 && expected !== undefined)
        report(`${who}: the written events are not there: ${expected}`);
      let next = 1;
      for (const { from, count } of batches) {
        if (from !== next) report(`${who}: a page begins with event ${from}, and ${next} is next`);
        next = from + count;
      }
    }

    runsOf(stage).watchers.push({
      changed(run, now, batches, cause) {
        check(run, batches, cause);
        const last = batches.at(-1);
        const events = last === undefined ? 0 : last.from + last.count - 1;
        if (now.events !== events)
          report(`${labelOfRun(run)} counts ${now.events} events, and its pages have ${events}`);
      },
    });
    return {};
  },
};
