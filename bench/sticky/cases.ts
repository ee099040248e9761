// The cases of the area `sticky`: cost and benefit of actors that stay on their hosts.
import type { BenchCase, Figure, Params, Peer } from "../case.ts";
import { warmCases } from "../warm-calls.ts";
import {
  ACQUISITIONS,
  DRAINED_BY_LEAVING,
  DRAINED_BY_STAYING,
  LEADER_TIME,
  LEADER_TOTAL,
  p50At,
  p99At,
  UNTIL_GRANTS,
  WARM_FIGURES,
} from "./figures.ts";

const MILLISECONDS: Figure = { unit: "ms", better: "lower" };

const byHash = (module: string, make: string, params: Params): Peer => ({
  name: "hash placement",
  module,
  make,
  params: { ...params, placement: "hash" },
});

const cold = (state: boolean, levels: readonly number[]): BenchCase => {
  const params = { inFlight: levels.join(), state };
  const [module, make, postgres] = ["sticky/ours-cold.ts", "firstCalls", true];
  return {
    name: state ? "first call to an actor with state" : "first call to an actor",
    figures: Object.fromEntries(
      levels.flatMap((inFlight) => [
        [p50At(inFlight), MILLISECONDS],
        [p99At(inFlight), MILLISECONDS],
      ]),
    ),
    ours: { module, make, params: { ...params, placement: "sticky" }, postgres },
    peers: [{ ...byHash(module, make, params), postgres }],
    steady: state,
    slow: state,
  };
};

const acquisitions: BenchCase = {
  name: "4 hosts ask one leader, 4,000 in flight",
  figures: {
    [ACQUISITIONS]: { unit: "actors/s", better: "higher", goals: { ours: 50_000 } },
    // Processor time of 50,000 of them in a second.
    [LEADER_TIME]: { unit: "µs", better: "lower", goals: { ours: 20 } },
  },
  ours: { module: "sticky/ours-acquisitions.ts", make: "acquisitions", params: { hosts: 4, inFlight: 4_000 } },
};

const memory: BenchCase = {
  name: "memory of the leader for 1,000,000 actors",
  unit: "bytes/actor",
  better: "lower",
  ours: { module: "sticky/ours-memory.ts", make: "owners", params: { actors: 1_000_000 }, gc: true },
  floor: { module: "sticky/floor-memory.ts", make: "owners", params: { actors: 1_000_000 }, gc: true },
  goals: { ours: 200 },
  fresh: true,
  steady: true,
};

const CHURN = { hosts: 10, guests: 10, actors: 10_000, born: 100 } as const;

const churn: BenchCase = {
  name: "10 hosts join and leave 10 others with 10,000 actors, simulated",
  figures: {
    [DRAINED_BY_STAYING]: { unit: "actors", better: "lower", goals: { ours: 0 } },
    [DRAINED_BY_LEAVING]: { unit: "actors", better: "lower" },
  },
  ours: { module: "sticky/ours-churn.ts", make: "churn", params: { ...CHURN, placement: "sticky" } },
  peers: [byHash("sticky/ours-churn.ts", "churn", CHURN)],
  steady: true,
  slow: true,
};

const failover: BenchCase = {
  name: "the leader changes, 10 hosts hold 1,000,000 actors",
  figures: { [UNTIL_GRANTS]: MILLISECONDS, [LEADER_TOTAL]: MILLISECONDS },
  ours: { module: "sticky/ours-failover.ts", make: "failover", params: { hosts: 10, actors: 1_000_000 } },
  fresh: true,
  steady: true,
  slow: true,
};

export const stickyCases: readonly BenchCase[] = [
  ...warmCases("sticky/ours-warm.ts", WARM_FIGURES),
  cold(false, [1, 64, 256]),
  cold(true, [1, 64, 256]),
  acquisitions,
  memory,
  churn,
  failover,
];
