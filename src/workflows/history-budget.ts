// How long a history may get. Beyond the suggestion a workflow should continue as new; at the limit it is parked, with a reason.

export const HISTORY_SUGGESTED_EVENTS = 8_000;
export const HISTORY_SUGGESTED_BYTES = 4 * 1024 * 1024;
export const HISTORY_MOST_EVENTS = 50_000;
export const HISTORY_MOST_BYTES = 50 * 1024 * 1024;
