// All faults of shards: in every phase of allocation and hand-off, a participant dies, hangs, or misses a
// message. Each of these faults has hosts leave and return, so that shards move.
export * from "./allocation.ts";
export * from "./hand-off.ts";
export * from "./load.ts";
export * from "./operators.ts";
export * from "./remembered.ts";
