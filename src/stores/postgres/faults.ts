// What went wrong, told by code: SQLSTATE of the server, or the code of a socket error. Texts are for people only.
// The question that matters is whether something may have been applied; whatever is not surely harmless counts as "maybe".
import { type ErrorCode, isLimpetError, LimpetError } from "../../kernel/errors.ts";

/**
 * - `settings`: it will not work until somebody changes something: password, database, rights.
 * - `away`: nobody answers, or the connection was lost.
 * - `busy`: the server answers, but cannot do it now.
 * - `conflict`: given up in favour of somebody else; doing it again is safe and likely to work.
 * - `locked`: another transaction holds the row.
 * - `schema`: our tables are not there, or not as we know them.
 * - `bug`: the statement is wrong.
 */
export type FaultKind = "settings" | "away" | "busy" | "conflict" | "locked" | "schema" | "bug";

export interface Fault {
  readonly kind: FaultKind;
  /** Surely nothing was applied: it never reached the server, or the server rolled it back. */
  readonly harmless: boolean;
  /** The connection cannot be used again. */
  readonly broken: boolean;
  /** A sentence for people, without secrets and without data. */
  readonly text: string;
}

/** `kind`, and the end of a sentence that says what to do. A statement that fails with one of these is rolled back. */
const KNOWN: Readonly<Record<string, readonly [FaultKind, string]>> = {
  "28P01": ["settings", "the password is wrong; correct user and password in the URL"],
  "28000": ["settings", "the server does not let this user in; correct the URL or pg_hba.conf"],
  "3D000": ["settings", "the database does not exist; create it or correct the URL"],
  "42501": ["settings", "the user lacks a right; grant it CREATE on the database, or its tables"],
  "42704": ["settings", "the server is too old; PostgreSQL 12 or newer is needed"],
  "08P01": [
    "settings",
    "a pooler refused the connection; connect to the server directly, or set pool_mode = session in PgBouncer",
  ],
  "53300": ["busy", "it has too many connections; raise its max_connections or lower storeConnections"],
  "53100": ["busy", "its disk is full"],
  "53200": ["busy", "it is out of memory"],
  "57P03": ["busy", "it is starting up or shutting down"],
  "25006": ["busy", "it is read-only; name the primary in the URL, or wait for its promotion"],
  "40001": ["conflict", "another transaction was faster"],
  "40P01": ["conflict", "a deadlock was broken"],
  "0A000": ["conflict", "a prepared statement is out of date"],
  "26000": ["conflict", "a prepared statement is gone"],
  "55P03": ["locked", "another transaction holds a row"],
  // Also what the server says when a lock was given up at the very moment it was granted and the next one was asked for.
  "57014": ["locked", "the statement took too long, or was cancelled"],
  "3F000": ["schema", "our schema is gone; start this process again to create it"],
  "42P01": ["schema", "our tables are gone; start this process again to create them"],
  P0002: ["schema", "a row of ours that is always there is gone; restore the table of leadership"],
  "42883": ["schema", "our functions are gone; restore them, or take a new schema"],
  "42703": ["schema", "our tables have changed; use the version of Limpet that changed them"],
};

/**
 * These can be the last words of a connection, at any moment of a statement; so they say nothing about it. A pooler says
 * 08P01 for whatever happened to the server behind it.
 */
const LAST_WORDS = new Set(["57P03", "08P01"]);
/** After these the next connection may be to a better server, or have a fresh plan. */
const FRESH_START = new Set(["25006", "0A000", "26000", "53200"]);
/** Errors of the statement itself, which the server rolls back: bad data, a constraint, syntax, a limit. */
const BUG = /^(21|22|23|42|54)/;

const SOCKET: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody listens there; start it or correct the URL",
  ENOTFOUND: "the host name is unknown; correct the URL",
  EAI_AGAIN: "the host name could not be looked up",
  ETIMEDOUT: "it does not answer",
  EHOSTUNREACH: "the host cannot be reached",
  ECONNRESET: "the connection was lost",
  EPIPE: "the connection was lost",
};

/** `stage`: while connecting, nothing of ours has been sent yet. */
export function faultOf(error: unknown, stage: "connect" | "statement"): Fault {
  const code = codeOf(error);
  const known = KNOWN[code];
  const connecting = stage === "connect";
  if (known !== undefined) {
    const lost = LAST_WORDS.has(code);
    return {
      kind: known[0],
      harmless: connecting || !lost,
      broken: connecting || lost || FRESH_START.has(code),
      text: `${known[1]} (${code})`,
    };
  }
  if (BUG.test(code)) {
    const kind = connecting ? "settings" : "bug";
    return { kind, harmless: true, broken: connecting, text: `the server refused it (${code})` };
  }
  const why = SOCKET[code] ?? (connecting ? "no connection came about" : "the connection was lost");
  return { kind: "away", harmless: connecting, broken: true, text: code === "" ? why : `${why} (${code})` };
}

function codeOf(error: unknown): string {
  // A name with several addresses fails with one error for each; the first says as much as any.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const code = (first as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** A fault as the rest of Limpet sees it. `kind` is for this folder only. */
export class StoreFault extends LimpetError {
  readonly kind: FaultKind;

  constructor(code: ErrorCode, kind: FaultKind, message: string) {
    super(code, message);
    this.kind = kind;
  }
}

/**
 * `opening`: nobody depends on the store yet, so a wrong setting is an error and not a pause. `doubtful`: a commit, which
 * may have been applied when its answer is lost; a take that is lost has raised an epoch at most, and may be done again.
 */
export function storeFault(fault: Fault, use: "opening" | "harmless" | "doubtful", location: string): StoreFault {
  const { kind, text } = fault;
  const message = `PostgreSQL at ${location}: ${text}`;
  if (kind === "bug") return new StoreFault("INVARIANT", kind, message);
  if (kind === "schema") return new StoreFault("STORE_INCOMPATIBLE", kind, message);
  if (kind === "settings" && use === "opening") return new StoreFault("OPTION_INVALID", kind, message);
  const unknown = use === "doubtful" && !fault.harmless;
  return new StoreFault(unknown ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE", kind, message);
}

/** Part of a batch is written, so the batch as a whole is in doubt; sending it again settles it. */
export function doubted(error: unknown): unknown {
  if (!isLimpetError(error, "STORE_UNAVAILABLE")) return error;
  return new StoreFault("COMMIT_UNKNOWN", "away", error.message);
}
