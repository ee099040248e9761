// Names of the figures of a simulated cluster, shared by cases and contenders.

export const SPEED = "simulated time";
export const EVENTS = "events";
