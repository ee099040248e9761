// What is stored of a reminder besides its next tick: when it ticks, and what becomes of failures. Text, because stores do not look into it.
import { LimpetError } from "../../kernel/errors.ts";
import { DEFAULT_POLICY, type FailurePolicy, isPolicy } from "./failure-policy.ts";
import type { Schedule } from "./schedule.ts";
import { isSchedule } from "./stored-schedule.ts";

export interface Plan {
  readonly schedule: Schedule;
  readonly policy: FailurePolicy;
  /** Of one that was to be new: whoever set it knows it again by this. */
  readonly mark?: string | undefined;
}

export function encodePlan({ schedule, policy, mark }: Plan): string {
  return JSON.stringify(policy === DEFAULT_POLICY ? { schedule, mark } : { schedule, policy, mark });
}

export function decodePlan(text: string): Plan {
  try {
    const { schedule, policy = DEFAULT_POLICY, mark } = JSON.parse(text) as Partial<Plan>;
    if (isSchedule(schedule) && isPolicy(policy)) return { schedule, policy, mark };
  } catch {
    // Whatever is wrong with it, the message below says it.
  }
  throw new LimpetError("REMINDER_DAMAGED", "the stored schedule cannot be read: the row was damaged or edited");
}
