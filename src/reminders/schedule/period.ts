// A length of time in a schedule: months and days are stepped on the calendar of a time zone, milliseconds
// are exact. Steps are counted from the start and never from the step before, so no error accumulates.
import { END_OF_TIME } from "../../kernel/durations.ts";
import { addToWall, DAY } from "./calendar.ts";
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
