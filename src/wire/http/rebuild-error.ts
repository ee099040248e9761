// From what a door answered back to the error that it told of. Pure. The other half is answers.ts.

import { CATALOGUE, type ErrorCode, LimpetError, type Verdict } from "../../kernel/errors.ts";
import type { ToldCause } from "./answers.ts";

/** `where` names the server, for the case that what answered was something else, say a proxy. */
export function rebuildError(status: number, text: string, where: string): Error {
  const told = parse(text);
  if (told === undefined) {
    const message = `the answer of ${where} (status ${status}) is not one of Limpet; is something in front of it?`;
    return new LimpetError("ANSWER_LOST", message);
  }
  const { errorCode, message, retry, error } = told;
  if (error !== undefined) return named(new Error(message, rebuildCause(error.cause)), error);
  if (Object.hasOwn(CATALOGUE, errorCode)) return new LimpetError(errorCode as ErrorCode, message);
  // A newer server may know errors that this client does not. What may be done about them it says itself.
  return Object.assign(named(new Error(message), { name: "LimpetError", code: errorCode }), { retry });
}

function rebuildCause(told: ToldCause | undefined): { cause: Error } | undefined {
  if (typeof told !== "object" || told === null) return undefined;
  return { cause: named(new Error(String(told.message), rebuildCause(told.cause)), told) };
}

interface Told {
  readonly errorCode: string;
  readonly message: string;
  readonly retry: Verdict;
  readonly error?: { readonly name: string; readonly code?: string | number; readonly cause?: ToldCause };
}

function parse(text: string): Told | undefined {
  let told: Partial<Told> | null;
  try {
    told = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof told !== "object" || told === null) return undefined;
  const { errorCode, message, retry = "unknown", error } = told;
  if (typeof errorCode !== "string" || typeof message !== "string") return undefined;
  if (typeof error !== "object" || error === null) return { errorCode, message, retry };
  return { errorCode, message, retry, error };
}

function named(error: Error, { name, code }: { readonly name: string; readonly code?: string | number }): Error {
  // As on errors of the language: not among the properties that are listed.
  Object.defineProperty(error, "name", { value: String(name), configurable: true, writable: true });
  return code === undefined ? error : Object.assign(error, { code });
}
