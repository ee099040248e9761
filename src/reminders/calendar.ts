// Arithmetic of the calendar on wall time: milliseconds since 1970 as a clock on the wall shows them, whatever the zone.

export const DAY = 86_400_000;

/** The last millisecond of the year 9999. Nothing is due later. */
export const END_OF_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** `month` counts from 0 and may be out of range. */
export function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
}

/** 0 is Sunday. */
export function weekdayOf(year: number, month: number, day: number): number {
  return new Date(Date.UTC(year, month, day)).getUTCDay();
}

/**
 * Months first, then days. A day the month does not have becomes its last one: 31 January and one month is 28 or 29
 * February. NaN when that is out of all reach.
 */
export function addToWall(wall: number, months: number, days: number): number {
  const timeOfDay = ((wall % DAY) + DAY) % DAY;
  const date = new Date(wall);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth() + months;
  const day = Math.min(date.getUTCDate(), daysInMonth(year, month));
  return Date.UTC(year, month, day) + days * DAY + timeOfDay;
}
