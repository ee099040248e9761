// As far as any schedule looks ahead.

/** The last millisecond of the year 9999. Nothing is due later. */
export const END_OF_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
