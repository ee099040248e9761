// As far as any schedule looks ahead.

/** The last millisecond of the year 9999. Nothing is due later. */
export const END_OF_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The nearest moment from 1970 to the end of time. Sums of durations can be later than any date is. */
export const inTime = (ms: number): number => Math.min(Math.max(ms, 0), END_OF_TIME);

/** For people and other programs. It never throws, whatever was stored. */
export const isoMoment = (ms: number): string => new Date(Number.isNaN(ms) ? 0 : inTime(ms)).toISOString();
