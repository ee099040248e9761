// Checks that every error of a caller is true: a code of the catalogue that fits the call, or the error that
// the actor threw.
import { CATALOGUE, type ErrorCode, LimpetError } from "../../../src/kernel/errors.ts";
import type { Operation } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOf } from "../looks.ts";

/** Errors that can happen to a correct call. */
const TROUBLES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "CALL_TIMEOUT",
  "CALL_CANCELLED",
  "MAILBOX_FULL",
  "HOST_FULL",
  "STOPPING",
  "NOT_READY",
  "LEASE_LOST",
  "NO_HOST",
  "NOT_SETTLED",
  "LINK_FULL",
  "FENCED",
  "COMMIT_UNKNOWN",
  "STORE_UNAVAILABLE",
  "UNREACHABLE",
  "ANSWER_LOST",
]);

export const honestErrors: CheckerKind = {
  name: "honest errors",
  rule: "every error is from the catalogue and fits the call, or is the error that the actor threw",
  make(stage, report) {
    const mayWait = (type: string): boolean => (stage.plan.sticky?.[type]?.lost ?? "reassign") !== "reassign";

    function problem({ call }: Operation, error: unknown): string | undefined {
      if (!(error instanceof Error)) return "is no error";
      const { throws, via = [] } = call.how;
      if (!(error instanceof LimpetError)) {
        const isThrown = error.constructor === Error && throws !== undefined && error.message === throws;
        return isThrown ? undefined : "is neither of the catalogue nor what the actor threw";
      }
      if (!Object.hasOwn(CATALOGUE, error.code)) return "is not in the catalogue";
      if (error.code === "CALL_CYCLE") {
        const isCycle = via.some(({ type, id }) => type === call.type && id === call.id);
        return isCycle ? undefined : "names a cycle that is none";
      }
      if (error.code === "OWNER_AWAY") {
        return [call, ...via].some(({ type }) => mayWait(type)) ? undefined : "is of a type that waits for nobody";
      }
      const { extractor, messages } = stage.plan.sharded?.[call.type] ?? {};
      if (error.code === "SHARD_INVALID" && extractor !== undefined && extractor.oddly > 0) return undefined;
      const mayBeForNobody = call.how.region !== undefined && messages !== undefined && messages.oddly > 0;
      if (error.code === "ARGUMENT_INVALID" && mayBeForNobody) return undefined;
      return TROUBLES.has(error.code) ? undefined : "is not what can happen to such a call";
    }
    return {
      answered(operation) {
        const { outcome, token, call } = operation;
        if (outcome === undefined || !("error" in outcome)) return;
        const why = problem(operation, outcome.error);
        const { code } = outcome.error as { code?: string };
        if (why !== undefined) report(`${token} on ${labelOf(call)} got ${code ?? ""} ${outcome.error}, which ${why}`);
      },
    };
  },
};
