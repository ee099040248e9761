// The settings of the processor that delivers reminders. All of them nest under `reminders` in code and in
// limpet.yaml. This file only declares them.

import type { Duration } from "../kernel/durations.ts";
import { duration, wholeNumber, yesNo } from "./option.ts";

/** Settings in code under `reminders`. */
export interface ReminderProcessing {
  /** The longest time between two queries for reminders. */
  readonly pollInterval?: Duration;
  /** Reminders due within this time are claimed early, to fire on time. */
  readonly fetchAhead?: Duration;
  /** Reminders per claim. */
  readonly batchSize?: number;
  /** The lease of claimed reminders; renewed while the process delivers. */
  readonly lease?: Duration;
  /** Deliveries in progress at once. */
  readonly concurrency?: number;
  /** Whether the process that sets a reminder that is due soon also delivers it. */
  readonly direct?: boolean;
}

export const REMINDER_OPTIONS = {
  reminders: yesNo("reminders", true, {
    help: "Deliver reminders of the types of this process. It can set reminders in both cases.",
    breaks: "Off everywhere: reminders stay in the store and never fire.",
  }),
  reminderPollInterval: duration("reminders.pollInterval", "2500ms", [10], {
    help: "The longest time between two looks for reminders that are due soon.",
    breaks:
      "Too low: many processes keep the store busy with queries. Too high: reminders that another process set for now are late, if the store cannot notify.",
  }),
  reminderFetchAhead: duration("reminders.fetchAhead", "5s", [10], {
    help: "The process claims reminders that are due within this time, so that they fire on the millisecond.",
    breaks:
      "Too low: reminders are late by a poll. Too high: claimed reminders fill memory, and wait for the lease when the process dies.",
  }),
  reminderBatchSize: wholeNumber("reminders.batchSize", 500, [1, 10_000], {
    help: "Reminders per claim; a process holds at most four times as many.",
    breaks: "Too low: a backlog shrinks slowly. Too high: one process claims reminders that others could share.",
  }),
  reminderLease: duration("reminders.lease", "30s", [100], {
    help: "How long other processes wait for a claimed reminder when its process dies. A live process renews it.",
    breaks:
      "Too low: a slow process loses its reminders, and they fire twice. Too high: reminders of a dead process are late by this.",
  }),
  reminderConcurrency: wholeNumber("reminders.concurrency", 1_000, [1, 100_000], {
    help: "Deliveries of reminders in progress at once.",
    breaks: "Too low: slow handlers delay the others. Too high: a backlog floods the actors.",
  }),
  reminderDirect: yesNo("reminders.direct", true, {
    help: "The process that sets a reminder which is due soon also delivers it, without another query.",
    breaks:
      "On: work stays in the process that creates it, so it may be spread less evenly. Off: reminders that are due at once take one more round trip.",
  }),
};
