// Checks that every result in a history follows its command, comes once, and equals the value that the
// activity or child returned.
import type { CommandEvent, ExternalEvent } from "../../../src/workflows/engine/events.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOfRun, runsOf, type SeenEvent, type SeenRun } from "./workflow-runs.ts";

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
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};
    const runs = runsOf(stage);
    const known = new Map<SeenRun, Known>();

    function checkAnswer(
      run: SeenRun,
      news: Extract<ExternalEvent, { of: number }>,
      { decisions, answered }: Known,
      who: string,
    ) {
      const decision = decisions.get(news.of);
      const fitting = ANSWERS[news.kind] ?? [];
      if (decision === undefined) report(`${who} names decision ${news.of}, which was not made`);
      else if (!fitting.includes(decision.kind)) report(`${who} names decision ${news.of}, which is ${decision.kind}`);
      const before = answered.get(news.of);
      if (before !== undefined) report(`${who} comes for decision ${news.of}, of which ${before} has come before`);
      if (!MORE.has(news.kind)) answered.set(news.of, news.kind);
      if (news.kind === "ActivityCompleted" && decision?.kind === "ActivityScheduled") checkWork(run, news, who);
      if (news.kind === "ChildRunCompleted") checkChild(run, news, who);
    }

    function checkWork({ runId }: SeenRun, { of, result }: { of: number; result: unknown }, who: string): void {
      const records = runs.activities.get(`${runId}:${of}`) ?? [];
      const record = records.find((one) => one.run.result === result);
      if (record === undefined) report(`${who} is ${result}, and no attempt at it has given that`);
      else if (!record.isDone) report(`${who} is ${result}, and that attempt has not come to its end`);
    }

    /** The result is delivered in the step in which the child ends; the child may continue as new before. */
    function checkChild({ runId }: SeenRun, { of, result }: { of: number; result: unknown }, who: string): void {
      const first = runs.byRunId.get(`${runId}-${of}`);
      const chain = first === undefined ? [] : runs.of(first.namespace, first.workflowId);
      const isTrue = chain.some(({ events }) =>
        events.some(({ event }) => {
          return event.kind === "WorkflowCompleted" && JSON.stringify(event.result) === JSON.stringify(result);
        }),
      );
      if (!isTrue) report(`${who} is not what its child has given`);
    }

    function check(run: SeenRun, { event, at, number }: SeenEvent): void {
      const mine = known.get(run) ?? { decisions: new Map(), answered: new Map(), ids: new Set(), at: 0 };
      known.set(run, mine);
      const who = `event ${number} of ${labelOfRun(run)}, ${event.kind},`;
      if (number === 1 && event.kind !== "WorkflowStarted") report(`${who} is the first`);
      if (number > 1 && event.kind === "WorkflowStarted") report(`${who} is not the first`);
      const isFromOutside = event.kind === "WorkflowTerminated" || event.kind === "WorkflowTimedOut";
      if (at < mine.at && !isFromOutside) report(`${who} is of ${at}, and what stands before it of ${mine.at}`);
      mine.at = Math.max(mine.at, at);
      if ("n" in event) mine.decisions.set(event.n, event);
      else if ("of" in event) checkAnswer(run, event, mine, who);
      if (event.kind === "TimerFired") {
        const timer = mine.decisions.get(event.of);
        if (timer?.kind === "TimerScheduled" && at < timer.at) report(`${who} comes ${timer.at - at} ms too early`);
      }
      if (event.kind === "SignalReceived" || event.kind === "UpdateAccepted") {
        if (mine.ids.has(event.id)) report(`${who} has the id ${event.id} of another one`);
        mine.ids.add(event.id);
      }
    }
    runs.watchers.push({ added: check });
    return {
      activityBegan({ runId, key, process: { number } }) {
        const run = runs.byRunId.get(runId);
        const decision = run && known.get(run)?.decisions.get(Number(key.slice(key.lastIndexOf(":") + 1)));
        if (decision?.kind !== "ActivityScheduled")
          report(`process ${number} begins activity ${key}, and the history has ${decision?.kind ?? "nothing"} there`);
      },
    };
  },
};
