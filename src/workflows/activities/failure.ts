// Describes a failed attempt at an activity in the form in which the history records it. Activities may throw
// any value: reading it never throws, and the stored text is bounded. Pure.
import { CATALOGUE, type ErrorCode, isLimpetError } from "../../kernel/errors.ts";
import { type SerializedCause, type SerializedError, serializeError } from "../../kernel/serialized-error.ts";
import type { ExternalEvent } from "../engine/events.ts";
import { bounded } from "../engine/payload-limits.ts";

export interface ActivityFailure {
  readonly kind: "failed" | "timed out" | "cancelled";
  /** All names of the error; `nonRetryable` matches any of them. */
  readonly names: readonly string[];
  /** Another attempt cannot succeed, whatever the retry options allow. */
  readonly isFinal: boolean;
  /** The error as thrown. */
  readonly error: SerializedError;
}

export function failureOf(thrown: unknown): ActivityFailure {
  const error = bounded({ ...serializeError(thrown), ...ifStrange(thrown) });
  const kind = isLimpetError(thrown, "ACTIVITY_TIMED_OUT") ? "timed out" : "failed";
  // A payload above the limit is above it in every attempt.
  const isFinal = isLimpetError(thrown, "BODY_TOO_LARGE") || isLimpetError(thrown, "RESULT_INVALID");
  return { kind, isFinal, error, names: [...namesOf(error), ...classOf(thrown)] };
}

/** The failure that a remote worker reports. */
export function failureElsewhere(
  message: string,
  name: string | undefined,
  rest: Pick<ActivityFailure, "kind" | "isFinal">,
): ActivityFailure {
  const { retry } = CATALOGUE.ACTOR_FAILED;
  const error = bounded({ errorCode: "ACTOR_FAILED", message, retry, error: { name: name ?? "Error" } });
  return { ...rest, error, names: namesOf(error) };
}

/** The error of an activity whose time is over. `last`: the error of its last attempt. */
export function timeoutOf(problem: string, last?: SerializedError): SerializedError {
  const message = last === undefined ? problem : `${problem}; its last attempt failed: ${last.message}`;
  return bounded(wrapped("ACTIVITY_TIMED_OUT", message, last));
}

/** The event that notifies the run of a failure without another attempt. */
export function finalEvent(n: number, { kind, error }: ActivityFailure, attempts: number): ExternalEvent {
  const isTimeout = error.errorCode === "ACTIVITY_TIMED_OUT";
  if (kind === "timed out") {
    return {
      kind: "ActivityTimedOut",
      of: n,
      error: isTimeout ? error : wrapped("ACTIVITY_TIMED_OUT", error.message, error),
    };
  }
  const wrapper = wrapped("ACTIVITY_FAILED", error.message, error);
  if (kind === "cancelled") return { kind: "ActivityCancelled", of: n, error: wrapper };
  return { kind: "ActivityFailed", of: n, error: wrapper, attempts };
}

function wrapped(errorCode: ErrorCode, message: string, cause: SerializedError | undefined): SerializedError {
  const { retry } = CATALOGUE[errorCode];
  return { errorCode, message, retry, cause: cause && asCause(cause) };
}

function asCause({ errorCode, message, error, cause }: SerializedError): SerializedCause {
  if (error !== undefined) return { ...error, message };
  return { name: "LimpetError", code: errorCode, message, cause };
}

const namesOf = ({ errorCode, error }: SerializedError): string[] => {
  if (error === undefined) return ["LimpetError", errorCode];
  return error.code === undefined ? [error.name] : [error.name, String(error.code)];
};

/** Most error classes leave `name` at "Error", so the class name counts as well. */
function classOf(thrown: unknown): string[] {
  try {
    const name: unknown = (thrown as { constructor?: { name?: unknown } } | null | undefined)?.constructor?.name;
    return typeof name === "string" ? [name] : [];
  } catch {
    return [];
  }
}

/** Thrown values other than errors have no message. */
function ifStrange(thrown: unknown): { message?: string } {
  if (typeof thrown === "string") return {};
  try {
    const hasMessage = typeof (thrown as { message?: unknown } | null | undefined)?.message === "string";
    return hasMessage
      ? {}
      : { message: `the activity threw ${thrown === null ? "null" : `a value of type ${typeof thrown}`}` };
  } catch {
    return { message: "the activity threw something that cannot be read" };
  }
}
