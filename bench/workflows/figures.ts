// What the measurements of workflows are called. Cases and contenders have these names in common.

/** So many workflows are under way at once. */
export const IN_FLIGHT = [1, 10, 50, 1_000] as const;

const inFlight = (count: number): string => `${count.toLocaleString("en-US")} in flight`;

export const rateAt = (count: number): string => `${inFlight(count)}`;
export const p50At = (count: number): string => `${inFlight(count)}, p50`;
export const p99At = (count: number): string => `${inFlight(count)}, p99`;
