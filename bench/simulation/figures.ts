// What the measurements of a simulated cluster are called. Cases and contenders have these names in common.

export const SPEED = "simulated time";
export const EVENTS = "events";
