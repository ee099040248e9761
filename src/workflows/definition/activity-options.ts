// Checks the options of an activity and converts them to the form that the history records. Pure.
import { mustBe } from "../../kernel/check.ts";
import { type Duration, parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { SerializedActivityOptions } from "../engine/events.ts";
import { namesProblem } from "./checked-options.ts";
import type { ActivityOptions, RetryOptions } from "./context.ts";
import { checked } from "./definition.ts";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const FACTOR = 2;
const START_TO_CLOSE_MS = 600_000;

const NAMES: Record<keyof ActivityOptions, true> = {
  retry: true,
  startToClose: true,
  scheduleToStart: true,
  scheduleToClose: true,
  heartbeat: true,
  queue: true,
};
const RETRY_NAMES: Record<keyof RetryOptions, true> = {
  attempts: true,
  delays: true,
  initial: true,
  factor: true,
  longest: true,
  nonRetryable: true,
};

/** Undefined: all defaults. */
export function serializeActivityOptions(options: ActivityOptions | undefined): SerializedActivityOptions | undefined {
  if (options === undefined) return undefined;
  checkNames(options, NAMES, "the options of an activity");
  const { retry = {}, queue } = options;
  checkNames(retry, RETRY_NAMES, "retry");
  const ms = (value: Duration | undefined, what: string): number | undefined =>
    value === undefined ? undefined : parseDuration(value, what);
  const serialized = {
    queue: queue === undefined ? undefined : checked("queue", queue),
    attempts: whole(retry.attempts, "retry.attempts", 1),
    delays: listOf(retry.delays, "retry.delays")?.map((delay) => parseDuration(delay, "retry.delays")),
    initial: ms(retry.initial, "retry.initial"),
    factor: atLeast(retry.factor, "retry.factor", 1),
    longest: ms(retry.longest, "retry.longest"),
    nonRetryable: listOf(retry.nonRetryable, "retry.nonRetryable")?.map(String),
    startToClose: ms(options.startToClose, "startToClose"),
    scheduleToStart: ms(options.scheduleToStart, "scheduleToStart"),
    scheduleToClose: ms(options.scheduleToClose, "scheduleToClose"),
    heartbeat: ms(options.heartbeat, "heartbeat"),
  };
  const present = Object.entries(serialized).filter(([, value]) => value !== undefined);
  return present.length === 0 ? undefined : (Object.fromEntries(present) as SerializedActivityOptions);
}

function checkNames(given: object, known: object, what: string): void {
  const problem = namesProblem(given, known);
  if (problem !== undefined) throw new LimpetError("WORKFLOW_INVALID", `${what}: ${problem}`);
}

function listOf<Item>(value: readonly Item[] | undefined, what: string): readonly Item[] | undefined {
  if (value !== undefined && !Array.isArray(value)) throw mustBe(what, "a list", value, "WORKFLOW_INVALID");
  return value;
}

function whole(value: number | undefined, what: string, least: number): number | undefined {
  if (value !== undefined && !Number.isInteger(value))
    throw mustBe(what, `a whole number from ${least}`, value, "WORKFLOW_INVALID");
  return atLeast(value, what, least);
}

function atLeast(value: number | undefined, what: string, least: number): number | undefined {
  if (value !== undefined && !(Number.isFinite(value) && value >= least))
    throw mustBe(what, `a number from ${least}`, value, "WORKFLOW_INVALID");
  return value;
}

export const startToCloseOf = (options: SerializedActivityOptions | undefined): number =>
  options?.startToClose ?? START_TO_CLOSE_MS;

/**
 * The pause before the next attempt; undefined: no further attempt. `attempts`: attempts so far. `names`: the
 * names of the last error.
 */
export function pauseAfter(
  options: SerializedActivityOptions | undefined,
  attempts: number,
  names: readonly string[],
): number | undefined {
  if (options?.attempts !== undefined && attempts >= options.attempts) return undefined;
  if (options?.nonRetryable?.some((name) => names.includes(name))) return undefined;
  if (options?.delays !== undefined) {
    if (options.attempts === undefined && attempts > options.delays.length) return undefined;
    return options.delays[Math.min(attempts, options.delays.length) - 1] ?? 0;
  }
  const { initial = FIRST_PAUSE_MS, factor = FACTOR, longest = LONGEST_PAUSE_MS } = options ?? {};
  // After many attempts the factor is infinite, and zero times infinity is no number.
  return initial === 0 ? 0 : Math.min(initial * factor ** (attempts - 1), Math.max(longest, initial));
}
