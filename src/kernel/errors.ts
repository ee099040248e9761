// The catalogue of errors: every code with its HTTP status and the retry verdict for the caller. Decisions
// use the code or the verdict, never a text. No file in src/ throws a bare Error.

/**
 * The action that a caller may take after an error.
 * - `now`: nothing happened; an immediate retry is safe and likely to work.
 * - `later`: nothing happened; retry after a pause.
 * - `elsewhere`: nothing happened; this process will not do it, another may.
 * - `never`: nothing happened, and the same request will fail the same way.
 * - `unknown`: it may or may not have happened; retry only idempotent requests.
 */
export type Verdict = "now" | "later" | "elsewhere" | "never" | "unknown";

type Entry = { readonly retry: Verdict; readonly status: number };

export const CATALOGUE = {
  // Invalid requests.
  NAME_INVALID: { retry: "never", status: 400 },
  ARGUMENT_INVALID: { retry: "never", status: 400 },
  REQUEST_INVALID: { retry: "never", status: 400 },
  REQUEST_TIMEOUT: { retry: "now", status: 408 },
  HEADERS_TOO_LARGE: { retry: "never", status: 431 },
  BODY_INVALID: { retry: "never", status: 400 },
  BODY_TOO_LARGE: { retry: "never", status: 413 },
  ENCODING_UNSUPPORTED: { retry: "never", status: 415 },
  OPTION_INVALID: { retry: "never", status: 400 },
  REMINDER_INVALID: { retry: "never", status: 400 },
  REMINDER_UNKNOWN: { retry: "never", status: 404 },
  REMINDER_NOT_HOSTED: { retry: "never", status: 403 },
  REMINDER_EXISTS: { retry: "never", status: 409 },
  ROUTE_UNKNOWN: { retry: "never", status: 404 },
  VERB_NOT_ALLOWED: { retry: "never", status: 405 },
  ACTOR_TYPE_UNKNOWN: { retry: "never", status: 404 },
  METHOD_UNKNOWN: { retry: "never", status: 404 },
  METHOD_ELSEWHERE: { retry: "later", status: 503 },
  UNAUTHENTICATED: { retry: "never", status: 401 },
  ORIGIN_REFUSED: { retry: "never", status: 403 },

  // Failures of user code.
  ACTOR_FAILED: { retry: "never", status: 500 },
  RESULT_INVALID: { retry: "never", status: 500 },
  STATE_INVALID: { retry: "never", status: 500 },
  STATE_TOO_LARGE: { retry: "never", status: 413 },
  STATE_MISSING: { retry: "never", status: 500 },
  STATE_OUTSIDE_TURN: { retry: "never", status: 500 },
  TIMER_INVALID: { retry: "never", status: 500 },
  CALL_CYCLE: { retry: "never", status: 409 },
  CALL_TOO_DEEP: { retry: "never", status: 409 },
  SHARD_INVALID: { retry: "never", status: 500 },

  // Outcomes of workflows and failures of their code.
  WORKFLOW_INVALID: { retry: "never", status: 400 },
  WORKFLOW_TYPE_UNKNOWN: { retry: "never", status: 404 },
  WORKFLOW_UNKNOWN: { retry: "never", status: 404 },
  WORKFLOW_EXISTS: { retry: "never", status: 409 },
  WORKFLOW_CLOSED: { retry: "never", status: 409 },
  WORKFLOW_FAILED: { retry: "never", status: 500 },
  WORKFLOW_CANCELLED: { retry: "never", status: 409 },
  WORKFLOW_TERMINATED: { retry: "never", status: 409 },
  WORKFLOW_TIMED_OUT: { retry: "never", status: 504 },
  WORKFLOW_DIVERGED: { retry: "never", status: 500 },
  WORKFLOW_MISUSED: { retry: "never", status: 500 },
  WORKFLOW_TOO_LARGE: { retry: "never", status: 413 },
  WORKFLOW_ATTEMPTS_LOST: { retry: "never", status: 500 },
  ACTIVITY_UNKNOWN: { retry: "never", status: 404 },
  ACTIVITY_FAILED: { retry: "never", status: 500 },
  ACTIVITY_TIMED_OUT: { retry: "never", status: 504 },
  QUERY_UNKNOWN: { retry: "never", status: 404 },
  QUERY_FAILED: { retry: "never", status: 500 },
  UPDATE_UNKNOWN: { retry: "never", status: 404 },
  UPDATE_REJECTED: { retry: "never", status: 422 },
  UPDATE_FAILED: { retry: "never", status: 500 },

  // Timeouts and overload.
  CALL_TIMEOUT: { retry: "unknown", status: 504 },
  CALL_CANCELLED: { retry: "unknown", status: 499 },
  MAILBOX_FULL: { retry: "later", status: 429 },
  BUFFER_FULL: { retry: "later", status: 503 },
  HOST_FULL: { retry: "later", status: 503 },
  STOPPING: { retry: "elsewhere", status: 503 },
  NOT_READY: { retry: "later", status: 503 },

  // States of the cluster.
  LEASE_LOST: { retry: "later", status: 503 },
  NO_HOST: { retry: "later", status: 503 },
  OWNER_AWAY: { retry: "later", status: 503 },
  NOT_SETTLED: { retry: "later", status: 503 },
  LINK_FULL: { retry: "later", status: 503 },
  NOT_STICKY: { retry: "never", status: 404 },
  NOT_SHARDED: { retry: "never", status: 404 },
  HOST_UNKNOWN: { retry: "never", status: 404 },
  NOT_LEADER: { retry: "elsewhere", status: 503 },
  PROTOCOL: { retry: "never", status: 400 },

  // Outcomes of reminders.
  REMINDER_VOID: { retry: "never", status: 409 },
  REMINDER_DAMAGED: { retry: "never", status: 500 },

  // Failures of the store.
  FENCED: { retry: "now", status: 503 },
  COMMIT_UNKNOWN: { retry: "unknown", status: 503 },
  STORE_UNAVAILABLE: { retry: "later", status: 503 },
  STORE_INCOMPATIBLE: { retry: "never", status: 500 },

  // Failures of the environment.
  RUNTIME_TOO_OLD: { retry: "never", status: 500 },
  ADDRESS_IN_USE: { retry: "never", status: 500 },
  MODULE_INVALID: { retry: "never", status: 500 },
  UNREACHABLE: { retry: "later", status: 503 },
  ANSWER_LOST: { retry: "unknown", status: 502 },
  INVARIANT: { retry: "never", status: 500 },
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof CATALOGUE;

/** Shared by every copy of this package in a process. */
const BRAND = Symbol.for("limpet.error");

export class LimpetError extends Error {
  override readonly name: string = "LimpetError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  get [BRAND](): true {
    return true;
  }

  /** The action that the caller may take. */
  get retry(): Verdict {
    return CATALOGUE[this.code].retry;
  }

  /** The matching HTTP status. */
  get status(): number {
    return CATALOGUE[this.code].status;
  }
}

/**
 * Returns whether a value is a Limpet error, with this code if one is given. It also recognises errors of
 * another copy of the package, for which `instanceof` is false.
 */
export function isLimpetError(value: unknown, code?: ErrorCode): value is LimpetError {
  if (typeof value !== "object" || value === null || !(BRAND in value)) return false;
  return code === undefined || (value as LimpetError).code === code;
}

/** Checks an internal invariant: a failure is a bug in Limpet and not in its input. */
export function invariant(condition: unknown, what: string): asserts condition {
  if (!condition) throw new LimpetError("INVARIANT", `broken invariant: ${what} (this is a bug in Limpet)`);
}
