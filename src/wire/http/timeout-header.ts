// Reads the longest wait of a caller from a header. Pure.
import { parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";

/** Undefined: the caller leaves it to the host. */
export function parseTimeout(text: string | string[] | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(String(text), "header limpet-timeout");
  if (ms === 0) throw new LimpetError("OPTION_INVALID", "header limpet-timeout: must be longer than nothing");
  return ms;
}
