// Checks that every start creates one run or none, that one run of a workflow is open at a time, and that a
// run that continues as new has one successor.
import { LimpetError } from "../../../src/kernel/errors.ts";
import type { Started } from "../../../src/workflows/engine/events.ts";
import type { ScriptInput } from "../../scripts.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";
import { labelOfRun, runsOf, type SeenRun } from "./workflow-runs.ts";

type Outcome = { readonly value: unknown } | { readonly error: unknown } | undefined;

/** The caller got a definite failure. */
function isRefused(outcome: Outcome): boolean {
  if (outcome === undefined || !("error" in outcome)) return false;
  return !(outcome.error instanceof LimpetError) || outcome.error.retry !== "unknown";
}

/** Every process has workflows on before its first actor is active, so this error is never expected. */
const isUnknown = (outcome: Outcome): boolean =>
  outcome !== undefined && "error" in outcome && String(outcome.error).includes("has no workflows");

const startedOf = ({ events }: SeenRun): Started | undefined => events[0]?.event as Started | undefined;
const wordOf = (run: SeenRun): string => (startedOf(run)?.input as ScriptInput | undefined)?.word ?? "";

export const workflowOnce: CheckerKind = {
  name: "workflows once",
  rule: "every start has one run or none, as its caller was informed; a fenced turn has started none; one run of a workflow is open at a time",
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};
    const runs = runsOf(stage);
    const store = stage.world.database.truth.workflows;

    runs.watchers.push({
      began(run) {
        const { namespace, workflowId, start } = run;
        const before = runs.of(namespace, workflowId).at(-2);
        const who = `${labelOfRun(run)} was started`;
        if (before !== undefined && start !== undefined) {
          const { status } = before.stored;
          const isKept =
            start.ifClosed === "keep" || (start.ifClosed === "start unless completed" && status === "completed");
          if (isKept && status !== "continued") report(`${who} although a run before it is ${status}`);
        }
        void store.list({ namespace, workflowId, status: "running", limit: 10 }).then((open) => {
          if (open.length > 1) report(`${who}, and ${open.length} runs of it are open`);
        });
      },
    });

    /** Runs by the word of their start; continued runs do not count again. */
    function firstRuns(): Map<string, SeenRun[]> {
      const firsts = [...runs.all].filter((run) => startedOf(run)?.continuedFrom === undefined);
      return Map.groupBy(firsts, (run) => wordOf(run));
    }

    function checkChains(): void {
      for (const run of runs.all) {
        const from = startedOf(run)?.continuedFrom;
        if (from === undefined) continue;
        const before = runs.byRunId.get(from);
        if (before === undefined || before.stored.status !== "continued")
          report(`${labelOfRun(run)} goes on from ${from}, which is ${before?.stored.status}`);
      }
      for (const run of runs.all) {
        if (run.stored.status !== "continued") continue;
        const next = [...runs.all].filter((one) => startedOf(one)?.continuedFrom === run.runId);
        if (next.length !== 1) report(`${labelOfRun(run)} goes on as ${next.length} runs`);
      }
    }

    return {
      /**
       * The commit of a turn stores the workflows that the turn starts. A fenced commit starts none, whatever
       * error its caller gets.
       */
      committed(_process, commit, key, outcome) {
        if (!runs.cameToNothing(commit, outcome)) return;
        for (const start of commit.starts ?? []) {
          void store.find(start).then((run) => {
            if (run !== undefined)
              report(`a turn of ${labelOf(key)} was ${outcome}, and has started ${labelOfRun(run)}`);
          });
        }
      },
      healed() {
        const first = firstRuns();
        for (const [word, all] of first) {
          if (all.length > 1) report(`${word} has started ${all.map(labelOfRun).join(" and ")}`);
        }
        for (const { token, planned, acceptedAt, runId, outcome } of stage.deeds) {
          if (planned.deed.kind !== "start") continue;
          const [run] = first.get(token) ?? [];
          const isMine = acceptedAt !== undefined && planned.deed.ifRunning !== "existing";
          if (isMine && run?.runId !== runId)
            report(`${token} was told that run ${runId} is its own, and it is ${run?.runId}`);
          if (acceptedAt === undefined && isRefused(outcome) && run !== undefined)
            report(
              `${token} was refused, ${(outcome as { error: unknown }).error}, and has started ${labelOfRun(run)}`,
            );
        }
        for (const { token, call, outcome } of stage.operations) {
          if (call.how.starts === undefined) continue;
          const [run] = first.get(token) ?? [];
          if (outcome !== undefined && "value" in outcome && run === undefined)
            report(`the turn of ${token} is stored, and what it started is not`);
          if (isUnknown(outcome)) report(`the turn of ${token} was told that there are no workflows where it ran`);
          if (isRefused(outcome) && run !== undefined)
            report(`the turn of ${token} came to nothing, and it has started ${labelOfRun(run)}`);
        }
        checkChains();
      },
    };
  },
};
