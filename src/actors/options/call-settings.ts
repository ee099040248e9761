// Checks the settings of a call when the caller passes them: a misspelt setting would have no effect, and go
// unnoticed.
import { parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { CallSettings } from "../routing/remote.ts";

const KNOWN: Record<keyof CallSettings, true> = { timeout: true, signal: true };

/** Throws OPTION_INVALID. */
export function readCallSettings(settings: CallSettings): { signal?: AbortSignal; timeoutMs?: number } {
  if (typeof settings !== "object" || settings === null) {
    throw new LimpetError("OPTION_INVALID", `settings of a call must be an object such as { timeout: "5s" }`);
  }
  for (const name in settings) {
    if (Object.hasOwn(KNOWN, name)) continue;
    const known = Object.keys(KNOWN);
    const hint = didYouMean(name, known) || `; known are ${known.join(", ")}`;
    throw new LimpetError("OPTION_INVALID", `settings of a call have no "${name}"${hint}`);
  }
  const { signal, timeout } = settings;
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new LimpetError("OPTION_INVALID", "signal must be an AbortSignal");
  }
  return { signal, timeoutMs: timeout === undefined ? undefined : parseDuration(timeout, "timeout") };
}
