// The stored plan of a reminder besides its next tick: its schedule and its failure policy. It is text,
// because stores do not read it.
import { LimpetError } from "../../kernel/errors.ts";
import { DEFAULT_POLICY, type FailurePolicy, isPolicy } from "./failure-policy.ts";
import type { Schedule } from "./schedule.ts";
import { isSchedule } from "./stored-schedule.ts";

export interface Plan {
  readonly schedule: Schedule;
  readonly policy: FailurePolicy;
  /** Identifies a reminder that had to be new, so that its writer recognizes it. */
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
    // The error below covers every kind of damage.
  }
  throw new LimpetError("REMINDER_DAMAGED", "the stored schedule cannot be read: the row was damaged or edited");
}
