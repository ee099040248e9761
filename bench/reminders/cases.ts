// The cases of the area `reminders`: rates of draining a backlog and of setting reminders, and their
// punctuality.
import type { BenchCase, Contender, Figure, Params, Peer } from "../case.ts";
import {
  BURDEN_RATIO,
  BURDENED,
  CROWD_MEMORY,
  CROWD_RATE,
  FIRED_TWICE,
  LATE_P50,
  LATE_P99,
  NOT_FIRED,
  P50,
  P99,
  PLAIN,
  SET_RATE,
} from "./figures.ts";
import { ACTORS } from "./ours.ts";

const PER_SECOND = { unit: "reminders/s", better: "higher" } as const;
const MILLISECONDS: Figure = { unit: "ms", better: "lower" };

/** Millions of rows take minutes to load, ten of them several gigabytes of disk. */
const HUGE = "LIMPET_BENCH_HUGE";

const onPostgres = (module: string, make: string, params: Params): Contender => ({
  module,
  make,
  params,
  postgres: true,
});

const peers = (make: string, params: Params): Peer[] => [
  { name: "graphile-worker", ...onPostgres("peers/graphile.mjs", make, params) },
  { name: "pg-boss", ...onPostgres("peers/pg-boss.mjs", make, params) },
];

const processesOf = (count: number): string => (count === 1 ? "one process" : "two processes");

const drains = [1, 2].flatMap((processes): BenchCase[] => {
  const params = { processes, count: 100_000, quickCount: 3_000, actors: ACTORS };
  return [
    {
      name: `drain 100,000 due on PostgreSQL, ${processesOf(processes)}`,
      ...PER_SECOND,
      fixedLoad: true,
      ours: onPostgres("reminders/ours-drain.ts", "onPostgres", params),
      floor: onPostgres("reminders/floor/postgres.ts", "drain", params),
      peers: peers("drain", params),
      goals: { peer: 1.5 },
    },
    {
      name: `drain 100,000 due on SQLite, ${processesOf(processes)}`,
      ...PER_SECOND,
      fixedLoad: true,
      ours: { module: "reminders/ours-drain.ts", make: "onSqlite", params },
      floor: { module: "reminders/floor/sqlite.ts", make: "drain", params },
      goals: { floor: 0.5 },
    },
  ];
});

/** No actor is in memory yet: each tick activates its actor. */
const drainStrangers: BenchCase = {
  name: "drain 100,000 due of 100,000 actors on PostgreSQL, one process",
  ...PER_SECOND,
  ours: onPostgres("reminders/ours-drain.ts", "onPostgres", {
    processes: 1,
    count: 100_000,
    quickCount: 3_000,
    actors: 100_000,
  }),
  slow: true,
};

const registers = [20, 1_000].flatMap((inFlight): BenchCase[] => [
  {
    name: `set on PostgreSQL, ${inFlight.toLocaleString("en-US")} callers`,
    ...PER_SECOND,
    ours: onPostgres("reminders/ours-register.ts", "register", { inFlight }),
    floor: onPostgres("reminders/floor/postgres.ts", "register", { inFlight }),
    peers: peers("register", { inFlight }),
    goals: { peer: 5 },
  },
  {
    name: `set on SQLite, ${inFlight.toLocaleString("en-US")} callers`,
    ...PER_SECOND,
    ours: { module: "reminders/ours-register.ts", make: "register", params: { inFlight } },
    floor: { module: "reminders/floor/sqlite.ts", make: "register", params: { inFlight } },
    slow: true,
  },
]);

const DUE_NOW = { count: 1_000, quickCount: 100 } as const;

const dueNow = (what: string, make: string): BenchCase => ({
  name: `due now, set in one process and handled in another${what}`,
  figures: { [P50]: { ...MILLISECONDS, goals: { peer: 1 } }, [P99]: { ...MILLISECONDS, goals: { peer: 1 } } },
  ours: onPostgres("reminders/ours-timing.ts", make, DUE_NOW),
  peers: peers("now", DUE_NOW),
});

const DUE_LATER = { count: 2_000, spreadMs: 20_000, quickCount: 100, quickSpreadMs: 1_000 } as const;

const dueLater: BenchCase = {
  name: "2,000 due over 20 s, distance from their moment",
  figures: { [P50]: MILLISECONDS, [P99]: { ...MILLISECONDS, goals: { ours: 5 } } },
  ours: onPostgres("reminders/ours-timing.ts", "later", DUE_LATER),
  peers: peers("later", DUE_LATER).map((peer) => ({ ...peer, slow: true })),
  steady: true,
};

const sustained: BenchCase = {
  name: "10,000 a second set and handled for 20 s",
  figures: {
    [SET_RATE]: { ...PER_SECOND, goals: { ours: 9_500 } },
    [NOT_FIRED]: { unit: "reminders", better: "lower", goals: { ours: 0 } },
    [FIRED_TWICE]: { unit: "reminders", better: "lower", goals: { ours: 0 } },
    [LATE_P50]: MILLISECONDS,
    [LATE_P99]: MILLISECONDS,
  },
  ours: onPostgres("reminders/ours-sustained.ts", "sustained", { perSecond: 10_000, seconds: 20, quickSeconds: 1 }),
  steady: true,
};

const burdened = (what: string, params: Params): BenchCase => ({
  name: `drain 100,000 due ${what}`,
  figures: {
    [PLAIN]: PER_SECOND,
    [BURDENED]: PER_SECOND,
    [BURDEN_RATIO]: { unit: "×", better: "higher", goals: { ours: 0.8 } },
  },
  ours: onPostgres("reminders/ours-burdened.ts", "burdened", {
    count: 100_000,
    quickCount: 3_000,
    turns: 3,
    ...params,
  }),
  steady: true,
});

const MINUTE = { spanMs: 60_000 } as const;
const OLD = { future: 0, quickFuture: 0, oldTransaction: true } as const;

const burdens: BenchCase[] = [
  burdened("beside 1,000,000 of later", { ...MINUTE, future: 1_000_000, quickFuture: 10_000 }),
  burdened("while an old transaction holds vacuum back", { ...MINUTE, ...OLD }),
  // Claims must also find their start among rows of the same moment.
  burdened("in one millisecond while an old transaction holds vacuum back", { spanMs: 0, ...OLD }),
  {
    ...burdened("beside 10,000,000 of later", { ...MINUTE, future: 10_000_000, quickFuture: 0 }),
    slow: true,
    unavailable: () => (process.env[HUGE] ? undefined : `it takes long; set ${HUGE}=1`),
  },
];

const crowd: BenchCase = {
  name: "1,000,000 due in one millisecond, and some of another type",
  figures: {
    [CROWD_RATE]: PER_SECOND,
    [CROWD_MEMORY]: { unit: "MiB", better: "lower", goals: { ours: 256 } },
    [LATE_P99]: MILLISECONDS,
  },
  ours: onPostgres("reminders/ours-crowd.ts", "crowd", { count: 1_000_000, quickCount: 10_000 }),
  once: true,
  slow: true,
  unavailable: () => (process.env[HUGE] ? undefined : `it takes long; set ${HUGE}=1`),
};

export const reminderCases: readonly BenchCase[] = [
  ...drains,
  drainStrangers,
  ...registers,
  dueNow("", "now"),
  dueNow(", set by a process without actors", "nowFromOutside"),
  dueLater,
  sustained,
  ...burdens,
  crowd,
];
