// Names of the figures of a cluster, shared by cases and contenders.

export const GAP_OF_MOVED = "longest gap of actors that moved";
export const GAP_OF_OTHERS = "longest gap of the others";
export const FAILED_CALLS = "failed calls";

export const TIME_TO_UNLOCK = "from join to last UNLOCK";
export const LOCKED = "locked at the others";
export const BYTES_SENT = "bytes sent";

export const RING_JOIN = "a host joins";
export const RING_LEAVE = "a host leaves";
export const RING_LOOKUPS = "owners of ids";
