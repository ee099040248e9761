// Coverage of workflows: situations that a long run must reach; see coverage.ts.
import { isLimpetError } from "../../src/kernel/errors.ts";
import type { Commit, CommitVerdict } from "../../src/ports/store/store.ts";
import type { RunStart, StartOutcome } from "../../src/ports/store/workflows.ts";
import { type Cause, runsOf, type SeenEvent, type SeenRun } from "../checkers/workflows/workflow-runs.ts";
import type { ActivityRun, DeedOperation, Observer } from "../observer.ts";
import type { Stage } from "../stage.ts";

export const WORKFLOW_COVERAGE = {
  "workflow: warm": "a task came back to the worker that has its run in memory",
  "workflow: cold": "a task was assigned to a worker that has to replay, and no worker had its run in memory",
  "workflow: forced cold": "a task was assigned to another worker than the one that had its run in memory",
  "workflow: forgotten": "a worker had to replay a run that it was expected to have in memory",
  "workflow: evicted": "a run left the memory of its worker for lack of capacity",
  "workflow: begun where it was started": "a run was stored together with its first step",
  "workflow: picked up after a lease": "a task with an ended lease was assigned",
  "workflow: held by an ended process": "a process ended that had leases on tasks",
  "workflow: released": "a worker released a task that it had not completed",
  "workflow: a step too late": "a step was rejected as too late",
  "workflow: a step repeated": "a step was sent again, and had been applied the first time",
  "workflow: ready again at rest":
    "something arrived while a worker wrote a step, and the task was ready in the same moment",
  "workflow: started again": "a start was sent again, and had been applied the first time",
  "workflow: refused": "a workflow was not started because there was one already",
  "workflow: unknown whether started": "a client got an unknown outcome for a start",
  "workflow: replaced": "an open run was ended for another one of the same workflow",
  "workflow: pinned to a build": "a task was assigned to a worker of the build that its run is pinned to",
  "workflow: worked twice": "an attempt at an activity was made twice, because the first worker did not report it",
  "workflow: queued": "an activity waited in a queue for a worker that has it",
  "workflow: tried again": "an activity failed, and was tried again later",
  "workflow: took too long": "an activity was given up because it took too long",
  "workflow: gave up": "an activity failed for the last time",
  "workflow: called an actor": "a workflow got an answer of an actor",
  "workflow: continued as new": "a run continued as new",
  "workflow: handed over": "a signal was seen by a later run than the one at which it arrived",
  "workflow: child ended": "a run got the result of a child",
  "workflow: child failed": "a child ended without a result",
  "workflow: parent ended first": "a child was asked to end because its parent had",
  "workflow: signalled by another": "a run was signalled by another run",
  "workflow: updated": "an update was done",
  "workflow: update refused": "an update was refused",
  "workflow: cancelled": "a run was cancelled by a client",
  "workflow: cleaned up": "a run ran a cleanup after its cancellation",
  "workflow: terminated": "a run was terminated",
  "workflow: timed out": "a run was ended because it took too long",
  "workflow: started by a turn": "a workflow was started by the commit of a turn",
  "workflow: signalled by a turn": "a workflow was signalled by the commit of a turn",
  "workflow: start fenced": "a turn started a workflow, and its commit was fenced",
  "workflow: signal fenced": "a turn signalled a workflow, and its commit was fenced",
  "workflow: result received": "a client waited for the end of a workflow and got its result",
  "workflow: queried": "a client got an answer to a query",
} as const satisfies Record<string, string>;

type WorkflowSituation = keyof typeof WORKFLOW_COVERAGE;

const BY_MODE = {
  sticky_hit_expected: "workflow: warm",
  cold_replay: "workflow: cold",
  forced_cold_replay: "workflow: forced cold",
} as const satisfies Record<string, WorkflowSituation>;

const BY_EVENT: { readonly [kind: string]: WorkflowSituation } = {
  ActivityRetryScheduled: "workflow: tried again",
  ActivityTimedOut: "workflow: took too long",
  ActivityFailed: "workflow: gave up",
  WorkflowContinuedAsNew: "workflow: continued as new",
  ChildRunCompleted: "workflow: child ended",
  ChildRunFailed: "workflow: child failed",
  UpdateCompleted: "workflow: updated",
  UpdateRejected: "workflow: update refused",
  WorkflowCancelled: "workflow: cancelled",
  WorkflowTerminated: "workflow: terminated",
  WorkflowTimedOut: "workflow: timed out",
};

/** Statistics that a worker stores. */
interface About {
  readonly misses?: number;
  readonly evictions?: number;
}

