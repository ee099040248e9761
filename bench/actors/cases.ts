// The cases of the area `actors`: one process, alone and with its store.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BenchCase, Contender, Params, Peer } from "../case.ts";

const MANY = { actors: 1_000, inFlight: 256 } as const;
const ONE = { actors: 1, inFlight: 1 } as const;

const effectCluster = (make: string, params: Params, postgres = false): Peer => ({
  name: "Effect Cluster",
  module: "peers/effect-cluster.mjs",
  make,
  params,
  postgres,
});
const durable = (make: string, params: Params, postgres = false): Contender => ({
  module: "actors/ours-durable.ts",
  make,
  params,
  postgres,
});
const bySqlite = (make: string, params: Params): Contender => ({ module: "actors/floor-sqlite.ts", make, params });
const byPostgres = (params: Params): Contender => ({
  module: "actors/floor-postgres.ts",
  make: "turns",
  params,
  postgres: true,
});

const calls: BenchCase[] = [
  {
    name: "call, one at a time",
    unit: "calls/s",
    better: "higher",
    ours: { module: "actors/ours-calls.ts", make: "oneByOne" },
    floor: { module: "actors/floor-calls.ts", make: "oneByOne" },
    peers: [effectCluster("calls", ONE)],
    goals: { floor: 0.1, peer: 30 },
  },
  {
    name: "call, 256 in flight over 1,000 actors",
    unit: "calls/s",
    better: "higher",
    ours: { module: "actors/ours-calls.ts", make: "inFlight", params: MANY },
    floor: { module: "actors/floor-calls.ts", make: "inFlight", params: MANY },
    // More than 64 fibers make it slower.
    peers: [effectCluster("calls", { actors: 1_000, inFlight: 64 })],
    goals: { floor: 0.1, peer: 30 },
  },
];

const durableTurns: BenchCase[] = [
  {
    name: "durable turn on SQLite, 256 in flight",
    unit: "turns/s",
    better: "higher",
    ours: durable("turns", MANY),
    floor: bySqlite("turns", { actors: 1_000, batch: 256 }),
    goals: { floor: 0.5 },
  },
  {
    name: "durable turn on PostgreSQL, 256 in flight",
    unit: "turns/s",
    better: "higher",
    ours: durable("turns", MANY, true),
    floor: byPostgres({ ...MANY, connections: 4 }),
    peers: [effectCluster("persistedCalls", MANY, true)],
    goals: { floor: 0.5, peer: 10 },
  },
  {
    name: "durable turn on PostgreSQL, 1,024 in flight",
    unit: "turns/s",
    better: "higher",
    ours: durable("turns", { actors: 4_000, inFlight: 1_024 }, true),
    floor: byPostgres({ actors: 4_000, inFlight: 1_024, connections: 4 }),
    goals: { floor: 0.5 },
    slow: true,
  },
  {
    name: "durable turn on SQLite, one at a time",
    unit: "turns/s",
    better: "higher",
    ours: durable("turns", ONE),
    floor: bySqlite("turns", { actors: 1, batch: 1 }),
  },
  {
    name: "durable turn on PostgreSQL, one at a time",
    unit: "turns/s",
    better: "higher",
    ours: durable("turns", ONE, true),
    floor: byPostgres({ ...ONE, connections: 1 }),
    peers: [effectCluster("persistedCalls", ONE, true)],
  },
  {
    name: "activation on SQLite, 256 in flight",
    unit: "actors/s",
    better: "higher",
    ours: durable("activations", { actors: 50_000, quickActors: 10_000, inFlight: 256 }),
    floor: bySqlite("activations", { actors: 50_000, quickActors: 10_000, batch: 256 }),
  },
];

const memory = [100_000, 1_000_000].map(
  (actors): BenchCase => ({
    name: `memory of ${actors.toLocaleString("en-US")} resident actors`,
    unit: "bytes/actor",
    better: "lower",
    ours: { module: "actors/ours-memory.ts", make: "resident", params: { actors }, gc: true },
    floor: { module: "actors/floor-memory.ts", make: "resident", params: { actors }, gc: true },
    goals: { ours: 1_500 },
    fresh: true,
    steady: true,
    slow: actors > 100_000,
  }),
);

/** No floor: the rate must stay the same from the first state size to the last. */
const stateSizes = [10, 1_000, 100_000].map(
  (keys): BenchCase => ({
    name: `turn that changes 1 of ${keys.toLocaleString("en-US")} keys, SQLite`,
    unit: "turns/s",
    better: "higher",
    ours: durable("turnsOnLargeState", { actors: 8, keys }),
  }),
);

const start: BenchCase[] = [
  {
    name: "first reply after `limpet dev` starts",
    unit: "ms",
    better: "lower",
    ours: { module: "actors/dev-start.ts", make: "firstReply" },
    floor: { module: "actors/dev-start.ts", make: "bareServer" },
    fresh: true,
    unavailable: () => missing("src/cli/bin.ts") ?? missing("src/cli/dev/dev.ts"),
  },
];

export const actorCases: readonly BenchCase[] = [...calls, ...durableTurns, ...memory, ...stateSizes, ...start].map(
  (it) => ({ ...it, unavailable: () => missing("src/index.ts") ?? it.unavailable?.() }),
);

function missing(path: string): string | undefined {
  return existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url))) ? undefined : `${path} is not there`;
}
