// What the measurements of sharded actors are called. Cases and contenders have these names in common.

export const SHARDED_CALLS = "sharded";
export const HASH_CALLS = "by hash";
export const CALL_RATIO = "sharded divided by hash";

export const ALLOCATIONS = "homes";
export const LEADER_TIME = "processor time of the leader for each";

export const UNTIL_BALANCED = "from the first move to the last";
export const STALL_OF_MOVED = "longest wait of a call to one that moved, p99";
export const STALL_OF_OTHERS = "longest wait of a call to one that stayed, p99";
export const FAILED_CALLS = "failed calls";
