// What is stored of a reminder besides its next tick: when it ticks, and what becomes of failures. Text, because stores do not look into it.
import { LimpetError } from "../kernel/errors.ts";
import { DEFAULT_POLICY, type FailurePolicy } from "./failure-policy.ts";
import type { Schedule } from "./schedule.ts";
import { isSchedule } from "./stored-schedule.ts";

export interface Plan {
  readonly schedule: Schedule;
  readonly policy: FailurePolicy;
}

export function encodePlan({ schedule, policy }: Plan): string {
  return JSON.stringify(policy === DEFAULT_POLICY ? { schedule } : { schedule, policy });
}

export function decodePlan(text: string): Plan {
  try {
    const { schedule, policy = DEFAULT_POLICY } = JSON.parse(text) as Partial<Plan>;
    if (isSchedule(schedule)) return { schedule, policy };
  } catch {
    // Whatever is wrong with it, the message below says it.
  }
  throw new LimpetError("REMINDER_INVALID", "the stored schedule cannot be read: the row was damaged or edited");
}
