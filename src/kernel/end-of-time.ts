// The latest time that a schedule can have.

/** The last millisecond of the year 9999. Nothing is due later. */
export const END_OF_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Clamps a time to the range from 1970 to the end of time. Sums of durations can exceed every date. */
export const inTime = (ms: number): number => Math.min(Math.max(ms, 0), END_OF_TIME);

/** Formats a time for display and for other programs. It never throws, whatever was stored. */
export const isoMoment = (ms: number): string => new Date(Number.isNaN(ms) ? 0 : inTime(ms)).toISOString();
