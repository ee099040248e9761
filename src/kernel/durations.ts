// Parses durations such as "30s", "1h30m" and "250ms" into whole milliseconds, and formats them. Defines the
// latest time that a schedule can have.
import { LimpetError } from "./errors.ts";

/**
 * `"30s"`, `"1h30m"`, `"250ms"`, `"3 days"`, or milliseconds as a number. Units: ms, s, m, h, d, or their
 * names.
 */
export type Duration = string | number;

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The longer name first, so that "minutes" is not taken for "m". */
const PART = /(\d+(?:\.\d+)?)(?: ?(millisecond|second|minute|hour|day)s?|(ms|s|m|h|d)) */y;
const NAMES: Record<string, string> = { millisecond: "ms", second: "s", minute: "m", hour: "h", day: "d" };
const MAX_MS = Number.MAX_SAFE_INTEGER;
/** Longer texts are rejected before they are parsed. */
const MAX_TEXT = 200;
const SHOWN_CHARS = 60;

/** `what` names the setting in the error: `idleTimeout`, `--drain-timeout`. */
export function parseDuration(value: Duration, what: string): number {
  const ms = typeof value === "number" ? value : parseText(value);
  if (!Number.isFinite(ms) || ms < 0 || ms > MAX_MS) {
    const short = typeof value === "string" && value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value;
    throw new LimpetError(
      "OPTION_INVALID",
      `${what}: ${JSON.stringify(short)} is not a duration; write for example "30s", "1h30m" or "250ms"`,
    );
  }
  return Math.round(ms);
}

function parseText(text: string): number {
  if (typeof text !== "string" || text.length > MAX_TEXT) return Number.NaN;
  const trimmed = text.trim();
  let total = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < trimmed.length) {
    const part = PART.exec(trimmed);
    if (part === null) return Number.NaN;
    const [, count, name, unit] = part;
    total += Number(count) * UNITS[unit ?? NAMES[name!]!]!;
  }
  return trimmed === "" ? Number.NaN : total;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  let rest = Math.round(ms / 1_000);
  let text = "";
  for (const [unit, size] of [
    ["d", 86_400],
    ["h", 3_600],
    ["m", 60],
    ["s", 1],
  ] as const) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}

/** The last millisecond of the year 9999. Nothing is due later. */
export const END_OF_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Clamps a time to the range from 1970 to the end of time. Sums of durations can exceed every date. */
export const inTime = (ms: number): number => Math.min(Math.max(ms, 0), END_OF_TIME);

/** Formats a time for display and for other programs. It never throws, whatever was stored. */
export const isoMoment = (ms: number): string => new Date(Number.isNaN(ms) ? 0 : inTime(ms)).toISOString();
