// One attempt at an activity that runs in this process: its claim, its last heartbeat, and whether its
// outcome still counts.
import type { LimpetError } from "../../kernel/errors.ts";
import type { Wire } from "../engine/events.ts";
import type { ClaimedActivity } from "./tasks.ts";

/** Renewals within one lease. */
export const ACTIVITY_RENEWALS = 3;

export class RunningActivity {
  claimed: ClaimedActivity;
  readonly leaseMs: number;
  /** On the monotonic clock. */
  renewAt: number;
  readonly stop = new AbortController();
  /** The claim is lost: the store rejects every further write of this attempt. */
  isLost = false;
  /** Details of the last heartbeat, and whether a write of them is in progress. */
  details: Wire | undefined;
  isWriting = false;
  /** The outcome is about to be written. */
  isEnding = false;

  constructor(claimed: ClaimedActivity, leaseMs: number, now: number) {
    this.claimed = claimed;
    this.leaseMs = leaseMs;
    this.renewAt = now + leaseMs / ACTIVITY_RENEWALS;
  }

  lose(reason: LimpetError): void {
    this.isLost = true;
    this.stop.abort(reason);
  }
}
