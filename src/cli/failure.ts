// How a command ends when it cannot do what was asked: a sentence, what to do about it, and an exit code.

import { type ErrorCode, isLimpetError, LimpetError } from "../kernel/errors.ts";

/** 0: it worked. 1: the thing asked for failed. 2: it was asked for in a way that makes no sense. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

interface FailureOptions {
  /** What the reader can do: one sentence or a command. */
  readonly hint?: string | undefined;
  readonly exitCode?: number | undefined;
  /** The code a running process answered with; it may be newer than this catalogue. */
  readonly errorCode?: string | undefined;
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

/** What is wrong with words that were typed is wrong usage, whoever noticed it. */
export function asUsage<T>(read: () => T, hint?: string): T {
  try {
    return read();
  } catch (error) {
    if (!isLimpetError(error) || error instanceof Failure) throw error;
    throw new Failure(error.code, error.message, { hint, exitCode: EXIT.usage, cause: error });
  }
}

/** Settings are part of how a command is used, wherever they were written. */
export const settingsOrUsage = <T>(resolve: () => T): T => asUsage(resolve, "All settings: limpet help options");

/** Any error as a failure that can be shown. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isLimpetError(error)) return new Failure(error.code, error.message, { cause: error });
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new Failure("INVARIANT", `something unexpected went wrong: ${what}`, {
    hint: "This is a bug in limpet. LIMPET_DEBUG=1 shows where it happened.",
    cause: error,
  });
}
