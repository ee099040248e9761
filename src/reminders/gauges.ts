// Gauges of pending reminders: of this process, and of the store. A read of the metrics queries the store, at
// most every ten seconds, and shows the result of the query before.
import type { Clock } from "../ports/clock.ts";
import type { Gauge, Meter } from "../ports/meter.ts";
import type { Reminders } from "../ports/store/reminders.ts";

export interface ReminderGaugesDeps {
  readonly clock: Clock;
  readonly meter: Meter;
  readonly store: Reminders;
  /** The size of the processor. */
  size(): { readonly claimed: number; readonly running: number };
}

/** The shortest pause between two queries. */
const ASK_MS = 10_000;
/** A backlog is counted up to this. */
const MOST = 10_000;

export class ReminderGauges {
  readonly #deps: ReminderGaugesDeps;
  readonly #namespace: string;
  readonly #claimed: Gauge;
  readonly #running: Gauge;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(namespace: string, deps: ReminderGaugesDeps) {
    this.#deps = deps;
    this.#namespace = namespace;
    const labels = { namespace };
    const { meter } = deps;
    this.#claimed = meter.gauge(
      "limpet_reminders_held",
      "Reminders this process has claimed until they are due.",
      labels,
    );
    this.#running = meter.gauge("limpet_reminders_running", "Reminders whose handlers run.", labels);
  }

  /** Updates the gauges; called when the metrics are read. */
  measure(): void {
    const { claimed, running } = this.#deps.size();
    this.#claimed.set(claimed);
    this.#running.set(running);
    const now = this.#deps.clock.monotonic();
    if (now < this.#askedAt + ASK_MS) return;
    this.#askedAt = now;
    void this.#ask();
  }

  async #ask(): Promise<void> {
    const { store, meter } = this.#deps;
    try {
      const { overdue, dead } = await store.count(this.#namespace, MOST);
      const labels = { namespace: this.#namespace };
      meter.gauge("limpet_reminders_overdue", "Due reminders without a claim.", labels).set(overdue);
      meter.gauge("limpet_reminders_dead", "Dead reminders.", labels).set(dead);
    } catch {
      // The gauges keep their values; other metrics show the failure of the store.
    }
  }
}
