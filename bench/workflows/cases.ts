// The cases of the area `workflows`: speed of steps, of many workflows and of one, cost of a replay into
// memory, and cost of many sleeping runs.
import type { BenchCase, Contender, Figure, ManyFigureCase, Peer } from "../case.ts";
import {
  ALL_STEPS,
  BYTES_LONG,
  BYTES_RATIO,
  BYTES_SHORT,
  FIRST_HUNDRED,
  HEAP_IDLE,
  HEAP_STARTER,
  HEAP_WITHOUT,
  IN_FLIGHT,
  LAST_BY_FIRST,
  LAST_HUNDRED,
  LATE_P50,
  LATE_P99,
  p50At,
  p99At,
  rateAt,
  replayOf,
  STARTED,
  WAKE_LONG,
  WAKE_RATIO,
  WAKE_SHORT,
} from "./figures.ts";

const WORKFLOWS = { unit: "workflows/s", better: "higher" } as const;
const STEPS = { unit: "steps/s", better: "higher" } as const;
const MILLISECONDS: Figure = { unit: "ms", better: "lower" };
const MICROSECONDS = { unit: "µs/step", better: "lower" } as const;
const MEBIBYTES: Figure = { unit: "MiB", better: "lower" };
const BYTES: Figure = { unit: "bytes", better: "lower" };

const dbos = (contender: Pick<Contender, "make" | "params">): Peer => ({
  name: "DBOS",
  module: "peers/dbos.mjs",
  postgres: true,
  ...contender,
});
const restate = (contender: Pick<Contender, "make" | "params">): Peer => ({
  name: "Restate",
  module: "peers/restate.mjs",
  ...contender,
});

const tenFigures = (goals: Figure["goals"]): ManyFigureCase["figures"] =>
  Object.fromEntries(
    IN_FLIGHT.flatMap((count): [string, Figure][] => [
      [rateAt(count), { ...WORKFLOWS, goals }],
      [p50At(count), MILLISECONDS],
      [p99At(count), MILLISECONDS],
    ]),
  );

const tenSteps: BenchCase[] = [
  {
    name: "ten steps on PostgreSQL",
    figures: tenFigures({ peer: 2 }),
    ours: { module: "workflows/ours-steps.ts", make: "tenSteps", postgres: true },
    floor: { module: "workflows/floor-postgres.ts", make: "tenSteps", postgres: true },
    peers: [dbos({ make: "tenSteps" }), restate({ make: "tenSteps" })].map((peer) => ({ ...peer, slow: true })),
    steady: true,
  },
  {
    name: "ten steps on SQLite",
    figures: tenFigures(undefined),
    ours: { module: "workflows/ours-steps.ts", make: "tenSteps" },
    steady: true,
  },
];

const LONG = { steps: 1_000, quickSteps: 300 } as const;
const FLAT: Figure = { unit: "×", better: "higher", goals: { ours: 0.8 } };
const longFigures = (goals: Figure["goals"]): ManyFigureCase["figures"] => ({
  [ALL_STEPS]: { ...STEPS, goals },
  [FIRST_HUNDRED]: STEPS,
  [LAST_HUNDRED]: STEPS,
  [LAST_BY_FIRST]: FLAT,
});

const longRuns: BenchCase[] = [
  {
    name: "one workflow of 1,000 steps on PostgreSQL",
    figures: longFigures({ peer: 2 }),
    ours: { module: "workflows/ours-steps.ts", make: "longRun", params: LONG, postgres: true },
    floor: { module: "workflows/floor-postgres.ts", make: "longRun", params: LONG, postgres: true },
    peers: [dbos({ make: "longRun", params: LONG }), restate({ make: "longRun", params: LONG })],
    steady: true,
  },
  {
    name: "one workflow of 1,000 steps on SQLite",
    figures: longFigures(undefined),
    ours: { module: "workflows/ours-steps.ts", make: "longRun", params: LONG },
    steady: true,
  },
];

/** Peers take part of a second for each wake, so they have fewer. */
const REPLAY = { lengths: "100 1000", wakes: 90, quickLengths: "100 1000", quickWakes: 10 } as const;
const PEERS_REPLAY = { ...REPLAY, wakes: 6, quickWakes: 3 } as const;
const LONG_REPLAY = { lengths: "10000", wakes: 15 } as const;

const replays: BenchCase[] = [
  {
    name: "cold replay",
    figures: {
      [replayOf(100)]: { ...MICROSECONDS, goals: { ours: 10 } },
      [replayOf(1_000)]: { ...MICROSECONDS, goals: { ours: 10 } },
    },
    ours: { module: "workflows/ours-replay.ts", make: "replay", params: REPLAY, postgres: true },
    peers: [
      { ...dbos({ make: "replay", params: { ...PEERS_REPLAY, wakes: 3 } }), slow: true },
      restate({ make: "replay", params: PEERS_REPLAY }),
    ],
    steady: true,
  },
  {
    name: "cold replay",
    figures: { [replayOf(10_000)]: { ...MICROSECONDS, goals: { ours: 10 } } },
    ours: { module: "workflows/ours-replay.ts", make: "replay", params: LONG_REPLAY, postgres: true },
    peers: [restate({ make: "replay", params: { ...LONG_REPLAY, wakes: 6 } })],
    slow: true,
    once: true,
  },
];

/** Wakes a run in memory; short histories have 10 steps, long ones 2,000. */
const sticky: BenchCase = {
  name: "a task whose run is in memory",
  figures: {
    [WAKE_SHORT]: MILLISECONDS,
    [WAKE_LONG]: MILLISECONDS,
    [WAKE_RATIO]: { unit: "×", better: "lower", goals: { ours: 1.2 } },
    [BYTES_SHORT]: BYTES,
    [BYTES_LONG]: BYTES,
    [BYTES_RATIO]: { unit: "×", better: "lower", goals: { ours: 1.02 } },
  },
  ours: {
    module: "workflows/ours-sticky.ts",
    make: "sticky",
    params: { short: 10, long: 2_000, quickLong: 200, wakes: 200, quickWakes: 20 },
    postgres: true,
  },
  steady: true,
};

const sleeping: BenchCase = {
  name: "100,000 sleeping on PostgreSQL",
  figures: {
    [STARTED]: WORKFLOWS,
    [HEAP_WITHOUT]: MEBIBYTES,
    [HEAP_STARTER]: MEBIBYTES,
    [HEAP_IDLE]: MEBIBYTES,
    [LATE_P50]: MILLISECONDS,
    [LATE_P99]: MILLISECONDS,
  },
  ours: {
    module: "workflows/ours-sleeping.ts",
    make: "sleeping",
    params: {
      count: 100_000,
      due: 2_000,
      spreadMs: 10_000,
      quickCount: 2_000,
      quickDue: 100,
      quickSpreadMs: 1_000,
    },
    postgres: true,
    gc: true,
  },
  once: true,
};

export const workflowCases: readonly BenchCase[] = [...tenSteps, ...longRuns, ...replays, sticky, sleeping];
