// The stored plan of a reminder besides its next tick: its schedule and its failure policy. It is text,
// because stores do not read it. Schedules are checked when they are set, and again when they are read: a row
// that was damaged or edited since must not cause an endless loop in the arithmetic of ticks.
import { END_OF_TIME } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { parseCron } from "./cron.ts";
import { DEFAULT_POLICY, type FailurePolicy, isPolicy } from "./failure-policy.ts";
import { averageLength, isFixedPeriod, type Period } from "./period.ts";
import type { Schedule } from "./schedule.ts";
import { zoneOf } from "./zone.ts";

export interface Plan {
  readonly schedule: Schedule;
  readonly policy: FailurePolicy;
  /** Identifies a reminder that had to be new, so that its writer recognizes it. */
  readonly mark?: string;
}

export function encodePlan({ schedule, policy, mark }: Plan): string {
  return JSON.stringify(policy === DEFAULT_POLICY ? { schedule, mark } : { schedule, policy, mark });
}

export function decodePlan(text: string): Plan {
  try {
    const { schedule, policy = DEFAULT_POLICY, mark } = JSON.parse(text) as Partial<Plan>;
    if (isSchedule(schedule) && isPolicy(policy)) return { schedule, policy, mark };
  } catch {
    // The error below covers every kind of damage.
  }
  throw new LimpetError("REMINDER_DAMAGED", "the stored schedule cannot be read: the row was damaged or edited");
}

/** Whether a value from a store is a schedule. */
export function isSchedule(value: unknown): value is Schedule {
  if (typeof value !== "object" || value === null) return false;
  const { first, every, cron, timezone, until, times, missed } = value as Partial<Record<keyof Schedule, unknown>>;
  if (!isWhole(first, 0, END_OF_TIME)) return false;
  if (missed !== "once" && missed !== "all" && missed !== "skip") return false;
  if (until !== undefined && !isWhole(until, first, END_OF_TIME)) return false;
  if (times !== undefined && !isWhole(times, 1, Number.MAX_SAFE_INTEGER)) return false;
  if (every !== undefined && (cron !== undefined || !isPeriod(every))) return false;
  const needsZone = cron !== undefined || (every !== undefined && !isFixedPeriod(every));
  return needsZone === (timezone !== undefined) && isKnown(cron, timezone);
}

const isWhole = (value: unknown, min: number, max: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;

function isPeriod(value: unknown): value is Period {
  if (typeof value !== "object" || value === null) return false;
  const { months, days, ms } = value as Partial<Record<keyof Period, unknown>>;
  if (![months, days, ms].every((part) => isWhole(part, 0, END_OF_TIME))) return false;
  const length = averageLength(value as Period);
  return length >= 1 && length <= END_OF_TIME;
}

function isKnown(cron: unknown, timezone: unknown): boolean {
  if (timezone === undefined) return true;
  if (typeof timezone !== "string") return false;
  try {
    zoneOf(timezone);
    if (cron !== undefined) parseCron(cron as string);
    return true;
  } catch {
    return false;
  }
}
