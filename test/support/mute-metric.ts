// Loaded with `--import`: the metric that MUTED_METRIC names counts nothing in this process. A test of the
// metric fails then.
import { Metrics } from "../../src/observe/metrics.ts";
import { silentMeter } from "../../src/ports/meter.ts";

const muted = process.env.MUTED_METRIC;

for (const kind of ["counter", "gauge", "histogram"] as const) {
  const original = Metrics.prototype[kind] as (name: string, ...rest: unknown[]) => unknown;
  Object.assign(Metrics.prototype, {
    [kind](this: Metrics, name: string, ...rest: unknown[]) {
      const instrument = original.call(this, name, ...rest);
      return name === muted ? silentMeter.counter("", "") : instrument;
    },
  });
}
