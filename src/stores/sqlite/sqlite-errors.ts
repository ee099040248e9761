// Maps SQLite's error codes to Limpet's. Decisions use the numeric code, never the text. Every error named
// here happened before a COMMIT, so nothing was applied; transactions.ts handles errors of COMMIT itself.
import { type ErrorCode, invariant, isLimpetError, LimpetError } from "../../kernel/errors.ts";

/** Primary result codes, the low byte of the extended ones. */
const BUSY = 5;
const LOCKED = 6;
const NO_MEMORY = 7;
const READ_ONLY = 8;
const IO = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
/** Many processes opened the write-ahead log at the same moment. */
const PROTOCOL = 15;
const NOT_A_DATABASE = 26;

const MEANING: Record<number, readonly [ErrorCode, string]> = {
  [BUSY]: ["STORE_UNAVAILABLE", "another process holds its lock for too long"],
  [LOCKED]: ["STORE_UNAVAILABLE", "another process holds its lock for too long"],
  [PROTOCOL]: ["STORE_UNAVAILABLE", "too many processes want its lock"],
  [NO_MEMORY]: ["STORE_UNAVAILABLE", "there is not enough memory"],
  [READ_ONLY]: ["STORE_UNAVAILABLE", "it cannot be written; check the permissions of the file and of its folder"],
  [IO]: ["STORE_UNAVAILABLE", "reading or writing it failed; check the disk"],
  [FULL]: ["STORE_UNAVAILABLE", "the disk is full"],
  [CANNOT_OPEN]: ["STORE_UNAVAILABLE", "it cannot be opened; check that the path and the permissions are right"],
  [CORRUPT]: ["STORE_INCOMPATIBLE", "the file is damaged; restore it from a backup"],
  [NOT_A_DATABASE]: ["STORE_INCOMPATIBLE", "it is not an SQLite database; choose another file or move this one away"],
};

interface SqliteError extends Error {
  readonly errcode: number;
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** Another process is writing: a retry may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  if (!isSqliteError(error)) return false;
  const primary = error.errcode & 0xff;
  return primary === BUSY || primary === LOCKED || primary === PROTOCOL;
}

/** The same failure as a LimpetError that names the file and the remedy. */
export function toLimpetError(error: unknown, file: string): LimpetError {
  if (isLimpetError(error)) return error;
  if (!isSqliteError(error)) return asBug(error);
  const [code, what] = MEANING[error.errcode & 0xff] ?? ["STORE_UNAVAILABLE", "SQLite refused"];
  return new LimpetError(code, `SQLite file ${file}: ${what} (${error.message}, code ${error.errcode})`, {
    cause: error,
  });
}

/** An error that is not SQLite's is a bug of Limpet. */
function asBug(error: unknown): LimpetError {
  try {
    invariant(false, `the SQLite worker failed: ${error}`);
  } catch (bug) {
    return bug as LimpetError;
  }
}
