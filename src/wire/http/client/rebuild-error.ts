// Restores the error from an HTTP answer. Pure. The other half is answers.ts.
import { LimpetError } from "../../../kernel/errors.ts";
import { deserializeError } from "../../../kernel/serialized-error.ts";

/** `where` names the server, in case a proxy or another program sent the answer. */
export function rebuildError(status: number, text: string, where: string): Error {
  const message = `the answer of ${where} (status ${status}) is not from Limpet; check for a proxy in front of it`;
  return deserializeError(parse(text)) ?? new LimpetError("ANSWER_LOST", message);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
