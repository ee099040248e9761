// Decides about a tick: when it is due, after it was handled, and after a failure. It neither waits nor
// writes.
import { showValue } from "../kernel/check.ts";
import { isLimpetError } from "../kernel/errors.ts";
import type { Tick, TickOutcome } from "../ports/store/reminders.ts";
import type { ClaimedEntry } from "./claimed.ts";
import { decodePlan, type Plan } from "./schedule/plan.ts";
import { tickAfter, tickInstead } from "./schedule/ticks.ts";

/** Ticks that are late by no more than this do not count as missed. */
const GRACE_MS = 1_000;
/** The length of a stored error message. */
const MOST_TEXT = 2_000;

export type Decision =
  | { readonly kind: "settle"; readonly outcome: TickOutcome }
  /** The tick was missed, and the next one is in the future. */
  | { readonly kind: "later"; readonly tick: Tick }
  | { readonly kind: "deliver"; readonly plan: Plan; readonly tick: Tick; readonly outcome: TickOutcome };

/** Decides about a due reminder. Throws when its row is damaged. */
export function decideTick({ reminder, tick }: ClaimedEntry, now: number): Decision {
  const plan = decodePlan(reminder.schedule);
  const instead = tick.attempt > 0 ? tick : tickInstead(plan.schedule, tick, now, GRACE_MS);
  if (instead === undefined) return { kind: "settle", outcome: { kind: "done" } };
  const { due, number } = instead;
  if (due > now) return { kind: "later", tick: { at: due, due, number, attempt: 0 } };
  const attempted = { at: tick.at, due, number, attempt: tick.attempt + 1 };
  return { kind: "deliver", plan, tick: attempted, outcome: afterTick(plan, attempted, now) };
}

export function afterTick(plan: Plan, tick: Tick, now: number): TickOutcome {
  const next = tickAfter(plan.schedule, tick, now);
  if (next === undefined) return { kind: "done" };
  // A missed tick queues behind reminders that are due already. Otherwise a reminder far behind would always
  // come first, and with one delivery at a time it would be the only one.
  const at = Math.max(next.due, Math.floor(now));
  return { kind: "next", tick: { at, due: next.due, number: next.number, attempt: 0 }, leaseMs: undefined };
}

/** Any value may have been thrown. */
export const deadLetterText = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : showValue(error)).slice(0, MOST_TEXT);

/** No effect: the tick never reached its actor, or no change of its handler was stored. */
export const isUndelivered = (error: unknown): boolean =>
  isLimpetError(error) && ["now", "later", "elsewhere"].includes(error.retry);
