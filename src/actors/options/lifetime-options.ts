// Options for the lifetime of sharded actors: how many stay in memory, and whether hosts start them without a
// call.
import { checkWhole, invalidOption } from "../../kernel/check.ts";
import type { Duration } from "../../kernel/durations.ts";
import { formatDuration, parseDuration } from "../../kernel/durations.ts";
import type { RememberedRule } from "../../ports/actor-host.ts";

export interface LifetimeOptions {
  /**
   * Actors of the type that one host keeps in memory, at most. A new actor evicts the least recently used
   * one; busy actors are not evicted. Too low: hosts read actors from the store again and again. By default
   * only `maxResident` limits them.
   */
  readonly maxActive?: number;
  /**
   * Activated actors are remembered. The home of their shard starts them again without a call: after a move,
   * after a crash, and after an actor has stopped by itself. They stay in memory until they call
   * `this.passivate()`.
   */
  readonly remember?: boolean;
  /**
   * Remembered actors that one host starts per second, at most. Too high: a take-over of many actors loads
   * the host and the store. Too low: it takes long until all of them run. 1,000 by default.
   */
  readonly startsPerSecond?: number;
  /**
   * Pause before an actor that stopped, or failed to start, is started again. Too low: broken actors keep the
   * host busy. 10 s by default.
   */
  readonly restartAfter?: Duration;
  /**
   * The longest pause of an actor that keeps failing. The pause is `restartAfter` after the first failure,
   * and doubles with each further one. Too low: broken actors keep the host busy. Too high: a repaired actor
   * starts late. 5 min by default.
   */
  readonly restartAtMost?: Duration;
}

export interface Lifetime {
  readonly maxActive: number | undefined;
  /** Undefined: a call activates them. */
  readonly remembered: RememberedRule | undefined;
}

const REMEMBER_KEYS = ["startsPerSecond", "restartAfter", "restartAtMost"] as const;
export const LIFETIME_KEYS: readonly string[] = ["maxActive", "remember", ...REMEMBER_KEYS];

/** A host cannot keep more in memory anyway. */
const MOST = 100_000_000;
const FASTEST = 1_000_000;
const LONGEST_WAIT_MS = 300_000;

/** `where` names the place of the option in error messages. */
export function resolveLifetime(options: LifetimeOptions, where: string): Lifetime {
  const { maxActive, remember = false } = options;
  if (typeof remember !== "boolean")
    throw invalidOption(`${where}.remember must be true or false; got ${String(remember)}`);
  if (maxActive !== undefined) checkWhole(maxActive, MOST, `${where}.maxActive`);
  if (remember && maxActive !== undefined) {
    throw invalidOption(
      `${where}: maxActive evicts actors from memory, but remember keeps all of them there; set only one of them`,
    );
  }
  const remembered = readRemembered(options, where);
  if (remember) return { maxActive, remembered };
  for (const key of REMEMBER_KEYS) {
    if (options[key] !== undefined)
      throw invalidOption(`${where}.${key} applies to remembered actors only; set remember: true or remove it`);
  }
  return { maxActive, remembered: undefined };
}

function readRemembered(options: LifetimeOptions, where: string): RememberedRule {
  const { startsPerSecond = 1_000, restartAfter, restartAtMost } = options;
  checkWhole(startsPerSecond, FASTEST, `${where}.startsPerSecond`);
  const restartAfterMs = restartAfter === undefined ? 10_000 : parseDuration(restartAfter, `${where}.restartAfter`);
  if (restartAfterMs === 0) throw invalidOption(`${where}.restartAfter must be longer than 0`);
  if (restartAtMost === undefined) {
    return { startsPerSecond, restartAfterMs, restartAtMostMs: Math.max(LONGEST_WAIT_MS, restartAfterMs) };
  }
  const restartAtMostMs = parseDuration(restartAtMost, `${where}.restartAtMost`);
  if (restartAtMostMs < restartAfterMs) {
    const found = `${formatDuration(restartAtMostMs)} and ${formatDuration(restartAfterMs)}`;
    throw invalidOption(`${where}.restartAtMost must not be shorter than restartAfter; got ${found}`);
  }
  return { startsPerSecond, restartAfterMs, restartAtMostMs };
}
