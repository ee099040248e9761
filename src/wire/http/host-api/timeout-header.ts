// Reads the timeout of a caller from a header. Pure.
import { parseDuration } from "../../../kernel/durations.ts";
import { LimpetError } from "../../../kernel/errors.ts";

/** Undefined: the default of the host applies. */
export function parseTimeout(text: string | string[] | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(String(text), "header limpet-timeout");
  if (ms === 0) throw new LimpetError("OPTION_INVALID", "header limpet-timeout must be longer than 0");
  return ms;
}
