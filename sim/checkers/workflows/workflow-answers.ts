// Checks that answers about workflows are true: a result equals the end of the history, a completed update is
// in the history, and an error fits the request.
import { type ErrorCode, LimpetError } from "../../../src/kernel/errors.ts";
import { isParkedByLosses } from "../../../src/workflows/worker/lost-attempts.ts";
import type { DeedOperation } from "../../observer.ts";
import { SCRIPT_TYPES } from "../../scripts.ts";
import type { Checker, CheckerKind } from "../checker.ts";
import { RunChecker, type RunWatcher, type SeenRun } from "./workflow-runs.ts";

/** Errors that any request to a store may get, or that its client causes. */
const TROUBLES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(["STORE_UNAVAILABLE", "COMMIT_UNKNOWN", "STOPPING", "NOT_READY", "CALL_TIMEOUT"] as const),
  ...(["WORKFLOW_UNKNOWN", "WORKFLOW_CLOSED"] as const),
]);

/** Status of the ended run, by the error code that a waiting client gets. */
const ENDS: { readonly [code: string]: string } = {
  WORKFLOW_FAILED: "failed",
  WORKFLOW_CANCELLED: "cancelled",
  WORKFLOW_TERMINATED: "terminated",
  WORKFLOW_TIMED_OUT: "timed out",
};

export const workflowAnswers: CheckerKind = {
  name: "workflow answers",
  rule: "results, updates and errors that callers receive match the history",
  make: (stage, report) => (stage.plan.workflows === undefined ? {} : new WorkflowAnswers(stage, report)),
};

class WorkflowAnswers extends RunChecker implements Checker, RunWatcher {
  /** Until when each run was parked for lost attempts, by its ref. Infinity: it still is. */
  readonly #parkedUntil = new Map<number, number>();

  moved({ ref, stored }: SeenRun): void {
    const isParked = this.#parkedUntil.get(ref) === Number.POSITIVE_INFINITY;
    if (isParkedByLosses(stored.task?.problem)) this.#parkedUntil.set(ref, Number.POSITIVE_INFINITY);
    else if (isParked) this.#parkedUntil.set(ref, this.stage.now);
  }

  didDeed(operation: DeedOperation): void {
    const { outcome, token, planned } = operation;
    if (outcome === undefined) return;
    if ("value" in outcome) {
      this.#checkValue(operation, outcome.value);
      return;
    }
    const problem = this.#problem(operation, outcome.error);
    if (problem === undefined) return;
    const { code } = outcome.error as { code?: string };
    const request = `${token}, ${planned.deed.kind} of ${planned.workflow},`;
    this.report(`${request} got ${code ?? ""} ${outcome.error}, which ${problem}`);
  }

  #checkValue(operation: DeedOperation, value: unknown): void {
    const { token, planned } = operation;
    const { deed, workflow } = planned;
    const isResult = deed.kind === "result" || (deed.kind === "start" && deed.waits === true);
    const all = this.#runsOf(operation).flatMap(({ events }) => events.map(({ event }) => event));
    if (isResult) {
      const text = JSON.stringify(value);
      const isTrue = all.some((event) => event.kind === "WorkflowCompleted" && JSON.stringify(event.result) === text);
      if (!isTrue) this.report(`${token} got ${text} as the result of ${workflow}, and it is not`);
    } else if (deed.kind === "update") {
      const isDone = all.some((event) => event.kind === "UpdateCompleted" && event.id === token);
      if (!isDone || value !== `poked ${token}`)
        this.report(`${token} got ${value} as the result of its update of ${workflow}, and it is not`);
    } else if (deed.kind === "terminate") {
      const isOver = this.#runsOf(operation).some(({ stored }) => stored.status === "terminated");
      if (!isOver) this.report(`${token} got the answer that ${workflow} is terminated, and it is not`);
    }
  }

  /** The reason why the error cannot be true; undefined if it can. */
  #problem(operation: DeedOperation, error: unknown): string | undefined {
    const { deed } = operation.planned;
    if (!(error instanceof LimpetError)) {
      const isGivenUp = deed.kind === "update" && error instanceof Error && error.message === "given up";
      return isGivenUp ? undefined : "is not of the catalogue";
    }
    const { code } = error;
    if (TROUBLES.has(code)) return undefined;
    const status = ENDS[code];
    if (status !== undefined && (deed.kind === "result" || deed.kind === "start")) {
      const isTrue = this.#runsOf(operation).some(({ stored }) => stored.status === status);
      return isTrue ? undefined : "is not how it ended";
    }
    if (code === "WORKFLOW_EXISTS" && deed.kind === "start") return undefined;
    if (deed.kind === "update") return problemOfUpdate(code, deed.isRefused === true);
    if (deed.kind === "query") return this.#problemOfQuery(operation, code);
    return IMPOSSIBLE;
  }

  #problemOfQuery(operation: DeedOperation, code: ErrorCode): string | undefined {
    if (code === "QUERY_UNKNOWN") return undefined;
    // Only a host with the code can answer the query; others return this error.
    if (code === "WORKFLOW_TYPE_UNKNOWN" && !this.#hasCode(operation)) return undefined;
    if (code !== "WORKFLOW_ATTEMPTS_LOST") return IMPOSSIBLE;
    const { beganAt } = operation;
    const wasParked = this.#runsOf(operation).some(({ ref }) => (this.#parkedUntil.get(ref) ?? -1) >= beganAt);
    return wasParked ? undefined : "is the answer of a run that was not parked";
  }

  #runsOf({ namespace, planned }: DeedOperation): readonly SeenRun[] {
    return this.runs.of(namespace, planned.workflow);
  }

  #hasCode({ planned }: DeedOperation): boolean {
    const worker = this.stage.plan.workflows?.workers[planned.from];
    return SCRIPT_TYPES.every((type: string) => worker?.types.includes(type));
  }
}

const IMPOSSIBLE = "is not a possible outcome of such a request";

function problemOfUpdate(code: ErrorCode, isRefused: boolean): string | undefined {
  if (code === "UPDATE_REJECTED") return isRefused ? undefined : "is the answer to an update that no code refuses";
  // The run ended before the update began.
  if (code === "UPDATE_UNKNOWN") return undefined;
  // The code of the update awaited something that was cancelled or failed.
  return code === "WORKFLOW_CANCELLED" || code === "ACTIVITY_FAILED" ? undefined : IMPOSSIBLE;
}
