// Exports sticky execution as metrics: the same cluster-wide figures that operators see over HTTP. A read of
// the metrics queries the store, at most every ten seconds, and shows the result of the query before.
import type { Clock } from "../../ports/clock.ts";
import type { Meter } from "../../ports/meter.ts";
import type { StickyFigures } from "./sticky-figures.ts";

export interface StickyGaugesDeps {
  readonly clock: Clock;
  readonly meter: Meter;
  readonly namespace: string;
  figures(): Promise<StickyFigures>;
}

/** The shortest time between two queries. */
const ASK_MS = 10_000;

export class StickyGauges {
  readonly #deps: StickyGaugesDeps;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: StickyGaugesDeps) {
    this.#deps = deps;
  }

  /** Called when the metrics are read. */
  measure(): void {
    const now = this.#deps.clock.monotonic();
    if (now < this.#askedAt + ASK_MS) return;
    this.#askedAt = now;
    void this.#ask();
  }

  async #ask(): Promise<void> {
    const { meter, namespace } = this.#deps;
    try {
      const { execution, workers } = await this.#deps.figures();
      for (const [figure, value] of Object.entries(execution)) {
        meter.gauge("limpet_sticky_execution", "Sticky execution of workflows.", { namespace, figure }).set(value);
      }
      for (const [figure, value] of Object.entries(workers)) {
        meter
          .gauge("limpet_sticky_execution_workers", "Run caches of sticky workers.", { namespace, figure })
          .set(value);
      }
    } catch {
      // The figures stay as they are; the log has the store's failure.
    }
  }
}
