// Names of the figures of reminders, shared by cases and contenders.

export const P50 = "p50";
export const P99 = "p99";

export const SET_RATE = "set";
export const NOT_FIRED = "not fired";
export const FIRED_TWICE = "fired twice";
export const LATE_P50 = "lateness, p50";
export const LATE_P99 = "lateness, p99";

export const CROWD_RATE = "handled";
export const CROWD_MEMORY = "memory on top";

export const PLAIN = "without";
export const BURDENED = "with";
export const BURDEN_RATIO = "with divided by without";
