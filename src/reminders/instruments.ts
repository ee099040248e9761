// Metrics of the reminder processor.
import type { Meter } from "../ports/meter.ts";

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
