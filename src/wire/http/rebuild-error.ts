// From what a door answered back to the error that it told of. Pure. The other half is answers.ts.
import { LimpetError } from "../../kernel/errors.ts";
import { deserializeError } from "../../kernel/serialized-error.ts";

/** `where` names the server, for the case that what answered was something else, say a proxy. */
export function rebuildError(status: number, text: string, where: string): Error {
  const message = `the answer of ${where} (status ${status}) is not one of Limpet; is something in front of it?`;
  return deserializeError(parse(text)) ?? new LimpetError("ANSWER_LOST", message);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
