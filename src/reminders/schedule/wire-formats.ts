// Schedules in the format of the HTTP API: dueTime, period and ttl as texts. Each may be a Go duration
// ("1h30m") or an ISO 8601 duration ("PT90M"). dueTime and ttl may be RFC 3339 moments, and a period may have
// a count ("R5/PT10S"). Empty texts and null count as left out. Without dueTime the first tick is one period
// away; ttl counts from the first tick.

import { showValue } from "../../kernel/check.ts";
import { formatGoDuration, parseGoDuration } from "./go-duration.ts";
import { looksLikeInstant, parseInstant } from "./instant.ts";
import {
  exactly,
  formatIsoDuration,
  type IsoDuration,
  isFixedPeriod,
  type Period,
  parseIsoDuration,
} from "./period.ts";
import { checkText, reject } from "./rejection.ts";
import type { Missed, Schedule } from "./schedule.ts";
import { composeSchedule, type Moment } from "./schedule-rules.ts";

export interface WireSchedule {
  readonly dueTime?: string | null;
  readonly period?: string | null;
  readonly ttl?: string | null;
}

const NAMES = { whole: "reminder", due: "dueTime", every: "period", repeat: '"period"' };
const LENGTHS = '"1h30m", "500ms" or "PT90M"';
const MOMENTS = '"2026-03-01T09:00:00Z"';
const NANOSECONDS_PER_MS = 1_000_000n;

export function scheduleFromWire(wire: WireSchedule, now: number, missed?: Missed): Schedule {
  const due = readMoment("dueTime", wire.dueTime, "up");
  const repetition = readPeriod(wire.period);
  const parts = {
    due,
    every: repetition?.period,
    cron: undefined,
    timezone: undefined,
    end: readMoment("ttl", wire.ttl, "down"),
    endName: "ttl",
    times: repetition?.times,
    missed: repetition === undefined ? undefined : missed,
  };
  return composeSchedule(parts, now, NAMES);
}

/**
 * Converts a schedule to the wire format, from the next tick on. `due`: its time. `number`: its place on the
 * grid.
 */
export function scheduleToWire(
  { every, cron, until, times }: Schedule,
  due: number,
  number = 1,
): WireSchedule & { readonly times?: number } {
  const left = times === undefined ? undefined : Math.max(times - number + 1, 1);
  const period = cron ?? (every && periodText(every, left));
  return {
    dueTime: new Date(due).toISOString(),
    ...(period !== undefined && { period }),
    ...(until !== undefined && { ttl: new Date(until).toISOString() }),
    ...(cron !== undefined && left !== undefined && { times: left }),
  };
}

function periodText(every: Period, left: number | undefined): string {
  if (left !== undefined) return `R${left}/${formatIsoDuration(every)}`;
  return isFixedPeriod(every) ? `@every ${formatGoDuration(every.ms)}` : formatIsoDuration(every);
}

const isLeftOut = (value: unknown): boolean => value === undefined || value === null || value === "";

function readMoment(what: string, value: unknown, round: "up" | "down"): Moment | undefined {
  if (isLeftOut(value)) return undefined;
  checkText(value, what, `write for example ${LENGTHS} or ${MOMENTS}`);
  if (looksLikeInstant(value)) {
    const at = parseInstant(value, undefined, round);
    if (typeof at === "number") return { at };
    reject(what, `${showValue(value)} is not a moment of RFC 3339; write for example ${MOMENTS}`);
  }
  const { period, times } = readLength(what, value, round, `${LENGTHS} or ${MOMENTS}`);
  if (times !== undefined) reject(what, `${showValue(value)} repeats; only a period may begin with R${times}/`);
  return { after: period };
}

/** Some clients send a period of zero for a reminder that does not repeat. */
function readPeriod(value: unknown): IsoDuration | undefined {
  if (isLeftOut(value)) return undefined;
  const instead = `${LENGTHS}, or "R5/PT10S" for five times`;
  checkText(value, "period", `write for example ${instead}`);
  const length = readLength("period", value.replace(/^@every /, ""), "up", instead);
  if (length.times === 0) reject("period", `${showValue(value)} never ticks; write R1 or more, or leave R0/ out`);
  const nothing = isFixedPeriod(length.period) && length.period.ms === 0;
  if (nothing && length.times !== undefined) {
    reject("period", `${showValue(value)} has nothing between the ticks; write for example "R5/PT10S"`);
  }
  return nothing ? undefined : length;
}

function readLength(what: string, text: string, round: "up" | "down", instead: string): IsoDuration {
  const iso = parseIsoDuration(text);
  if (iso !== undefined) return iso;
  const nanoseconds = parseGoDuration(text);
  if (nanoseconds === undefined) reject(what, `${showValue(text)} is not a duration; write for example ${instead}`);
  if (nanoseconds > 0n && nanoseconds < NANOSECONDS_PER_MS) {
    reject(what, `${showValue(text)} is less than a millisecond; write at least "1ms"`);
  }
  const ms = nanoseconds / NANOSECONDS_PER_MS;
  const rounded = round === "up" && ms * NANOSECONDS_PER_MS < nanoseconds ? ms + 1n : ms;
  return { period: exactly(Number(rounded)) };
}
