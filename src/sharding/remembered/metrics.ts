// Metrics of remembered actors, by type.
import type { Counter, Gauge, Meter } from "../../ports/meter.ts";

export interface RememberedInstruments {
  readonly started: Counter;
  readonly failed: Counter;
  readonly shards: Gauge;
  readonly restarts: Gauge;
}

export function rememberedInstruments(meter: Meter, namespace: string, type: string): RememberedInstruments {
  const labels = { namespace, type };
  const starts = (outcome: string): Counter =>
    meter.counter("limpet_remembered_starts_total", "Remembered actors started without a call.", {
      ...labels,
      outcome,
    });
  return {
    started: starts("success"),
    failed: starts("error"),
    shards: meter.gauge("limpet_remembered_shards_waiting", "Shards whose actors are still to be started.", labels),
    restarts: meter.gauge("limpet_remembered_restarts_waiting", "Stopped actors that wait for their restart.", labels),
  };
}