export class WorkflowCoverage implements Observer {
  readonly #stage: Stage;
  readonly #attempts = new Set<string>();
  readonly #runIds = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
    if (stage.plan.workflows === undefined) return;
    runsOf(stage).watchers.push({
      claimed: ({ holder, build }, _process, _request, { mode }) => {
        this.#stage.reach(BY_MODE[mode]);
        if (holder !== undefined) this.#stage.reach("workflow: picked up after a lease");
        if (build !== undefined) this.#stage.reach("workflow: pinned to a build");
      },
      began: (run) => this.#began(run),
      moved: (run, cause) => this.#moved(run, cause),
      added: (run, event) => this.#added(run, event),
    });
  }

  #began({ namespace, workflowId, start, events }: SeenRun): void {
    if (start?.lease !== undefined) this.#stage.reach("workflow: begun where it was started");
    const before = runsOf(this.#stage).of(namespace, workflowId).at(-2);
    const isReplaced = before?.stored.status === "terminated" && events.length === 0;
    if (isReplaced) this.#stage.reach("workflow: replaced");
  }

  #moved({ stored }: SeenRun, cause: Cause): void {
    if (cause.kind === "give back" && cause.counted && cause.back.problem === undefined)
      this.#stage.reach("workflow: released");
    if (cause.kind !== "complete") return;
    if (cause.outcome.kind === "lost") this.#stage.reach("workflow: a step too late");
    else if (cause.isAgain) this.#stage.reach("workflow: a step repeated");
    else if (cause.completion.outcome.kind === "rest" && stored.task?.state === "ready") {
      this.#stage.reach("workflow: ready again at rest");
    }
  }

  #added(run: SeenRun, { event }: SeenEvent): void {
    const mark = BY_EVENT[event.kind];
    if (mark !== undefined) this.#stage.reach(mark);
    if (event.kind === "ActivityScheduled" && event.eager !== true) this.#stage.reach("workflow: queued");
    if (event.kind === "CancelRequested" && event.reason.startsWith("its parent"))
      this.#stage.reach("workflow: parent ended first");
    if (event.kind === "ActivityScheduled" && JSON.stringify(event.input).includes("/cleaning"))
      this.#stage.reach("workflow: cleaned up");
    if (event.kind === "ActivityCompleted") {
      const decision = run.events.find((one) => "n" in one.event && one.event.n === event.of);
      if (decision?.event.kind === "ActorCalled") this.#stage.reach("workflow: called an actor");
    }
    if (event.kind !== "SignalReceived") return;
    const word = String(event.input);
    if (word.includes("/")) this.#stage.reach("workflow: signalled by another");
    const before = runsOf(this.#stage).of(run.namespace, run.workflowId);
    const sent = this.#stage.deeds.find(({ token }) => token === word);
    const isOlder = sent?.acceptedAt !== undefined && sent.acceptedAt < run.beganAt;
    if (isOlder && before.length > 1) this.#stage.reach("workflow: handed over");
    if (this.#stage.operations.some(({ token, call }) => token === word && call.how.signals !== undefined))
      this.#stage.reach("workflow: signalled by a turn");
  }

  begun(_process: unknown, batch: readonly RunStart[], outcomes: readonly StartOutcome[]): void {
    for (const [i, { runId }] of batch.entries()) {
      if (outcomes[i]?.runId !== runId) continue;
      if (this.#runIds.has(runId)) this.#stage.reach("workflow: started again");
      this.#runIds.add(runId);
    }
  }

  committed(_process: unknown, { starts = [], messages = [] }: Commit, _key: unknown, outcome: CommitVerdict): void {
    if (starts.length > 0 && outcome === "committed") this.#stage.reach("workflow: started by a turn");
    if (starts.length > 0 && outcome === "fenced") this.#stage.reach("workflow: start fenced");
    if (messages.length > 0 && outcome === "fenced") this.#stage.reach("workflow: signal fenced");
  }

  activityBegan({ key, attempt }: ActivityRun): void {
    const name = `${key} ${attempt}`;
    if (this.#attempts.has(name)) this.#stage.reach("workflow: worked twice");
    this.#attempts.add(name);
  }

  didDeed({ planned: { deed }, outcome, acceptedAt }: DeedOperation): void {
    if (outcome === undefined) return;
    if ("error" in outcome) {
      if (isLimpetError(outcome.error, "WORKFLOW_EXISTS")) this.#stage.reach("workflow: refused");
      if (deed.kind === "start" && acceptedAt === undefined && isLimpetError(outcome.error, "COMMIT_UNKNOWN"))
        this.#stage.reach("workflow: unknown whether started");
      return;
    }
    const isResult = deed.kind === "result" || (deed.kind === "start" && deed.waits === true);
    if (isResult) this.#stage.reach("workflow: result received");
    if (deed.kind === "query") this.#stage.reach("workflow: queried");
  }

  gone(_host: unknown, process: unknown): void {
    if (this.#stage.plan.workflows === undefined) return;
    for (const { holder } of runsOf(this.#stage).all) {
      if (holder?.process === process) this.#stage.reach("workflow: held by an ended process");
    }
  }

  /** Workers store statistics from time to time. */
  stored(_process: unknown, question: string): void {
    if (question !== "worker") return;
    const namespaces = new Set(this.#stage.plan.hosts.map(({ namespace }) => namespace));
    for (const namespace of namespaces) {
      void this.#stage.world.database.truth.workflows.workers(namespace).then((workers) => {
        for (const { about } of workers) {
          const { misses = 0, evictions = 0 } = JSON.parse(about) as About;
          if (misses > 0) this.#stage.reach("workflow: forgotten");
          if (evictions > 0) this.#stage.reach("workflow: evicted");
        }
      });
    }
  }
}
