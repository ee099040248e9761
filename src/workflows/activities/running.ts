// One attempt at an activity that is under way in this process: whose claim it is, what it said last, and whether it still counts.
import type { LimpetError } from "../../kernel/errors.ts";
import type { Wire } from "../engine/events.ts";
import type { ClaimedActivity } from "./tasks.ts";

/** Leases are renewed so often while they last. */
export const RENEWALS = 3;

export class RunningActivity {
  held: ClaimedActivity;
  readonly leaseMs: number;
  /** On the monotonic clock. */
  renewAt: number;
  readonly stop = new AbortController();
  /** Nothing that it says counts any more. */
  isLost = false;
  /** What it said last, and whether that is written or about to be. */
  said: Wire | undefined;
  isNoting = false;
  /** What came of it is about to be told. */
  isEnding = false;

  constructor(held: ClaimedActivity, leaseMs: number, now: number) {
    this.held = held;
    this.leaseMs = leaseMs;
    this.renewAt = now + leaseMs / RENEWALS;
  }

  lose(reason: LimpetError): void {
    this.isLost = true;
    this.stop.abort(reason);
  }
}
