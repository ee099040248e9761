// Metrics of reminders: counters of the processor, and gauges of pending reminders of this process and of the
// store. A read of the metrics queries the store, at most every ten seconds, and shows the result of the
// query before.
import type { Clock } from "../ports/clock.ts";
import type { Gauge, Meter } from "../ports/meter.ts";
import type { Reminders } from "../ports/store/reminders.ts";

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600];

export interface ReminderInstruments {
  /** From the due time of a tick to its first delivery. */
  late(seconds: number): void;
  claimed(count: number): void;
  fired(count: number): void;
  retried(count: number): void;
  failed(count: number): void;
  /** Replaced or cancelled while it was on its way. */
  replaced(count: number): void;
  leaseLost(count: number): void;
}

export function reminderInstruments(meter: Meter, namespace: string): ReminderInstruments {
  const labels = { namespace };
  const counter = (name: string, help: string): ((count: number) => void) => {
    const instrument = meter.counter(`limpet_reminders_${name}_total`, help, labels);
    return (count) => instrument.add(count);
  };
  const lateness = meter.histogram(
    "limpet_reminder_lateness_seconds",
    "Delay from the due time of a tick to its first delivery.",
    SECONDS,
    labels,
  );
  return {
    late: (seconds) => lateness.observe(Math.max(seconds, 0)),
    claimed: counter("claimed", "Reminders claimed by this process."),
    fired: counter("fired", "Ticks handled successfully."),
    retried: counter("retried", "Ticks to be retried."),
    failed: counter("failed", "Ticks given up after their last attempt."),
    replaced: counter("replaced", "Ticks whose reminder was replaced or cancelled before they were settled."),
    leaseLost: counter("lease_lost", "Reminders whose lease was lost."),
  };
}

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
