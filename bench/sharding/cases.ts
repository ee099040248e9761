// The cases of the area `sharding`: cost of shards, and effect of their moves on callers.
import type { BenchCase, Figure } from "../case.ts";
import { warmCases } from "../warm-calls.ts";
import {
  ALLOCATIONS,
  FAILED_CALLS,
  LEADER_TIME,
  STALL_OF_MOVED,
  STALL_OF_OTHERS,
  UNTIL_BALANCED,
  WARM_FIGURES,
  WITH_STATE,
  WITH_STATE_RATIO,
  WITHOUT_STATE,
} from "./figures.ts";

const MILLISECONDS: Figure = { unit: "ms", better: "lower" };

const scaleOut: BenchCase = {
  name: "a third host joins two with 100,000 actors",
  figures: {
    [UNTIL_BALANCED]: MILLISECONDS,
    [STALL_OF_MOVED]: { ...MILLISECONDS, goals: { ours: 50 } },
    [STALL_OF_OTHERS]: MILLISECONDS,
    [FAILED_CALLS]: { unit: "calls", better: "lower", goals: { ours: 0 } },
  },
  ours: {
    module: "sharding/ours-scale-out.ts",
    make: "scaleOut",
    params: { actors: 100_000, watched: 500, everyMs: 50 },
    postgres: true,
  },
  fresh: true,
  slow: true,
};

const take: BenchCase = {
  name: "256 actors are taken in one step, 900 bytes each, PostgreSQL",
  figures: {
    [WITH_STATE]: MILLISECONDS,
    [WITHOUT_STATE]: MILLISECONDS,
    [WITH_STATE_RATIO]: { unit: "× without", better: "lower" },
  },
  ours: { module: "sharding/ours-take.ts", make: "take", params: { actors: 256, bytes: 900 }, postgres: true },
};

const homes: BenchCase = {
  name: "4 hosts ask one leader for 100,000 shards, PostgreSQL",
  figures: {
    [ALLOCATIONS]: { unit: "shards/s", better: "higher" },
    [LEADER_TIME]: { unit: "µs", better: "lower" },
  },
  ours: { module: "sharding/ours-homes.ts", make: "homes", params: { hosts: 4, shards: 100_000 }, postgres: true },
  fresh: true,
  steady: true,
  slow: true,
};

const memory: BenchCase = {
  name: "memory of the leader for 100,000 shards",
  unit: "bytes/shard",
  better: "lower",
  ours: { module: "sharding/ours-memory.ts", make: "leader", params: { shards: 100_000 }, gc: true },
  fresh: true,
  steady: true,
};

export const shardingCases: readonly BenchCase[] = [
  ...warmCases("sharding/ours-warm.ts", WARM_FIGURES),
  scaleOut,
  take,
  homes,
  memory,
];
