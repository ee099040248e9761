// The cases of the area `simulation`: speed of a virtual world.
import type { BenchCase, Params } from "../case.ts";
import { EVENTS, SPEED } from "./figures.ts";

const cluster = (hosts: number, params: Params = {}): BenchCase => ({
  name: `a simulated cluster of ${hosts} hosts`,
  figures: {
    [SPEED]: { unit: "× real time", better: "higher", goals: hosts === 5 ? { ours: 1_000 } : undefined },
    [EVENTS]: { unit: "events/s", better: "higher" },
  },
  ours: { module: "simulation/ours-cluster.ts", make: "cluster", params: { hosts, ...params } },
  steady: hosts > 50,
  slow: hosts > 50,
});

/**
 * All of them in one process. With the usual 100 places on the ring for each host, 500 rings of 50,000 places
 * would change whenever a host comes or goes. With a scheduler in each host, all would read the whole list
 * from the database.
 */
const LARGE = { schedulers: 3, replicationFactor: 8 };

const core = (promises: boolean): BenchCase => ({
  name: promises ? "virtual time, a promise in each step" : "virtual time alone",
  unit: "events/s",
  better: "higher",
  ours: { module: "simulation/ours-timeline.ts", make: "timeline", params: { things: 1_000, promises } },
  floor: { module: "simulation/floor-timeline.ts", make: "heap", params: { things: 1_000 } },
  goals: { ours: 500_000 },
});

export const simulationCases: readonly BenchCase[] = [
  core(false),
  core(true),
  cluster(5),
  cluster(50),
  cluster(500, LARGE),
];
