// Checks that answers about workflows are true: a result equals the end of the history, a completed update is
// in the history, and an error fits the request.
import { type ErrorCode, LimpetError } from "../../../src/kernel/errors.ts";
import { isParkedByLosses } from "../../../src/workflows/worker/lost-attempts.ts";
import type { DeedOperation } from "../../observer.ts";
import { SCRIPT_TYPES } from "../../scripts.ts";
import type { CheckerKind } from "../checker.ts";
import { runsOf, type SeenRun } from "./workflow-runs.ts";

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

const ofType: readonly string[] = SCRIPT_TYPES;

export const workflowAnswers: CheckerKind = {
  name: "workflow answers",
  rule: "results, updates and errors that callers receive match the history",
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};
    const runs = runsOf(stage);
    /** Until when each run was parked for lost attempts, by its ref. Infinity: it still is. */
    const parkedUntil = new Map<number, number>();
    runs.watchers.push({
      moved({ ref, stored }) {
        if (isParkedByLosses(stored.task?.problem)) parkedUntil.set(ref, Number.POSITIVE_INFINITY);
        else if (parkedUntil.get(ref) === Number.POSITIVE_INFINITY) parkedUntil.set(ref, stage.now);
      },
    });
    const ofDeed = ({ namespace, planned }: DeedOperation): readonly SeenRun[] => runs.of(namespace, planned.workflow);

    const hasCode = ({ planned }: DeedOperation): boolean => {
      const worker = stage.plan.workflows?.workers[planned.from];
      return ofType.every((type) => worker?.types.includes(type));
    };

    function checkValue(operation: DeedOperation, value: unknown): void {
      const { token, planned } = operation;
      const { deed } = planned;
      const isResult = deed.kind === "result" || (deed.kind === "start" && deed.waits === true);
      const all = ofDeed(operation).flatMap(({ events }) => events.map(({ event }) => event));
      if (isResult) {
        const text = JSON.stringify(value);
        const isTrue = all.some((event) => event.kind === "WorkflowCompleted" && JSON.stringify(event.result) === text);
        if (!isTrue) report(`${token} was told that the result of ${planned.workflow} is ${text}, and it is not`);
      } else if (deed.kind === "update") {
        const isDone = all.some((event) => event.kind === "UpdateCompleted" && event.id === token);
        if (!isDone || value !== `poked ${token}`)
          report(`${token} was told that its update of ${planned.workflow} gave ${value}, and it did not`);
      } else if (deed.kind === "terminate") {
        const isOver = ofDeed(operation).some(({ stored }) => stored.status === "terminated");
        if (!isOver) report(`${token} was told that ${planned.workflow} is terminated, and it is not`);
      }
    }

    function problem(operation: DeedOperation, error: unknown): string | undefined {
      const { deed } = operation.planned;
      if (!(error instanceof LimpetError)) {
        const isGivenUp = deed.kind === "update" && error instanceof Error && error.message === "given up";
        return isGivenUp ? undefined : "is not of the catalogue";
      }
      const { code } = error;
      if (TROUBLES.has(code)) return undefined;
      const status = ENDS[code];
      if (status !== undefined && (deed.kind === "result" || deed.kind === "start")) {
        const isTrue = ofDeed(operation).some(({ stored }) => stored.status === status);
        return isTrue ? undefined : "is not how it ended";
      }
      if (code === "WORKFLOW_EXISTS" && deed.kind === "start") return undefined;
      if (code === "UPDATE_REJECTED" && deed.kind === "update")
        return deed.isRefused ? undefined : "is said of an update that nobody refuses";
      // The run ended before the update began.
      if (code === "UPDATE_UNKNOWN" && deed.kind === "update") return undefined;
      if (code === "QUERY_UNKNOWN" && deed.kind === "query") return undefined;
      // Only a host with the code can answer the query; others return this error.
      if (code === "WORKFLOW_TYPE_UNKNOWN" && deed.kind === "query" && !hasCode(operation)) return undefined;
      if (code === "WORKFLOW_ATTEMPTS_LOST" && deed.kind === "query") {
        const wasParked = ofDeed(operation).some(({ ref }) => (parkedUntil.get(ref) ?? -1) >= operation.beganAt);
        return wasParked ? undefined : "is the answer of a run that was not parked";
      }
      // The code of the update awaited something that was cancelled or failed.
      if (deed.kind === "update" && (code === "WORKFLOW_CANCELLED" || code === "ACTIVITY_FAILED")) return undefined;
      return "is not what can happen to such a deed";
    }

    return {
      didDeed(operation) {
        const { outcome, token, planned } = operation;
        if (outcome === undefined) return;
        if ("value" in outcome) return checkValue(operation, outcome.value);
        const why = problem(operation, outcome.error);
        const { code } = outcome.error as { code?: string };
        if (why !== undefined)
          report(
            `${token}, ${planned.deed.kind} of ${planned.workflow}, was told ${code ?? ""} ${outcome.error}, which ${why}`,
          );
      },
    };
  },
};
