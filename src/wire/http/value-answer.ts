// Encodes a value as an answer: plain JSON, or the exact encoding on request. Pure.
import { EXACT_TYPE, encodeResult } from "../exact.ts";
import { emptyAnswer, type HttpAnswer, textAnswer } from "./answers.ts";
import { isExactType } from "./body.ts";
import { plainJson } from "./plain-json.ts";

export interface Encoding {
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
