// Classifies failures by code: the server's SQLSTATE or the code of a socket error. Messages are only for
// display. The main question is whether a statement may have been applied. Every failure that is not
// certainly harmless counts as "maybe applied".
import { type ErrorCode, isLimpetError, LimpetError } from "../../../kernel/errors.ts";

/**
 * - `settings`: the statement fails until an operator changes a setting: password, database, rights.
 * - `away`: the server does not respond, or the connection was lost.
 * - `busy`: the server responds but cannot do the work now.
 * - `conflict`: rolled back in favour of another transaction; a retry is safe and likely to succeed.
 * - `locked`: another transaction holds the row.
 * - `schema`: Limpet's tables are missing, or differ from the ones this release knows.
 * - `bug`: the statement is wrong.
 */
export type FaultKind = "settings" | "away" | "busy" | "conflict" | "locked" | "schema" | "bug";

export interface Fault {
  readonly kind: FaultKind;
  /** Certainly nothing was applied: the statement never reached the server, or the server rolled it back. */
  readonly harmless: boolean;
  /** The connection cannot be used again. */
  readonly broken: boolean;
  /** A sentence for display, without secrets and without data. */
  readonly text: string;
}

/**
 * `kind`, and the end of a sentence with the remedy. The server rolls back a statement that fails with one of
 * these.
 */
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
  // The server also sends it when a lock wait is cancelled in the moment it is granted and the next lock is
  // requested.
  "57014": ["locked", "the statement timed out or was cancelled"],
  "3F000": ["schema", "the schema is missing; restart this process to create it"],
  "42P01": ["schema", "tables of Limpet are missing; restart this process to create them"],
  P0002: ["schema", "the row of table leadership is missing; restore that table"],
  "42883": ["schema", "functions of Limpet are missing; restore them, or choose a new schema"],
  "42703": ["schema", "tables of Limpet have changed; use the version of Limpet that changed them"],
};

/**
 * A connection can end with one of these at any moment, so they give no information about the statement. A
 * pooler sends 08P01 for every failure of the server behind it.
 */
const LAST_WORDS = new Set(["57P03", "08P01"]);
/** After these, a new connection may reach a better server or get a fresh plan. */
const FRESH_START = new Set(["25006", "0A000", "26000", "53200"]);
/** Errors of the statement itself, which the server rolls back: bad data, a constraint, syntax, a limit. */
const BUG = /^(21|22|23|42|54)/;

const SOCKET: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused; start the server or correct the URL",
  ENOTFOUND: "the host name is unknown; correct the URL",
  EAI_AGAIN: "the host name could not be resolved",
  ETIMEDOUT: "it does not respond",
  EHOSTUNREACH: "the host cannot be reached",
  ECONNRESET: "the connection was lost",
  EPIPE: "the connection was lost",
};

/** `stage`: during `connect` no statement has been sent yet. */
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
    return { kind, harmless: true, broken: connecting, text: `the server rejected the statement (${code})` };
  }
  const why = SOCKET[code] ?? (connecting ? "the connection could not be made" : "the connection was lost");
  return { kind: "away", harmless: connecting, broken: true, text: code === "" ? why : `${why} (${code})` };
}

function codeOf(error: unknown): string {
  // A name with several addresses fails with one error for each; the first is as good as any.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const code = (first as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** A fault as the rest of Limpet sees it. Only this folder reads `kind`. */
export class StoreFault extends LimpetError {
  readonly kind: FaultKind;

  constructor(code: ErrorCode, kind: FaultKind, message: string) {
    super(code, message);
    this.kind = kind;
  }
}

/**
 * `opening`: no call depends on the store yet, so a wrong setting is an error and not a pause. `doubtful`: a
 * commit, which may have been applied when its response is lost. A lost take has at most raised an epoch, so
 * it may be repeated.
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

/**
 * Part of a batch is written, so the outcome of the batch as a whole is ambiguous. Sending it again resolves
 * it.
 */
export function asAmbiguous(error: unknown): unknown {
  if (!isLimpetError(error, "STORE_UNAVAILABLE")) return error;
  return new StoreFault("COMMIT_UNKNOWN", "away", error.message);
}
