// States of a workflow task as both databases store them. An idle task is in no index but the primary key.
export const IDLE = 0;
export const READY = 1;
export const LEASED = 2;
