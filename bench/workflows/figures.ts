// Names of the figures of workflows, shared by cases and contenders.

const inWords = (count: number): string => count.toLocaleString("en-US");

/** Numbers of workflows in progress at once. */
export const IN_FLIGHT = [1, 10, 50, 1_000] as const;

export const rateAt = (count: number): string => `${inWords(count)} in flight`;
export const p50At = (count: number): string => `${inWords(count)} in flight, p50`;
export const p99At = (count: number): string => `${inWords(count)} in flight, p99`;

export const ALL_STEPS = "all";
export const FIRST_HUNDRED = "first hundred";
export const LAST_HUNDRED = "last hundred";
export const LAST_BY_FIRST = "last hundred divided by first";

export const replayOf = (steps: number): string => `${inWords(steps)} steps`;

export const WAKE_SHORT = "time, short history";
export const WAKE_LONG = "time, long history";
export const WAKE_RATIO = "time, long divided by short";
export const BYTES_SHORT = "bytes, short history";
export const BYTES_LONG = "bytes, long history";
export const BYTES_RATIO = "bytes, long divided by short";

export const STARTED = "started";
export const HEAP_WITHOUT = "heap of a worker without any";
export const HEAP_STARTER = "heap of the worker that started them";
export const HEAP_IDLE = "heap of an idle worker";
export const LATE_P50 = "distance from their moment, p50";
export const LATE_P99 = "distance from their moment, p99";
