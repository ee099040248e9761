// What a benchmark case is: data. Nothing here runs anything.

/** One side of a comparison. It runs in a process of its own; see contender-process.ts. */
export interface Contender {
  /** File under bench/ that exports `make`. */
  readonly module: string;
  /** Name of the exported `Make` function. */
  readonly make: string;
  readonly params?: Params | undefined;
  /** Needs a database of its own on the run's PostgreSQL server. */
  readonly postgres?: boolean | undefined;
  /** Needs `globalThis.gc`. */
  readonly gc?: boolean | undefined;
}

export interface Peer extends Contender {
  /** As people know it: "Effect Cluster". */
  readonly name: string;
  /** Left out of quick runs, although the case itself is not. */
  readonly slow?: boolean | undefined;
}

export type Params = Readonly<Record<string, string | number | boolean>>;

/** What one number of a measurement means. */
export interface Figure {
  readonly unit: string;
  readonly better: "higher" | "lower";
  readonly goals?: Goals | undefined;
}

/** A case with one figure. */
export interface SingleCase extends Figure, CaseBase {
  readonly figures?: undefined;
}

/** A case whose measurement yields several figures at once, by name. Each has a row of its own. */
export interface ManyFigureCase extends CaseBase {
  readonly figures: Readonly<Record<string, Figure>>;
}

export type BenchCase = SingleCase | ManyFigureCase;

export interface CaseBase {
  readonly name: string;
  readonly ours: Contender;
  readonly floor?: Contender | undefined;
  /** With more than one, there is a row for each. */
  readonly peers?: readonly Peer[] | undefined;
  /** Each round in a new process, also in quick runs: what is measured can be measured once per process. */
  readonly fresh?: boolean | undefined;
  /** Hardly differs from round to round: once in quick runs, three times in full ones. */
  readonly steady?: boolean | undefined;
  /** Takes so long that one round has to do. */
  readonly once?: boolean | undefined;
  /** Left out of quick runs. */
  readonly slow?: boolean | undefined;
  /** Says why our side cannot run here and now, or undefined when it can. */
  readonly unavailable?: (() => string | undefined) | undefined;
}

/** What we want to reach. Ratios are ours divided by theirs. */
export interface Goals {
  readonly floor?: number | undefined;
  readonly peer?: number | undefined;
  /** In the case's unit. */
  readonly ours?: number | undefined;
}

/** What a contender is told when it is made. */
export interface Settings {
  /** How long one measurement takes. */
  readonly durationMs: number;
  /** How long to run before the first measurement, uncounted. */
  readonly warmupMs: number;
  /** An empty folder of its own, removed afterwards. */
  readonly folder: string;
  /** URL of an empty database of its own; empty unless asked for. */
  readonly postgres: string;
  readonly quick: boolean;
  readonly params: Params;
}

/** A number in the case's unit, or one for each of its figures. */
export type Measurement = number | Readonly<Record<string, number>>;

/** A contender that is ready: warm, everything it needs in place. */
export interface Running {
  /** One measurement. Rejects when the work it counted was not done. */
  run(): Promise<Measurement>;
  close(): Promise<void>;
}

export type Make = (settings: Settings) => Promise<Running>;
