// Policy for failed deliveries of a tick: retries at growing pauses, then a dead letter or a drop.
import { backoffMs } from "../../kernel/backoff.ts";
import { showValue } from "../../kernel/check.ts";
import { type Duration, parseDuration } from "../../kernel/durations.ts";
import type { FailureOptions } from "../../ports/reminder-options.ts";
import { reject } from "./rejection.ts";

export interface FailurePolicy {
  readonly attempts: number;
  readonly pauseMs: number;
  readonly longestPauseMs: number;
  readonly giveUp: "keep" | "drop";
}

export const DEFAULT_POLICY: FailurePolicy = {
  attempts: 10,
  pauseMs: 1_000,
  longestPauseMs: 10 * 60_000,
  giveUp: "keep",
};

const KEYS = ["attempts", "pause", "longestPause", "giveUp"];

export function resolvePolicy(options: FailureOptions | undefined): FailurePolicy {
  if (options === undefined) return DEFAULT_POLICY;
  if (typeof options !== "object" || options === null)
    reject("onFailure", `must be an object, not ${showValue(options)}`);
  for (const key of Object.keys(options)) {
    if (!KEYS.includes(key)) reject("onFailure", `has no ${JSON.stringify(key)}; known are ${KEYS.join(", ")}`);
  }
  const { attempts = DEFAULT_POLICY.attempts, pause, longestPause, giveUp = DEFAULT_POLICY.giveUp } = options;
  if (!Number.isSafeInteger(attempts) || attempts < 1) {
    reject("onFailure.attempts", `must be a whole number of at least 1, not ${showValue(attempts)}`);
  }
  if (giveUp !== "keep" && giveUp !== "drop") {
    reject("onFailure.giveUp", `must be "keep" or "drop", not ${showValue(giveUp)}`);
  }
  const pauseMs = pause === undefined ? DEFAULT_POLICY.pauseMs : lengthOf(pause, "pause");
  const longest = longestPause === undefined ? undefined : lengthOf(longestPause, "longestPause");
  return { attempts, pauseMs, longestPauseMs: longest ?? Math.max(DEFAULT_POLICY.longestPauseMs, pauseMs), giveUp };
}

/** Checks a value from a store, because a row may have been damaged or edited. */
export function isPolicy(value: unknown): value is FailurePolicy {
  if (typeof value !== "object" || value === null) return false;
  const { attempts, pauseMs, longestPauseMs, giveUp } = value as Partial<Record<keyof FailurePolicy, unknown>>;
  const areLengths = [pauseMs, longestPauseMs].every((ms) => Number.isFinite(ms) && (ms as number) >= 0);
  return Number.isSafeInteger(attempts) && areLengths && (giveUp === "keep" || giveUp === "drop");
}

function lengthOf(duration: Duration, what: string): number {
  try {
    return parseDuration(duration, what);
  } catch (error) {
    return reject("onFailure", (error as Error).message);
  }
}

/**
 * Undefined: no further attempt. `attempt`: attempts so far. `chance`: from 0 to 1, so that not all retries
 * come at once.
 */
export function retryPause(attempt: number, policy: FailurePolicy, chance: number): number | undefined {
  if (attempt >= policy.attempts) return undefined;
  const pause = backoffMs(attempt - 1, policy.pauseMs, policy.longestPauseMs);
  return Math.round(pause * (0.75 + chance / 2));
}
