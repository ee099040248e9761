// Benchmark cases as data. This file runs nothing.

/** One side of a comparison. It runs in its own process; see contender-process.ts. */
export interface Contender {
  /** File under bench/ that exports `make`. */
  readonly module: string;
  /** Name of the exported `Make` function. */
  readonly make: string;
  readonly params?: Params;
  /** Needs its own database on the run's PostgreSQL server. */
  readonly postgres?: boolean;
  /** Needs `globalThis.gc`. */
  readonly gc?: boolean;
}

export interface Peer extends Contender {
  /** Name for display: "Effect Cluster". */
  readonly name: string;
  /** Left out of quick runs, although the case itself is not. */
  readonly slow?: boolean;
}

export type Params = Readonly<Record<string, string | number | boolean>>;

/** Meaning of one number of a measurement. */
export interface Figure {
  readonly unit: string;
  readonly better: "higher" | "lower";
  readonly goals?: Goals;
}

/** A case with one figure. */
export interface SingleCase extends Figure, CaseBase {
  readonly figures?: undefined;
}

/** A case whose measurement yields several figures at once, by name. Each has its own row. */
export interface ManyFigureCase extends CaseBase {
  readonly figures: Readonly<Record<string, Figure>>;
}

export type BenchCase = SingleCase | ManyFigureCase;

export interface CaseBase {
  readonly name: string;
  readonly ours: Contender;
  readonly floor?: Contender;
  /** With more than one, there is a row for each. */
  readonly peers?: readonly Peer[];
  /** Each round in a new process, also in quick runs: the measurement is possible once per process. */
  readonly fresh?: boolean;
  /** Each measurement has the same number of operations, however long they take. */
  readonly fixedLoad?: boolean;
  /** Hardly differs from round to round: once in quick runs, three times in full ones. */
  readonly steady?: boolean;
  /** Takes so long that one round must suffice. */
  readonly once?: boolean;
  /** Left out of quick runs. */
  readonly slow?: boolean;
  /** Returns the reason if our side cannot run here, or undefined. */
  readonly unavailable?: () => string | undefined;
}

/** Targets. Ratios are ours divided by theirs. */
export interface Goals {
  readonly floor?: number;
  readonly peer?: number;
  /** In the case's unit. */
  readonly ours?: number;
}

/** Settings of a contender. */
export interface Settings {
  /** Duration of one measurement. */
  readonly durationMs: number;
  /** Duration of the warm-up before the first measurement. */
  readonly warmupMs: number;
  /** Its own empty folder, removed afterwards. */
  readonly folder: string;
  /** URL of its own empty database; empty unless requested. */
  readonly postgres: string;
  readonly quick: boolean;
  readonly params: Params;
}

/** A number in the case's unit, or one for each of its figures. */
export type Measurement = number | Readonly<Record<string, number>>;

/** A contender that is warm and ready. */
export interface Running {
  /** Runs one measurement. Rejects when the counted work was not done. */
  run(): Promise<Measurement>;
  close(): Promise<void>;
}

export type Make = (settings: Settings) => Promise<Running>;
