// A length of time in a schedule: months and days are stepped on the calendar of a time zone, milliseconds
// are exact. Steps are counted from the start and never from the step before, so no error accumulates. Texts
// are ISO 8601 durations.
import { END_OF_TIME } from "../../kernel/durations.ts";
import { addToWall, DAY } from "./calendar.ts";
import { MAX_TEXT } from "./rejection.ts";
import type { Zone } from "./zone.ts";

export interface Period {
  readonly months: number;
  readonly days: number;
  readonly ms: number;
}

/** A year of the Gregorian calendar is 365.2425 days; a month is a twelfth of it. */
const AVERAGE_MONTH = 30.436_875 * DAY;

export const exactly = (ms: number): Period => ({ months: 0, days: 0, ms });

export const isFixedPeriod = (period: Period): boolean => period.months === 0 && period.days === 0;

export const averageLength = (period: Period): number => period.months * AVERAGE_MONTH + period.days * DAY + period.ms;

/** `start` plus so many periods; Infinity after the end of time. */
export function stepsFrom(start: number, period: Period, steps: number, zone: Zone): number {
  if (steps === 0) return start;
  const exact = period.ms * steps;
  if (isFixedPeriod(period)) return inTime(start + exact);
  const wall = addToWall(zone.wallAt(start), period.months * steps, period.days * steps);
  return wall > END_OF_TIME + DAY || Number.isNaN(wall)
    ? Number.POSITIVE_INFINITY
    : inTime(zone.firstMomentOf(wall) + exact);
}

/** NaN, the value of dates out of range, is not in time either. */
const inTime = (moment: number): number => (moment <= END_OF_TIME ? moment : Number.POSITIVE_INFINITY);

/**
 * "P1M", "P1DT12H", "PT0.5S", and "R5/PT10S" for five times. Upper case, whole numbers, and seconds down to
 * the millisecond.
 */
const ISO_FORM =
  /^(?:R(\d{1,15})\/)?P(?=.)(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,12})M)?(?:(\d{1,12})(?:\.(\d{1,3})0*)?S)?)?$/;

export interface IsoDuration {
  readonly period: Period;
  /** The number of ticks in all, if the text has one. */
  readonly times?: number;
}

/** Undefined: not an ISO duration. */
export function parseIsoDuration(text: string): IsoDuration | undefined {
  const match = text.length > MAX_TEXT ? null : ISO_FORM.exec(text);
  if (match === null) return undefined;
  const [times, years, months, weeks, days, hours, minutes, seconds, fraction] = match.slice(1);
  const count = (digits: string | undefined): number => Number(digits ?? 0);
  const period: Period = {
    months: count(years) * 12 + count(months),
    days: count(weeks) * 7 + count(days),
    ms: ((count(hours) * 60 + count(minutes)) * 60 + count(seconds)) * 1_000 + count(fraction?.padEnd(3, "0")),
  };
  return times === undefined ? { period } : { period, times: Number(times) };
}

export function formatIsoDuration({ months, days, ms }: Period): string {
  const part = (count: number, unit: string): string => (count === 0 ? "" : `${count}${unit}`);
  const date = part(Math.floor(months / 12), "Y") + part(months % 12, "M") + part(days, "D");
  const time = ms === 0 && date !== "" ? "" : `T${ms / 1_000}S`;
  return `P${date}${time}`;
}
