// Moments as text: RFC 3339 ("2026-03-01T09:00:00Z", "2026-03-01T09:00:00.5+01:00"), and without an offset as
// a wall clock of a time zone shows them ("2026-03-01T09:00").

import { daysInMonth } from "./calendar.ts";
import { MAX_TEXT } from "./rejection.ts";
import type { Zone } from "./zone.ts";

const FORM = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?$/;

/** The text is meant as a moment, valid or not. */
export const looksLikeInstant = (text: string): boolean => /^[+-]?\d{4,}-\d/.test(text);

/** The text has no offset, and needs a time zone. */
export const isLocalInstant = (text: string): boolean => looksLikeInstant(text) && FORM.exec(text)?.[8] === undefined;

/**
 * Milliseconds since 1970. Fractions of a millisecond are rounded `up` for the earliest moment of an event,
 * and `down` for the latest. "no zone": the text has no offset, and no zone was given.
 */
export function parseInstant(
  text: string,
  zone: Zone | undefined,
  round: "up" | "down",
): number | "no zone" | undefined {
  const match = text.length > MAX_TEXT ? null : FORM.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((digits) => Number(digits ?? 0));
  if (month! < 1 || month! > 12 || day! < 1 || day! > daysInMonth(year!, month! - 1)) return undefined;
  if (hour! > 23 || minute! > 59 || second! > 59) return undefined;
  const fraction = match[7] ?? "";
  const finer = round === "up" && /[1-9]/.test(fraction.slice(3)) ? 1 : 0;
  const ms = Number(fraction.slice(0, 3).padEnd(3, "0")) + finer;
  // Two steps, because Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const wall =
    new Date(0).setUTCFullYear(year!, month! - 1, day!) + ((hour! * 60 + minute!) * 60 + second!) * 1_000 + ms;
  const offset = match[8];
  if (offset === undefined) return zone === undefined ? "no zone" : zone.firstMomentOf(wall);
  if (offset === "Z") return wall;
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(4))];
  if (hours > 23 || minutes > 59) return undefined;
  const size = (hours * 60 + minutes) * 60_000;
  return offset.startsWith("-") ? wall + size : wall - size;
}
