// Names of the figures of sharded actors, shared by cases and contenders.

/** Warm calls: the rate of sharded ones, the rate of those placed by hash, and their ratio. */
export const WARM_FIGURES = ["sharded", "by hash", "sharded divided by hash"] as const;

export const ALLOCATIONS = "homes";
export const LEADER_TIME = "processor time of the leader for each";

export const UNTIL_BALANCED = "from the first move to the last";
export const STALL_OF_MOVED = "longest wait of a call to one that moved, p99";
export const STALL_OF_OTHERS = "longest wait of a call to one that stayed, p99";
export const FAILED_CALLS = "failed calls";

export const WITH_STATE = "with state";
export const WITHOUT_STATE = "without";
export const WITH_STATE_RATIO = "with state divided by without";
