// Parses the schedule options of a reminder into plain data for the store. Invalid options are rejected here
// with a valid alternative, so that later code needs no checks.
import { showValue } from "../../kernel/check.ts";
import { type Duration, END_OF_TIME, parseDuration } from "../../kernel/durations.ts";
import type { Missed, ScheduleOptions } from "../../ports/reminder-options.ts";
import { isLocalInstant, looksLikeInstant, parseInstant } from "./instant.ts";
import { exactly, isFixedPeriod, type Period, parseIsoDuration } from "./period.ts";
import { checkText, reject } from "./rejection.ts";
import { composeSchedule, type Moment, type Parts } from "./schedule-rules.ts";
import { type Zone, zoneOf } from "./zone.ts";

export type { Missed, ScheduleOptions } from "../../ports/reminder-options.ts";

/** When a reminder ticks, as plain data that survives JSON. Without `every` and `cron` it ticks once. */
export interface Schedule {
  /** Milliseconds since 1970, as all moments here. */
  readonly first: number;
  readonly every?: Period;
  readonly cron?: string;
  /** Present when `cron` or the calendar of `every` needs it. */
  readonly timezone?: string;
  readonly until?: number;
  readonly times?: number;
  readonly missed: Missed;
}

const NAMES = { whole: "schedule", due: "due", every: "every", repeat: '"every" or "cron"' };
const LENGTHS = '"15m", "1h30m", 500 (milliseconds) or "P1D"';
const MOMENTS = 'a Date or "2026-03-01T09:00:00Z"';
/**
 * September 2001 as milliseconds since 1970. As a length of time it is 31 years, for which milliseconds are
 * implausible.
 */
const LOOKS_LIKE_A_MOMENT = 1e12;

export function resolveSchedule(options: ScheduleOptions, now: number): Schedule {
  if (typeof options !== "object" || options === null) {
    reject("schedule", `${showValue(options)} is not an object; write for example { every: "15m" }`);
  }
  const { due, every, cron, timezone, ttl, until, times, missed } = options;
  if (timezone !== undefined) checkText(timezone, "timezone", 'write for example "Europe/Paris"');
  const zone = timezone === undefined ? undefined : zoneOf(timezone);
  if (ttl !== undefined && until !== undefined) {
    reject("until", "excludes ttl; give one of them: until for a moment, ttl for a length of time");
  }
  const repetition = every === undefined ? undefined : readEvery(every);
  if (times !== undefined && repetition?.times !== undefined && repetition.times !== times) {
    reject("times", `${showValue(times)} is not the number in every: ${showValue(every)}; leave one of them out`);
  }
  const parts: Parts = {
    due: due === undefined ? undefined : readDue(due, zone),
    every: repetition?.period,
    cron,
    timezone,
    end: ttl !== undefined ? readTtl(ttl) : until !== undefined ? readUntil(until, zone) : undefined,
    endName: ttl !== undefined ? "ttl" : "until",
    times: times ?? repetition?.times,
    missed,
  };
  const schedule = composeSchedule(parts, now, NAMES);
  if (timezone !== undefined && !needsZone(parts, due, until)) {
    reject(
      "timezone",
      'nothing here depends on it; leave it out, or say calendar days as ISO 8601 ("P1D" and not "1d"), or a moment without an offset',
    );
  }
  return schedule;
}

const isCalendar = (period: Period | undefined): boolean => period !== undefined && !isFixedPeriod(period);

function needsZone({ due, every, cron, end }: Parts, dueText: unknown, untilText: unknown): boolean {
  if (cron !== undefined || isCalendar(every) || isCalendar(due?.after) || isCalendar(end?.after)) return true;
  return [dueText, untilText].some((text) => typeof text === "string" && isLocalInstant(text));
}

function readDue(value: unknown, zone: Zone | undefined): Moment {
  if (value instanceof Date) return { at: value.getTime() };
  if (typeof value === "string" && looksLikeInstant(value)) return { at: readInstant("due", value, zone, "up") };
  const { period, times } = readLength("due", value, `${LENGTHS}, ${MOMENTS}`);
  if (times !== undefined) reject("due", `${showValue(value)} repeats, and what is due is due once; move it to every`);
  return { after: period };
}

function readEvery(value: unknown): { period: Period; times?: number } {
  if (typeof value === "string" && looksLikeInstant(value)) {
    reject("every", `${showValue(value)} is a moment; write a length of time, for example ${LENGTHS}`);
  }
  const length = readLength("every", value, `${LENGTHS}, "R5/PT10S"`);
  if (length.times === 0) reject("every", `${showValue(value)} never ticks; write R1 or more, or leave R0/ out`);
  return length;
}

function readTtl(value: unknown): Moment {
  if (value instanceof Date || (typeof value === "string" && looksLikeInstant(value))) {
    reject(
      "ttl",
      `${showValue(value)} is a moment; give it as until, or write a length of time, for example ${LENGTHS}`,
    );
  }
  const { period, times } = readLength("ttl", value, LENGTHS);
  if (times !== undefined) reject("ttl", `${showValue(value)} repeats; write it without R${times}/`);
  return { after: period };
}

function readUntil(value: unknown, zone: Zone | undefined): Moment {
  if (value instanceof Date) return { at: value.getTime() };
  if (typeof value !== "string" || !looksLikeInstant(value)) {
    reject("until", `${showValue(value)} is not a moment; write ${MOMENTS}, or give a length of time as ttl`);
  }
  return { at: readInstant("until", value, zone, "down") };
}

function readInstant(what: string, text: string, zone: Zone | undefined, round: "up" | "down"): number {
  checkText(text, what, `write ${MOMENTS}`);
  const moment = parseInstant(text, zone, round);
  if (moment === undefined) reject(what, `${showValue(text)} is not a moment; write ${MOMENTS}`);
  if (moment === "no zone") {
    reject(what, `${showValue(text)} does not say where; add Z or an offset like +01:00 to it, or give timezone`);
  }
  return moment;
}

function readLength(what: string, value: unknown, instead: string): { period: Period; times?: number } {
  const wrong = (): never => reject(what, `${showValue(value)} is not understood; write for example ${instead}`);
  if (typeof value === "number" && value >= LOOKS_LIKE_A_MOMENT && value <= END_OF_TIME) {
    reject(what, `${value} looks like a moment; write new Date(${value}), or a length of time as text ("12000d")`);
  }
  if (typeof value === "number") return { period: exactly(readDuration(value) ?? wrong()) };
  checkText(value, what, `write for example ${instead}`);
  if (/^R\d*$/.test(value)) {
    reject(what, `${showValue(value)} has a count and no period; write for example "R5/PT10S"`);
  }
  if (/^[RP]/.test(value)) return parseIsoDuration(value) ?? wrong();
  return { period: exactly(readDuration(value) ?? wrong()) };
}

function readDuration(value: Duration): number | undefined {
  try {
    return parseDuration(value, "");
  } catch {
    return undefined;
  }
}
