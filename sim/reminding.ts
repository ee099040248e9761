// Data that reminders of a run carry, and the notification of observers about handlers.

import type { ReminderOptions } from "../src/ports/reminder-options.ts";
import type { ReminderTick } from "../src/ports/reminder-writer.ts";
import type { ReminderRun } from "./observer.ts";
import type { PlannedReminder, RemindHow } from "./plan.ts";
import type { Stage } from "./stage.ts";

/** The data of a reminder. */
export interface Carried {
  /** The operation that set it, or the tick of another one whose handler did. */
  readonly op: string;
  readonly how: RemindHow;
}

/** The word that an actor appends for a tick. All attempts of a tick append the same word. */
export const tickWord = (op: string, { number }: ReminderTick): string => `${op}!${number}`;

/** The operation that set the reminder of a word. It may be a tick of another reminder. */
export const setterOf = (word: string): { readonly op: string } => ({ op: word.slice(0, word.lastIndexOf("!")) });

export const isTickWord = (word: string): boolean => word.includes("!");

export function optionsOf(op: string, { when, onFailure, how }: PlannedReminder): ReminderOptions {
  const data: Carried = { op, how };
  return { ...when, data, onFailure };
}

/** Notifies observers that a handler began. The returned function notifies them of its end. */
export function beginReminderRun(stage: Stage, run: ReminderRun): (isDone: boolean) => void {
  stage.world.timeline.noteText(`${run.op} ${run.tick.number}.${run.tick.attempt}`);
  stage.reminds(run);
  return (isDone) => {
    for (const one of stage.observers) one.reminderEnded?.(run, isDone);
  };
}
