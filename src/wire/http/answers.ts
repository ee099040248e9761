// What goes back: a status, a few headers, a text. Pure. A stack never leaves the process.
import { STATUS_CODES } from "node:http";
import { CATALOGUE, LimpetError } from "../../kernel/errors.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

const JSON_TYPE = "application/json; charset=utf-8";
/** A guess; the door does not know when a mailbox will be empty or a store back. */
const RETRY_AFTER_SECONDS = "1";

export function textAnswer(status: number, type: string, body: string): Answer {
  return { status, headers: { "content-type": type }, body };
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return textAnswer(status, JSON_TYPE, JSON.stringify(value));
}

export function emptyAnswer(status: number): Answer {
  return { status, headers: {} };
}

export function errorAnswer(error: LimpetError, headers: Readonly<Record<string, string>> = {}): Answer {
  const { code, message, retry, status } = error;
  return withExtras(jsonAnswer(status, { errorCode: code, message, retry }), {
    ...(retry === "later" ? { "retry-after": RETRY_AFTER_SECONDS } : {}),
    ...(code === "UNAUTHENTICATED" ? { "www-authenticate": "Bearer" } : {}),
    ...(code === "ENCODING_UNSUPPORTED" ? { "accept-encoding": "identity" } : {}),
    ...headers,
  });
}

/** What an actor's method threw, told to its caller: what it is called and what it says. */
export function thrownAnswer(thrown: unknown): Answer {
  if (thrown instanceof LimpetError) return errorAnswer(thrown);
  const { status, retry } = CATALOGUE.ACTOR_FAILED;
  const error = { ...nameOf(thrown), ...causeOf(thrown, 0) };
  return jsonAnswer(status, { errorCode: "ACTOR_FAILED", message: messageOf(thrown), retry, error });
}

/** A cause, as it is told: what it is called, what it says, and its own cause. */
export interface ToldCause {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly cause?: ToldCause;
}

/** Causes may lead in a circle. */
const CAUSES = 5;

function causeOf(thrown: unknown, depth: number): { cause?: ToldCause } {
  const cause = read(thrown, "cause");
  if (cause === undefined || depth >= CAUSES) return {};
  return { cause: { ...nameOf(cause), message: messageOf(cause), ...causeOf(cause, depth + 1) } };
}

function messageOf(thrown: unknown): string {
  const message = read(thrown, "message");
  if (typeof message === "string") return message;
  return typeof thrown === "string" ? thrown : `the actor threw a value of type ${typeof thrown}`;
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

function withExtras(answer: Answer, headers: Readonly<Record<string, string>>): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** Said to everybody: nothing here is for a cache, nor to be guessed at. */
export const COMMON_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** The same answer as bytes for a bare socket, where there is no request to answer to. The connection closes. */
export function rawAnswer(answer: Answer): string {
  const body = answer.body ?? "";
  const headers = {
    ...COMMON_HEADERS,
    ...answer.headers,
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}
