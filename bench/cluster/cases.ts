// The cases of the area `cluster`: several hosts together.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BenchCase, Figure, Params, Peer } from "../case.ts";
import { type DisturbanceEvent, EVENTS } from "./disturbance.ts";
import {
  BYTES_SENT,
  FAILED_CALLS,
  GAP_OF_MOVED,
  GAP_OF_OTHERS,
  LOCKED,
  RING_JOIN,
  RING_LEAVE,
  RING_LOOKUPS,
  TIME_TO_UNLOCK,
} from "./figures.ts";

const effectCluster = (make: string, params: Params): Peer => ({
  name: "Effect Cluster",
  module: "peers/effect-network.mjs",
  make,
  params,
  postgres: true,
});

const calls = [1, 64, 256].map((inFlight): BenchCase => {
  // A peer needs some seconds until it runs at its full speed; all contenders get the same time.
  const params = { actors: inFlight === 1 ? 1 : 1_000, inFlight, warmups: 5 };
  return {
    name: inFlight === 1 ? "call to another host, one at a time" : `call to another host, ${inFlight} in flight`,
    unit: "calls/s",
    better: "higher",
    ours: { module: "cluster/ours-calls.ts", make: "calls", params, postgres: true },
    floor: { module: "cluster/floor-calls.ts", make: "calls", params },
    peers: [effectCluster("calls", params)],
    goals: inFlight === 256 ? { ours: 60_000 } : undefined,
  };
});

const EVENT_NAMES = {
  join: "calls while a host joins",
  leave: "calls while a host leaves",
  kill: "calls while a host is killed",
} as const;
/** Longest acceptable wait of callers for an actor that moves. */
const GAP_GOALS = { join: 100, leave: 100, kill: 5_000 } as const;
const MILLISECONDS: Figure = { unit: "ms", better: "lower" };

const disturb = (event: DisturbanceEvent, failover: "auto" | "lease"): BenchCase => {
  const params = { event, actors: 300, everyMs: 20 };
  return {
    name: failover === "lease" ? `${EVENT_NAMES[event]}, failover by lease` : EVENT_NAMES[event],
    figures: {
      [GAP_OF_MOVED]: failover === "lease" ? MILLISECONDS : { ...MILLISECONDS, goals: { ours: GAP_GOALS[event] } },
      [GAP_OF_OTHERS]: MILLISECONDS,
      [FAILED_CALLS]: { unit: "calls", better: "lower" },
    },
    ours: {
      module: "cluster/ours-disturbance.ts",
      make: "disturbance",
      params: { ...params, failover },
      postgres: true,
    },
    // For Effect Cluster it makes no difference whether the process ended on the same machine, so one
    // measurement stands for both.
    peers: failover === "lease" ? [] : [{ ...effectCluster("disturbance", params), slow: true }],
    fresh: true,
    steady: true,
    slow: failover === "lease",
  };
};

const disturbance = [...EVENTS.map((event) => disturb(event, "auto")), disturb("kill", "lease")];

const ring: BenchCase = {
  name: "ring of 1,000 hosts",
  figures: {
    [RING_JOIN]: { unit: "µs", better: "lower" },
    [RING_LEAVE]: { unit: "µs", better: "lower" },
    [RING_LOOKUPS]: { unit: "lookups/s", better: "higher" },
  },
  ours: { module: "cluster/ours-ring.ts", make: "ring" },
  steady: true,
  slow: true,
  unavailable: () => missing("bench/cluster/ring.ts"),
};

const join = (hosts: number, types: number, joinsWith: "one" | "all"): BenchCase => {
  const params = { hosts, types, joinsWith };
  const kinds = types === 1 ? "1 type" : `${joinsWith} of ${types} types`;
  return {
    name: `a host joins ${hosts.toLocaleString("en-US")} others with ${kinds}, simulated`,
    figures: {
      [TIME_TO_UNLOCK]: MILLISECONDS,
      [LOCKED]: MILLISECONDS,
      [BYTES_SENT]: { unit: "bytes", better: "lower" },
    },
    ours: { module: "cluster/ours-dissemination.ts", make: "join", params },
    peers: [{ name: "one lock for all types", module: "cluster/comparison.ts", make: "join", params }],
    steady: types > 10,
    slow: hosts > 100 || types > 10,
  };
};

const dissemination = [10, 100, 1_000].flatMap((hosts) => [
  ...[1, 10, 100].map((types) => join(hosts, types, "one")),
  ...[10, 100].map((types) => join(hosts, types, "all")),
]);

export const clusterCases: readonly BenchCase[] = [...calls, ...disturbance, ring, ...dissemination];

function missing(path: string): string | undefined {
  return existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url))) ? undefined : `${path} is not there`;
}
