// How many reminders there are to be seen to: in this process, which knows, and in the store, which is asked now and then while somebody
// looks. What is shown of the store is what it said to the question before.
import type { Clock } from "../ports/clock.ts";
import type { Gauge, Meter } from "../ports/meter.ts";
import type { Reminders } from "../ports/store/reminders.ts";

export interface ReminderGaugesDeps {
  readonly clock: Clock;
  readonly meter: Meter;
  readonly store: Reminders;
  /** Of the processor. */
  size(): { readonly held: number; readonly running: number };
}

/** How often the store is asked at most. */
const ASK_MS = 10_000;
/** A backlog is counted up to this. */
const MOST = 10_000;

export class ReminderGauges {
  readonly #deps: ReminderGaugesDeps;
  readonly #namespace: string;
  readonly #held: Gauge;
  readonly #running: Gauge;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(namespace: string, deps: ReminderGaugesDeps) {
    this.#deps = deps;
    this.#namespace = namespace;
    const labels = { namespace };
    const { meter } = deps;
    this.#held = meter.gauge("limpet_reminders_held", "Reminders this process holds until their moment.", labels);
    this.#running = meter.gauge("limpet_reminders_running", "Reminders whose handlers run.", labels);
  }

  /** Brings the gauges up to date; called when somebody looks. */
  measure(): void {
    const { held, running } = this.#deps.size();
    this.#held.set(held);
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
      meter.gauge("limpet_reminders_overdue", "Reminders due that no process has taken on.", labels).set(overdue);
      meter.gauge("limpet_reminders_dead", "Reminders that were given up and are kept.", labels).set(dead);
    } catch {
      // Whoever looks sees that it does not change; why the store does not answer others tell.
    }
  }
}
