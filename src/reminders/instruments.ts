// What the processor of reminders counts.
import type { Meter } from "../ports/meter.ts";

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600];

export interface ReminderInstruments {
  /** From the tick's own moment to its first delivery. */
  late(seconds: number): void;
  claimed(count: number): void;
  fired(count: number): void;
  retried(count: number): void;
  failed(count: number): void;
  /** Set anew or cancelled by somebody while it was on its way. */
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
    "From the moment a reminder is due to its first delivery.",
    SECONDS,
    labels,
  );
  return {
    late: (seconds) => lateness.observe(Math.max(seconds, 0)),
    claimed: counter("claimed", "Reminders this process has taken on."),
    fired: counter("fired", "Ticks that were handled."),
    retried: counter("retried", "Ticks that have to be tried again."),
    failed: counter("failed", "Ticks that were given up."),
    replaced: counter("replaced", "Ticks that did not count any more when they had been delivered."),
    leaseLost: counter("lease_lost", "Reminders somebody else may have taken on because their lease ran out."),
  };
}
