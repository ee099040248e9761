// Checks that every result in a history follows its command, comes once, and equals the value that the
// activity or child returned.
import type { CommandEvent, ExternalEvent } from "../../../src/workflows/engine/events.ts";
import type { ActivityRun } from "../../observer.ts";
import type { Checker, CheckerKind } from "../checker.ts";
import { labelOfRun, RunChecker, type RunWatcher, type SeenEvent, type SeenRun } from "./workflow-runs.ts";

const ANSWERS: { readonly [kind: string]: readonly CommandEvent["kind"][] } = {
  ActivityCompleted: ["ActivityScheduled", "ActorCalled"],
  ActivityFailed: ["ActivityScheduled", "ActorCalled"],
  ActivityTimedOut: ["ActivityScheduled"],
  ActivityCancelled: ["ActivityScheduled"],
  ActivityRetryScheduled: ["ActivityScheduled"],
  TimerFired: ["TimerScheduled"],
  ChildRunCompleted: ["ChildWorkflowScheduled"],
  ChildRunFailed: ["ChildWorkflowScheduled"],
};

/** More events about the same command follow these. */
const MORE: ReadonlySet<string> = new Set(["ActivityRetryScheduled"]);

interface Known {
  readonly decisions: Map<number, CommandEvent>;
  readonly answered: Map<number, string>;
  readonly ids: Set<string>;
  at: number;
}

export const workflowCausality: CheckerKind = {
  name: "workflow causality",
  rule: "a result follows its command, comes once, not before its time, and from the worker that ran it",
  make: (stage, report) => (stage.plan.workflows === undefined ? {} : new WorkflowCausality(stage, report)),
};

class WorkflowCausality extends RunChecker implements Checker, RunWatcher {
  readonly #known = new Map<SeenRun, Known>();

  added(run: SeenRun, { event, at, number }: SeenEvent): void {
    const mine = this.#known.get(run) ?? { decisions: new Map(), answered: new Map(), ids: new Set(), at: 0 };
    this.#known.set(run, mine);
    const label = `event ${number} of ${labelOfRun(run)}, ${event.kind},`;
    if (number === 1 && event.kind !== "WorkflowStarted") this.report(`${label} is the first`);
    if (number > 1 && event.kind === "WorkflowStarted") this.report(`${label} is not the first`);
    const isFromOutside = event.kind === "WorkflowTerminated" || event.kind === "WorkflowTimedOut";
    if (at < mine.at && !isFromOutside) this.report(`${label} is of ${at}, and the event before it of ${mine.at}`);
    mine.at = Math.max(mine.at, at);
    if ("n" in event) mine.decisions.set(event.n, event);
    else if ("of" in event) this.#checkAnswer(run, event, mine, label);
    if (event.kind === "TimerFired") {
      const timer = mine.decisions.get(event.of);
      if (timer?.kind === "TimerScheduled" && at < timer.at)
        this.report(`${label} comes ${timer.at - at} ms too early`);
    }
    if (event.kind === "SignalReceived" || event.kind === "UpdateAccepted") {
      if (mine.ids.has(event.id)) this.report(`${label} has the id ${event.id} of another one`);
      mine.ids.add(event.id);
    }
  }

  activityBegan({ runId, key, process: { number } }: ActivityRun): void {
    const run = this.runs.byRunId.get(runId);
    const decision = run && this.#known.get(run)?.decisions.get(Number(key.slice(key.lastIndexOf(":") + 1)));
    if (decision?.kind === "ActivityScheduled") return;
    const found = decision?.kind ?? "nothing";
    this.report(`process ${number} begins activity ${key}, and the history has ${found} there`);
  }

  #checkAnswer(
    run: SeenRun,
    answer: Extract<ExternalEvent, { of: number }>,
    { decisions, answered }: Known,
    label: string,
  ): void {
    const { of, kind } = answer;
    const decision = decisions.get(of);
    const fitting = ANSWERS[kind] ?? [];
    if (decision === undefined) this.report(`${label} names decision ${of}, which was not made`);
    else if (!fitting.includes(decision.kind)) this.report(`${label} names decision ${of}, which is ${decision.kind}`);
    const before = answered.get(of);
    if (before !== undefined) this.report(`${label} comes for decision ${of}, of which ${before} has come before`);
    if (!MORE.has(kind)) answered.set(of, kind);
    if (answer.kind === "ActivityCompleted" && decision?.kind === "ActivityScheduled")
      this.#checkWork(run, answer, label);
    if (answer.kind === "ChildRunCompleted") this.#checkChild(run, answer, label);
  }

  #checkWork({ runId }: SeenRun, { of, result }: { of: number; result: unknown }, label: string): void {
    const records = this.runs.activities.get(`${runId}:${of}`) ?? [];
    const record = records.find((one) => one.run.result === result);
    if (record === undefined) this.report(`${label} is ${result}, and no attempt at it has given that`);
    else if (!record.isDone) this.report(`${label} is ${result}, and that attempt has not come to its end`);
  }

  /** The result is delivered in the step in which the child ends; the child may continue as new before. */
  #checkChild({ runId }: SeenRun, { of, result }: { of: number; result: unknown }, label: string): void {
    const first = this.runs.byRunId.get(`${runId}-${of}`);
    const chain = first === undefined ? [] : this.runs.of(first.namespace, first.workflowId);
    const isTrue = chain.some(({ events }) =>
      events.some(({ event }) => {
        return event.kind === "WorkflowCompleted" && JSON.stringify(event.result) === JSON.stringify(result);
      }),
    );
    if (!isTrue) this.report(`${label} is not the result of its child`);
  }
}
