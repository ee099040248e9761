// How long actors that live in shards stay in memory: how many of them at most, and whether they are brought back to life without a call.
import type { Duration } from "../../kernel/durations.ts";
import { formatDuration, parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";

export interface LifetimeOptions {
  /**
   * Actors of the type that one host has in memory, at most. Who comes when there are so many takes the place of the one that was used least
   * recently; those that are busy are spared. Too low: they are read from the store again and again. Unless given, only `maxResident` counts.
   */
  readonly maxActive?: number | undefined;
  /**
   * Actors that have come to life are remembered, and are brought back to life, without a call, wherever their shard lives: after it has
   * moved, after a crash, and when one has stopped by itself. They stay in memory until they say `this.passivate()`.
   */
  readonly remember?: boolean | undefined;
  /**
   * Remembered actors that one host starts in a second, at most. Too high: a host that takes over many is busy with that, and so is the
   * store. Too low: it takes long until all of them run. 1,000 unless given.
   */
  readonly startsPerSecond?: number | undefined;
  /** How long after one has stopped, or could not be started, it is started again. Too low: what is broken keeps the host busy. 10 s unless given. */
  readonly restartAfter?: Duration | undefined;
  /**
   * The longest pause of an actor that keeps failing: it waits for `restartAfter` after its first failure, and twice as long after each
   * further one. Too low: broken actors keep the host busy. Too high: a repaired actor starts late. 5 min unless given.
   */
  readonly restartAtMost?: Duration | undefined;
}

/** What becomes of actors that have come to life once. */
export interface RememberedRule {
  readonly startsPerSecond: number;
  readonly restartAfterMs: number;
  /** Not less than restartAfterMs. */
  readonly restartAtMostMs: number;
  /** How many actors always run, with the ids "0", "1" and so on. Left out: actors run after their first call. */
  readonly daemons?: (() => number) | undefined;
}

export interface Lifetime {
  readonly maxActive: number | undefined;
  /** Undefined: they come to life when they are called. */
  readonly remembered: RememberedRule | undefined;
}

const REMEMBER_KEYS = ["startsPerSecond", "restartAfter", "restartAtMost"] as const;
export const LIFETIME_KEYS: readonly string[] = ["maxActive", "remember", ...REMEMBER_KEYS];

/** More could not be kept in memory anyway. */
const MOST = 100_000_000;
const FASTEST = 1_000_000;
const LONGEST_WAIT_MS = 300_000;

/** `where` it was written, for errors. */
export function resolveLifetime(options: LifetimeOptions, where: string): Lifetime {
  const { maxActive, remember = false } = options;
  if (typeof remember !== "boolean") throw invalid(`${where}.remember must be true or false, not ${String(remember)}`);
  if (maxActive !== undefined) checkWhole(maxActive, MOST, `${where}.maxActive`);
  if (remember && maxActive !== undefined) {
    throw invalid(
      `${where}: maxActive has those leave memory that were used least recently, and remember has all of them stay; choose one`,
    );
  }
  const remembered = readRemembered(options, where);
  if (remember) return { maxActive, remembered };
  for (const key of REMEMBER_KEYS) {
    if (options[key] !== undefined)
      throw invalid(`${where}.${key} says something of remembered actors: set remember: true`);
  }
  return { maxActive, remembered: undefined };
}

function readRemembered(options: LifetimeOptions, where: string): RememberedRule {
  const { startsPerSecond = 1_000, restartAfter, restartAtMost } = options;
  checkWhole(startsPerSecond, FASTEST, `${where}.startsPerSecond`);
  const restartAfterMs = restartAfter === undefined ? 10_000 : parseDuration(restartAfter, `${where}.restartAfter`);
  if (restartAfterMs === 0) throw invalid(`${where}.restartAfter must be longer than nothing`);
  if (restartAtMost === undefined) {
    return { startsPerSecond, restartAfterMs, restartAtMostMs: Math.max(LONGEST_WAIT_MS, restartAfterMs) };
  }
  const restartAtMostMs = parseDuration(restartAtMost, `${where}.restartAtMost`);
  if (restartAtMostMs < restartAfterMs) {
    const found = `${formatDuration(restartAtMostMs)} and ${formatDuration(restartAfterMs)}`;
    throw invalid(`${where}.restartAtMost must not be shorter than restartAfter; got ${found}`);
  }
  return { startsPerSecond, restartAfterMs, restartAtMostMs };
}

function checkWhole(value: unknown, most: number, where: string): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= most) return;
  throw invalid(`${where} must be a whole number between 1 and ${most}, not ${String(value)}`);
}

const invalid = (what: string): LimpetError => new LimpetError("OPTION_INVALID", what);
