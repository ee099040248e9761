// Serializes errors for other processes, and deserializes them. Pure.
// Name, message, code, `details` and the chain of causes are serialized; a stack never leaves its process. A
// caller in the same process gets an equal copy, so that code behaves the same for local and remote actors.
import { CATALOGUE, type ErrorCode, isLimpetError, LimpetError, type Verdict } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { readWire, toWire } from "./values.ts";

/** A serialized cause: its name, its message and its own cause. */
export interface SerializedCause {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly cause?: SerializedCause;
}

export interface SerializedError {
  readonly errorCode: string;
  readonly message: string;
  readonly retry: Verdict;
  /**
   * The `details` property, in the encoding of values.ts. Other properties may hold secrets, such as headers
   * of a request.
   */
  readonly details?: unknown;
  /** The cause of a LimpetError. */
  readonly cause?: SerializedCause;
  /** The error that a method threw, if it was not a LimpetError. */
  readonly error?: { readonly name: string; readonly code?: string | number; readonly cause?: SerializedCause };
}

/** Causes may form a cycle. */
const CAUSES = 5;

/** Serializes any thrown value for the caller. */
export function serializeError(thrown: unknown): SerializedError {
  if (isLimpetError(thrown)) {
    const { code, message, retry } = thrown;
    return { errorCode: code, message, retry, ...detailsOf(thrown), ...causeOf(thrown, 0) };
  }
  const { retry } = CATALOGUE.ACTOR_FAILED;
  const error = { ...nameOf(thrown), ...causeOf(thrown, 0) };
  return { errorCode: "ACTOR_FAILED", message: messageOf(thrown), retry, ...detailsOf(thrown), error };
}

/** The error for a caller in this process: the same copy as for any other caller, with its stack. */
export function copyError(thrown: unknown): unknown {
  const isPlain = isLimpetError(thrown) && thrown.cause === undefined && !("details" in thrown);
  if (isPlain) return thrown;
  const copy = deserializeError(serializeError(thrown))!;
  const stack = read(thrown, "stack");
  if (typeof stack === "string")
    Object.defineProperty(copy, "stack", { value: stack, configurable: true, writable: true });
  return copy;
}

/** Deserializes an error; undefined when the input is not one. */
export function deserializeError(serialized: unknown): Error | undefined {
  if (typeof serialized !== "object" || serialized === null) return undefined;
  const { errorCode, message, retry = "unknown", cause, error } = serialized as Partial<SerializedError>;
  if (typeof errorCode !== "string" || typeof message !== "string") return undefined;
  const details = (serialized as Partial<SerializedError>).details;
  if (typeof error === "object" && error !== null) {
    return withDetails(named(newError(error.name, message, error.cause), error), details);
  }
  if (Object.hasOwn(CATALOGUE, errorCode)) {
    return withDetails(new LimpetError(errorCode as ErrorCode, message, deserializeCause(cause)), details);
  }
  // A newer process may send errors that this one does not know. Such an error carries its own verdict.
  return Object.assign(named(new Error(message), { name: "LimpetError", code: errorCode }), { retry });
}

/** Errors of the language keep their class: every process has it. */
const CLASSES = new Map(
  [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((each) => [each.name, each]),
);

function newError(name: string, message: string, cause: SerializedCause | undefined, depth?: number): Error {
  return new (CLASSES.get(name) ?? Error)(message, deserializeCause(cause, depth));
}

/** Leaves out properties that cannot be read: the error itself matters more. */
function withDetails(error: Error, wire: unknown): Error {
  if (wire === undefined) return error;
  try {
    return Object.assign(error, { details: readWire(wire) });
  } catch {
    return error;
  }
}

function deserializeCause(serialized: SerializedCause | undefined, depth = 0): { cause: Error } | undefined {
  if (typeof serialized !== "object" || serialized === null || depth > CAUSES) return undefined;
  return {
    cause: named(newError(serialized.name, String(serialized.message), serialized.cause, depth + 1), serialized),
  };
}

function named(error: Error, { name, code }: { readonly name: string; readonly code?: string | number }): Error {
  // Not enumerable, like on errors of the language.
  Object.defineProperty(error, "name", { value: String(name), configurable: true, writable: true });
  return code === undefined ? error : Object.assign(error, { code });
}

function detailsOf(thrown: unknown): { details?: unknown } {
  const details = read(thrown, "details");
  if (details === undefined) return {};
  try {
    const wire = toWire(details, "details", "RESULT_INVALID");
    return JSON.stringify(wire).length > LIMITS.errorDetailsBytes ? {} : { details: wire };
  } catch {
    return {};
  }
}

function causeOf(thrown: unknown, depth: number): { cause?: SerializedCause } {
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

/** Any value can be thrown, including an object whose properties throw. */
function read(thrown: unknown, key: "name" | "message" | "code" | "cause" | "details" | "stack"): unknown {
  try {
    return typeof thrown === "object" && thrown !== null ? (thrown as Record<string, unknown>)[key] : undefined;
  } catch {
    return undefined;
  }
}
