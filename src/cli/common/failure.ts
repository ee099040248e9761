// The failure of a command: a message, a hint and an exit code.

import { type ErrorCode, isLimpetError, LimpetError } from "../../kernel/errors.ts";

/** 0: success. 1: the operation failed. 2: wrong usage. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

interface FailureOptions {
  /** Advice for the reader: one sentence or a command. */
  readonly hint?: string;
  readonly exitCode?: number;
  /** The code that a running process answered; it may be newer than this catalogue. */
  readonly errorCode?: string;
  readonly cause?: unknown;
}

export class Failure extends LimpetError {
  readonly hint: string | undefined;
  readonly exitCode: number;
  readonly errorCode: string;

  constructor(code: ErrorCode, message: string, options: FailureOptions = {}) {
    super(code, message, { cause: options.cause });
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? EXIT.failed;
    this.errorCode = options.errorCode ?? code;
  }
}

export function wrongUsage(message: string, hint?: string): Failure {
  return new Failure("ARGUMENT_INVALID", message, { hint, exitCode: EXIT.usage });
}

/** Reports invalid words on the command line as wrong usage, whichever check found them. */
export function asUsage<T>(read: () => T, hint?: string): T {
  try {
    return read();
  } catch (error) {
    if (!isLimpetError(error) || error instanceof Failure) throw error;
    throw new Failure(error.code, error.message, { hint, exitCode: EXIT.usage, cause: error });
  }
}

/** Invalid settings are wrong usage, whatever their source. */
export const settingsOrUsage = <T>(resolve: () => T): T => asUsage(resolve, "All settings: limpet help options");

/** Converts any error to a failure that can be shown. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isLimpetError(error)) return new Failure(error.code, error.message, { cause: error });
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new Failure("INVARIANT", `unexpected error: ${what}`, {
    hint: "This is a bug in limpet. LIMPET_DEBUG=1 shows where it happened.",
    cause: error,
  });
}
