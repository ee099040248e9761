// Durations as Go writes them: "1h30m0s", "1.5s", "100ms". Counted in whole nanoseconds, so that no fraction
// is lost on the way to milliseconds.
import { MAX_TEXT } from "./rejection.ts";

const NANOSECONDS: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n, // The micro sign,
  "\u03bcs": 1_000n, // and the Greek letter that looks like it.
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const PART = /(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/**
 * Nanoseconds; undefined: not a duration, or negative. Longer texts are rejected: parsing millions of digits
 * takes seconds.
 */
export function parseGoDuration(text: string): bigint | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const unsigned = text.startsWith("+") ? text.slice(1) : text;
  if (unsigned === "0") return 0n;
  let total = 0n;
  PART.lastIndex = 0;
  while (PART.lastIndex < unsigned.length) {
    const [, whole = "", fraction = "", unit] = PART.exec(unsigned) ?? [];
    if (unit === undefined || (whole === "" && fraction === "")) return undefined;
    const size = NANOSECONDS[unit]!;
    total += BigInt(whole) * size + (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  return unsigned === "" ? undefined : total;
}

/** As Go prints it: "100ms", "1.5s", "1h30m0s". */
export function formatGoDuration(ms: number): string {
  if (ms < 1_000) return ms === 0 ? "0s" : `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = `${(ms % 60_000) / 1_000}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes}m${seconds}` : `${hours}h${minutes % 60}m${seconds}`;
}
