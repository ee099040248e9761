// An error on its way to another process: told as plain data there, made into an error again here. Pure.
// Name, message, code and the chain of causes travel; a stack never leaves its process.
import { CATALOGUE, type ErrorCode, isLimpetError, LimpetError, type Verdict } from "./errors.ts";

/** A cause, as it is told: what it is called, what it says, and its own cause. */
export interface ToldCause {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly cause?: ToldCause;
}

export interface ToldError {
  readonly errorCode: string;
  readonly message: string;
  readonly retry: Verdict;
  /** Of a LimpetError. */
  readonly cause?: ToldCause;
  /** What a method threw, when that was no LimpetError. */
  readonly error?: { readonly name: string; readonly code?: string | number; readonly cause?: ToldCause };
}

/** Causes may lead in a circle. */
const CAUSES = 5;

/** Anything that was thrown, as it is told to the caller. */
export function tellError(thrown: unknown): ToldError {
  if (isLimpetError(thrown)) {
    const { code, message, retry } = thrown;
    return { errorCode: code, message, retry, ...causeOf(thrown, 0) };
  }
  const { retry } = CATALOGUE.ACTOR_FAILED;
  const error = { ...nameOf(thrown), ...causeOf(thrown, 0) };
  return { errorCode: "ACTOR_FAILED", message: messageOf(thrown), retry, error };
}

/** The error that was told of; undefined when what is given tells of none. */
export function rebuildTold(told: unknown): Error | undefined {
  if (typeof told !== "object" || told === null) return undefined;
  const { errorCode, message, retry = "unknown", cause, error } = told as Partial<ToldError>;
  if (typeof errorCode !== "string" || typeof message !== "string") return undefined;
  if (typeof error === "object" && error !== null) return named(new Error(message, rebuildCause(error.cause)), error);
  if (Object.hasOwn(CATALOGUE, errorCode)) return new LimpetError(errorCode as ErrorCode, message, rebuildCause(cause));
  // A newer process may know errors that this one does not. What may be done about them it says itself.
  return Object.assign(named(new Error(message), { name: "LimpetError", code: errorCode }), { retry });
}

function rebuildCause(told: ToldCause | undefined, depth = 0): { cause: Error } | undefined {
  if (typeof told !== "object" || told === null || depth > CAUSES) return undefined;
  return { cause: named(new Error(String(told.message), rebuildCause(told.cause, depth + 1)), told) };
}

function named(error: Error, { name, code }: { readonly name: string; readonly code?: string | number }): Error {
  // As on errors of the language: not among the properties that are listed.
  Object.defineProperty(error, "name", { value: String(name), configurable: true, writable: true });
  return code === undefined ? error : Object.assign(error, { code });
}

function causeOf(thrown: unknown, depth: number): { cause?: ToldCause } {
  const cause = read(thrown, "cause");
  if (cause === undefined || depth >= CAUSES) return {};
  return { cause: { ...nameOf(cause), message: messageOf(cause), ...causeOf(cause, depth + 1) } };
}

function messageOf(thrown: unknown): string {
  const message = read(thrown, "message");
  if (typeof message === "string") return message;
  return typeof thrown === "string" ? thrown : `a value of type ${typeof thrown} was thrown`;
}

function nameOf(thrown: unknown): { name: string; code?: string | number } {
  const name = read(thrown, "name");
  const code = read(thrown, "code");
  return {
    name: typeof name === "string" ? name : "Error",
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
  };
}

/** Anything can be thrown, also an object whose properties throw. */
function read(thrown: unknown, key: "name" | "message" | "code" | "cause"): unknown {
  try {
    return typeof thrown === "object" && thrown !== null ? (thrown as Record<string, unknown>)[key] : undefined;
  } catch {
    return undefined;
  }
}
