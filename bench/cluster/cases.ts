// The cases of the area `cluster`: what several hosts do together.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BenchCase, Figure, Params, Peer } from "../case.ts";
import { EVENTS } from "./disturbance.ts";
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
  // A peer needs some seconds until it runs at its full speed; everybody gets the same time.
  const params = { actors: inFlight === 1 ? 1 : 1_000, inFlight, warmups: 5 };
  return {
    name: inFlight === 1 ? "call to another host, one at a time" : `call to another host, ${inFlight} in flight`,
    unit: "calls/s",
    better: "higher",
    ours: { module: "cluster/ours-calls.ts", make: "calls", params, postgres: true },
    floor: { module: "cluster/floor-calls.ts", make: "calls", params },
    peers: [effectCluster("calls", params)],
    unavailable: noCluster,
  };
});

const EVENT_NAMES = { join: "a host joins", leave: "a host leaves", kill: "a host is killed" } as const;
const MILLISECONDS: Figure = { unit: "ms", better: "lower" };

const disturbance = [...EVENTS, "kill by lease" as const].map((which): BenchCase => {
  const event = which === "kill by lease" ? "kill" : which;
  const byLeaseOnly = which === "kill by lease";
  const params = { event, actors: 300, everyMs: 20 };
  return {
    name: byLeaseOnly ? `${EVENT_NAMES.kill}, on another machine` : EVENT_NAMES[event],
    figures: {
      [GAP_OF_MOVED]: MILLISECONDS,
      [GAP_OF_OTHERS]: MILLISECONDS,
      [FAILED_CALLS]: { unit: "calls", better: "lower" },
    },
    ours: {
      module: "cluster/ours-disturbance.ts",
      make: "disturbance",
      params: { ...params, byLeaseOnly },
      postgres: true,
    },
    // It has no other way than its leases, so one measurement stands for both.
    peers: byLeaseOnly ? [] : [{ ...effectCluster("disturbance", params), slow: true }],
    fresh: true,
    steady: true,
    unavailable: noCluster,
  };
});

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

/** Says why hosts cannot form a cluster yet. */
function noCluster(): string | undefined {
  const file = "src/nodes/host-node.ts";
  return /\bcluster\(\)/.test(readFileSync(pathOf(file), "utf8")) ? undefined : `${file} knows no cluster`;
}

function missing(path: string): string | undefined {
  return existsSync(pathOf(path)) ? undefined : `${path} is not there`;
}

function pathOf(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
