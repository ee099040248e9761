// Reminders as workflows use them: timers, timeouts and queued activities of runs are reminders.
import type { ReminderTick, ReminderWriter } from "./reminder-writer.ts";

export interface Timers {
  readonly writer: ReminderWriter;
  /** The store's clock, as far as this process knows it, with fractions. */
  storeNow(): number;
  /** Handles due reminders of a type that is neither an actor's nor a job's. */
  serve(type: string, handler: (data: unknown, tick: ReminderTick) => unknown): void;
}
