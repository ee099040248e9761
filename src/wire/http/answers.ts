// Builds HTTP answers: a status, headers and a text. Pure. A stack never leaves the process.
import { STATUS_CODES } from "node:http";
import { CATALOGUE, type ErrorCode, isLimpetError, type LimpetError } from "../../kernel/errors.ts";
import { serializeError } from "../../kernel/serialized-error.ts";
import { EXACT_TYPE, encodeResult } from "../exact.ts";
import { isExactType } from "./body.ts";
import { plainJson } from "./plain-json.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const JSON_TYPE = "application/json; charset=utf-8";
/** An estimate: the server does not know when a mailbox will be empty or a store available. */
const RETRY_AFTER_SECONDS = "1";

export function textAnswer(status: number, type: string, body: string): HttpAnswer {
  return { status, headers: { "content-type": type }, body };
}

export function jsonAnswer(status: number, value: unknown): HttpAnswer {
  return textAnswer(status, JSON_TYPE, JSON.stringify(value));
}

export function emptyAnswer(status: number): HttpAnswer {
  return { status, headers: {} };
}

export function errorAnswer(error: LimpetError, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  const { code, message, retry, status } = error;
  return withExtras(jsonAnswer(status, { errorCode: code, message, retry }), {
    ...(retry === "later" ? { "retry-after": RETRY_AFTER_SECONDS } : {}),
    ...(code === "UNAUTHENTICATED" ? { "www-authenticate": "Bearer" } : {}),
    ...(code === "ENCODING_UNSUPPORTED" ? { "accept-encoding": "identity" } : {}),
    ...headers,
  });
}

/**
 * Sent when the server itself rejects a request: nothing of it has begun. Errors of a call cannot claim this,
 * whatever their verdict. An actor may pass on the error of a call that it made during its turn.
 */
export const NOT_DELIVERED = { "limpet-delivered": "no" } as const;

/**
 * Codes whose cause is an error of the user's code. Other causes go to the log only: they may name machines
 * and statements.
 */
const CAUSED_BY_USERS: ReadonlySet<ErrorCode> = new Set([
  ...(["ACTOR_FAILED", "ACTIVITY_FAILED", "WORKFLOW_FAILED"] as const),
  ...(["QUERY_FAILED", "UPDATE_FAILED", "UPDATE_REJECTED"] as const),
]);

/** Answers with the error that an actor's method threw: its name, code and message. */
export function thrownAnswer(thrown: unknown): HttpAnswer {
  if (!isLimpetError(thrown)) return jsonAnswer(CATALOGUE.ACTOR_FAILED.status, serializeError(thrown));
  const { headers, status } = errorAnswer(thrown);
  const { cause, ...serialized } = serializeError(thrown);
  const isUsers = cause !== undefined && CAUSED_BY_USERS.has(thrown.code);
  return { headers, status, body: JSON.stringify(isUsers ? { ...serialized, cause } : serialized) };
}

function withExtras(answer: HttpAnswer, headers: Readonly<Record<string, string>>): HttpAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** Headers of every answer: no cache may store it, and no client may guess its type. */
export const COMMON_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** The same answer as bytes for a bare socket without a request. The connection closes. */
export function rawAnswer(answer: HttpAnswer): string {
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

/** The encoding of a value in an answer: plain JSON, or the exact encoding on request. */
interface Encoding {
  readonly type: string;
  /** `undefined`: the answer has no body. */
  encode(value: unknown): string | undefined;
}

/** SDKs of Dapr parse every answer as JSON, so `undefined` becomes `null` and not an empty body. */
const PLAIN: Encoding = {
  type: "application/json; charset=utf-8",
  encode: (value) => (value === undefined ? undefined : plainJson(value)) ?? "null",
};
const EXACT: Encoding = {
  type: EXACT_TYPE,
  encode: (value) => (value === undefined ? undefined : encodeResult(value)),
};

/** `exactBody`: the request used the exact encoding; a client that accepts any type then gets it too. */
export function encodingFor(accept: string | undefined, exactBody: boolean): Encoding {
  const isAny = accept === undefined || accept === "*/*";
  const wantsExact = isAny ? exactBody : accept.split(",").some((type) => isExactType(type));
  return wantsExact ? EXACT : PLAIN;
}

export function valueAnswer(value: unknown, { type, encode }: Encoding): HttpAnswer {
  const text = encode(value);
  return text === undefined ? emptyAnswer(204) : textAnswer(200, type, text);
}
