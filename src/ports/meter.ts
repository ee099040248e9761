// Metrics. An instrument is created once with its labels and then used directly, so that counting on the hot
// path is one method call. Labels are few and known in advance: never an actor id.

/** Buckets of a duration from microseconds to half a minute. */
export const DURATION_BUCKETS: readonly number[] = [
  0.00001, 0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(count: number): void;
}

export interface Gauge {
  set(value: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

export interface Meter {
  counter(name: string, help: string, labels?: Labels): Counter;
  gauge(name: string, help: string, labels?: Labels): Gauge;
  /** `buckets` are upper bounds, ascending; the instrument adds the last, endless one. */
  histogram(name: string, help: string, buckets: readonly number[], labels?: Labels): Histogram;
}

const nothing = { add() {}, set() {}, observe() {} };

export const silentMeter: Meter = { counter: () => nothing, gauge: () => nothing, histogram: () => nothing };

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Metrics of batched store calls. */
export interface BatchInstruments {
  readonly batchSize: Histogram;
  readonly seconds: Histogram;
  readonly retries: Counter;
}

export function batchInstruments(meter: Meter, what: "commit" | "take" | "remember"): BatchInstruments {
  return {
    batchSize: meter.histogram(`limpet_${what}_batch_size`, `How many shared one ${what}.`, BATCH_SIZES),
    seconds: meter.histogram(`limpet_${what}_seconds`, `How long a ${what} took.`, DURATION_BUCKETS),
    retries: meter.counter("limpet_store_retries_total", "Batches that had to be sent again."),
  };
}
