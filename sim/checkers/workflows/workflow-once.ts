// Checks that every start creates one run or none, that one run of a workflow is open at a time, and that a
// run that continues as new has one successor.
import { LimpetError } from "../../../src/kernel/errors.ts";
import type { Started } from "../../../src/workflows/engine/events.ts";
import type { DeedOperation, Observer, Operation } from "../../observer.ts";
import type { ScriptInput } from "../../scripts.ts";
import type { Checker, CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";
import { labelOfRun, RunChecker, type RunWatcher, type SeenRun } from "./workflow-runs.ts";

type Outcome = Operation["outcome"];

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
  make: (stage, report) => (stage.plan.workflows === undefined ? {} : new WorkflowOnce(stage, report)),
};

class WorkflowOnce extends RunChecker implements Checker, RunWatcher {
  began(run: SeenRun): void {
    const { namespace, workflowId, start } = run;
    const before = this.runs.of(namespace, workflowId).at(-2);
    const started = `${labelOfRun(run)} was started`;
    if (before !== undefined && start !== undefined) {
      const { status } = before.stored;
      const isKept =
        start.ifClosed === "keep" || (start.ifClosed === "start unless completed" && status === "completed");
      if (isKept && status !== "continued") this.report(`${started} although a run before it is ${status}`);
    }
    void this.#store.list({ namespace, workflowId, status: "running", limit: 10 }).then((open) => {
      if (open.length > 1) this.report(`${started}, and ${open.length} runs of it are open`);
    });
  }

  /**
   * The commit of a turn stores the workflows that the turn starts. A fenced commit starts none, whatever
   * error its caller gets.
   */
  committed(...[, commit, key, outcome]: Parameters<NonNullable<Observer["committed"]>>): void {
    if (!this.runs.cameToNothing(commit, outcome)) return;
    for (const start of commit.starts ?? []) {
      void this.#store.find(start).then((run) => {
        if (run !== undefined)
          this.report(`a turn of ${labelOf(key)} was ${outcome}, and has started ${labelOfRun(run)}`);
      });
    }
  }

  healed(): void {
    const first = this.#firstRuns();
    for (const [word, all] of first) {
      if (all.length > 1) this.report(`${word} has started ${all.map(labelOfRun).join(" and ")}`);
    }
    for (const operation of this.stage.deeds) this.#checkStart(operation, first.get(operation.token)?.[0]);
    for (const operation of this.stage.operations) this.#checkTurn(operation, first.get(operation.token)?.[0]);
    for (const run of this.runs.all) this.#checkOrigin(run);
    for (const run of this.runs.all) this.#checkSuccessor(run);
  }

  /** Runs by the word of their start; continued runs do not count again. */
  #firstRuns(): Map<string, SeenRun[]> {
    const firsts = [...this.runs.all].filter((run) => startedOf(run)?.continuedFrom === undefined);
    return Map.groupBy(firsts, (run) => wordOf(run));
  }

  #checkStart({ token, planned, acceptedAt, runId, outcome }: DeedOperation, run: SeenRun | undefined): void {
    if (planned.deed.kind !== "start") return;
    const isMine = acceptedAt !== undefined && planned.deed.ifRunning !== "existing";
    if (isMine && run?.runId !== runId) this.report(`${token} got ${runId} as its own run, and that is ${run?.runId}`);
    if (acceptedAt !== undefined || !isRefused(outcome) || run === undefined) return;
    const { error } = outcome as { error: unknown };
    this.report(`${token} was refused, ${error}, and has started ${labelOfRun(run)}`);
  }

  /** The turn of an actor that starts a workflow. */
  #checkTurn({ token, call, outcome }: Operation, run: SeenRun | undefined): void {
    if (call.how.starts === undefined) return;
    if (outcome !== undefined && "value" in outcome && run === undefined)
      this.report(`the turn of ${token} is stored, and its workflow is not`);
    if (isUnknown(outcome)) this.report(`the turn of ${token} got the error that its process has no workflows`);
    if (isRefused(outcome) && run !== undefined)
      this.report(`the turn of ${token} came to nothing, and it has started ${labelOfRun(run)}`);
  }

  #checkOrigin(run: SeenRun): void {
    const from = startedOf(run)?.continuedFrom;
    if (from === undefined) return;
    const before = this.runs.byRunId.get(from);
    if (before?.stored.status !== "continued")
      this.report(`${labelOfRun(run)} goes on from ${from}, which is ${before?.stored.status}`);
  }

  #checkSuccessor(run: SeenRun): void {
    if (run.stored.status !== "continued") return;
    const next = [...this.runs.all].filter((one) => startedOf(one)?.continuedFrom === run.runId);
    if (next.length !== 1) this.report(`${labelOfRun(run)} goes on as ${next.length} runs`);
  }

  get #store() {
    return this.stage.world.database.truth.workflows;
  }
}
