// Calendar arithmetic on wall time: milliseconds since 1970 as a wall clock shows them, in any zone.

export const DAY = 86_400_000;

const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** `month` counts from 0 and may be out of range, also below. */
export function daysInMonth(year: number, month: number): number {
  const length = LENGTHS[monthOfYear(month)]!;
  return length === 28 && isLeap(year + Math.floor(month / 12)) ? 29 : length;
}

export const monthOfYear = (month: number): number => ((month % 12) + 12) % 12;

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

/** 0 is Sunday; 1 January 1970 was a Thursday. */
export function weekdayOf(year: number, month: number, day: number): number {
  return (((Date.UTC(year, month, day) / DAY + 4) % 7) + 7) % 7;
}

/**
 * Months first, then days. A day that the month does not have becomes its last one: 31 January and one month
 * is 28 or 29 February. NaN beyond the range of dates.
 */
export function addToWall(wall: number, months: number, days: number): number {
  const timeOfDay = ((wall % DAY) + DAY) % DAY;
  const date = new Date(wall);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth() + months;
  const day = Math.min(date.getUTCDate(), daysInMonth(year, month));
  return Date.UTC(year, month, day) + days * DAY + timeOfDay;
}
