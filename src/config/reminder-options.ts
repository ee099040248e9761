// The settings of the processor that delivers reminders. All of them nest under `reminders` in code and in
// limpet.yaml. This file only declares them.

import type { Duration } from "../kernel/durations.ts";
import type { Option } from "./option.ts";

/** The values as the program uses them: every value present, durations in milliseconds. */
export interface ReminderValues {
  readonly reminders: boolean;
  readonly reminderPollInterval: number;
  readonly reminderFetchAhead: number;
  readonly reminderBatchSize: number;
  readonly reminderLease: number;
  readonly reminderConcurrency: number;
  readonly reminderDirect: boolean;
}

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
  reminders: {
    kind: "yes/no",
    default: true,
    path: "reminders",
    env: "LIMPET_REMINDERS",
    flag: "reminders",
    help: "Deliver reminders of the types of this process. It can set reminders in both cases.",
    breaks: "Off everywhere: reminders stay in the store and never fire.",
  },
  reminderPollInterval: {
    kind: "duration",
    default: "2500ms",
    path: "reminders.pollInterval",
    env: "LIMPET_REMINDERS_POLL_INTERVAL",
    flag: "reminders-poll-interval",
    placeholder: "duration",
    help: "The longest time between two looks for reminders that are due soon.",
    breaks:
      "Too low: many processes keep the store busy with queries. Too high: reminders that another process set for now are late, if the store cannot notify.",
    min: 10,
  },
  reminderFetchAhead: {
    kind: "duration",
    default: "5s",
    path: "reminders.fetchAhead",
    env: "LIMPET_REMINDERS_FETCH_AHEAD",
    flag: "reminders-fetch-ahead",
    placeholder: "duration",
    help: "The process claims reminders that are due within this time, so that they fire on the millisecond.",
    breaks:
      "Too low: reminders are late by a poll. Too high: claimed reminders fill memory, and wait for the lease when the process dies.",
    min: 10,
  },
  reminderBatchSize: {
    kind: "whole number",
    default: 500,
    path: "reminders.batchSize",
    env: "LIMPET_REMINDERS_BATCH_SIZE",
    flag: "reminders-batch-size",
    placeholder: "number",
    help: "Reminders per claim; a process holds at most four times as many.",
    breaks: "Too low: a backlog shrinks slowly. Too high: one process claims reminders that others could share.",
    min: 1,
    max: 10_000,
  },
  reminderLease: {
    kind: "duration",
    default: "30s",
    path: "reminders.lease",
    env: "LIMPET_REMINDERS_LEASE",
    flag: "reminders-lease",
    placeholder: "duration",
    help: "How long other processes wait for a claimed reminder when its process dies. A live process renews it.",
    breaks:
      "Too low: a slow process loses its reminders, and they fire twice. Too high: reminders of a dead process are late by this.",
    min: 100,
  },
  reminderConcurrency: {
    kind: "whole number",
    default: 1_000,
    path: "reminders.concurrency",
    env: "LIMPET_REMINDERS_CONCURRENCY",
    flag: "reminders-concurrency",
    placeholder: "number",
    help: "Deliveries of reminders in progress at once.",
    breaks: "Too low: slow handlers delay the others. Too high: a backlog floods the actors.",
    min: 1,
    max: 100_000,
  },
  reminderDirect: {
    kind: "yes/no",
    default: true,
    path: "reminders.direct",
    env: "LIMPET_REMINDERS_DIRECT",
    flag: "reminders-direct",
    help: "The process that sets a reminder which is due soon also delivers it, without another query.",
    breaks:
      "On: work stays in the process that creates it, so it may be spread less evenly. Off: reminders that are due at once take one more round trip.",
  },
} as const satisfies Record<keyof ReminderValues, Option>;
