// Metrics of batched store calls.
import { type Counter, DURATION_BUCKETS, type Histogram, type Meter } from "../meter.ts";

const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export interface BatchInstruments {
  readonly batchSize: Histogram;
  readonly seconds: Histogram;
  readonly retries: Counter;
}

export function batchInstruments(meter: Meter, what: "commit" | "take" | "remember"): BatchInstruments {
  return {
    batchSize: meter.histogram(`limpet_${what}_batch_size`, `How many shared one ${what}.`, SIZES),
    seconds: meter.histogram(`limpet_${what}_seconds`, `How long a ${what} took.`, DURATION_BUCKETS),
    retries: meter.counter("limpet_store_retries_total", "Batches that had to be sent again."),
  };
}
