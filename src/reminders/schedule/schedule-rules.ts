// The rules of a schedule, for every format: from its parsed parts to the stored form.

import { showValue } from "../../kernel/check.ts";
import { END_OF_TIME } from "../../kernel/durations.ts";
import { invariant } from "../../kernel/errors.ts";
import { nextMatch, parseCron } from "./cron.ts";
import { averageLength, isFixedPeriod, type Period, stepsFrom } from "./period.ts";
import { reject } from "./rejection.ts";
import type { Missed, Schedule } from "./schedule.ts";
import { zoneOf } from "./zone.ts";

/** A moment, or a length of time after another one. */
export type Moment = { readonly at: number; readonly after?: never } | { readonly at?: never; readonly after: Period };

export interface Parts {
  readonly due: Moment | undefined;
  readonly every: Period | undefined;
  readonly cron: string | undefined;
  readonly timezone: string | undefined;
  /** If it is a length of time, it counts from the first tick. */
  readonly end: Moment | undefined;
  readonly endName: string;
  readonly times: number | undefined;
  readonly missed: Missed | undefined;
}

/** Names of the options in the format, for errors. */
export interface Names {
  readonly whole: string;
  readonly due: string;
  readonly every: string;
  readonly repeat: string;
}

const DEFAULT_ZONE = "UTC";
const MISSED: readonly unknown[] = ["once", "all", "skip"] satisfies Missed[];

export function composeSchedule(parts: Parts, now: number, names: Names): Schedule {
  invariant(Number.isSafeInteger(now) && now >= 0 && now <= END_OF_TIME, `${now} is the time in whole milliseconds`);
  checkRepetition(parts, names);
  const first = firstOf(parts, now, names);
  const until = untilOf(parts, first);
  const calendar = parts.cron !== undefined || (parts.every !== undefined && !isFixedPeriod(parts.every));
  return {
    first,
    ...(parts.every !== undefined && { every: parts.every }),
    ...(parts.cron !== undefined && { cron: parts.cron }),
    ...(calendar && { timezone: parts.timezone ?? DEFAULT_ZONE }),
    ...(until !== undefined && { until }),
    ...(parts.times !== undefined && { times: parts.times }),
    missed: parts.missed ?? "once",
  };
}

function checkRepetition({ due, every, cron, end, endName, times, missed }: Parts, names: Names): void {
  if (due === undefined && every === undefined && cron === undefined) {
    reject(names.whole, `has neither a due time nor a repetition; give "${names.due}", ${names.repeat}`);
  }
  if (every !== undefined && cron !== undefined) {
    reject("cron", "excludes every; give one of them: cron for times of the day, every for a distance");
  }
  if (every !== undefined && isFixedPeriod(every) && every.ms < 1) {
    reject(names.every, "must be longer than nothing; write at least 1 millisecond");
  }
  if (every !== undefined && averageLength(every) > END_OF_TIME) {
    reject(names.every, "is longer than there is time until the year 9999; write less");
  }
  if (times !== undefined && !(Number.isSafeInteger(times) && times >= 1)) {
    reject("times", `${showValue(times)} is not a number of ticks; write a whole number from 1, or leave it out`);
  }
  if (missed !== undefined && !MISSED.includes(missed)) {
    reject("missed", `${showValue(missed)} is not known; write "once", "all" or "skip"`);
  }
  if (every !== undefined || cron !== undefined) return;
  const [idle] = [end && endName, times !== undefined && "times", missed !== undefined && "missed"].filter(Boolean);
  if (idle) reject(idle, `is about repetition, and nothing repeats; give ${names.repeat}, or leave it out`);
}

function firstOf({ due, every, cron, timezone = DEFAULT_ZONE }: Parts, now: number, names: Names): number {
  const zone = zoneOf(timezone);
  let start = now;
  if (due !== undefined) {
    start = checkMoment(names.due, due.after === undefined ? due.at : stepsFrom(now, due.after, 1, zone));
    // A past due time becomes now.
    start = Math.max(start, now);
  }
  if (cron !== undefined) {
    const match = nextMatch(parseCron(cron), timezone, due === undefined ? start : start - 1);
    if (match === undefined) reject("cron", `${showValue(cron)} never matches; write a day that exists`);
    return match;
  }
  if (due !== undefined) return start;
  return checkMoment(names.every, stepsFrom(now, every!, 1, zone));
}

function untilOf({ end, endName, timezone = DEFAULT_ZONE }: Parts, first: number): number | undefined {
  if (end === undefined) return undefined;
  const moment = end.after === undefined ? end.at : stepsFrom(first, end.after, 1, zoneOf(timezone));
  const until = checkMoment(endName, moment);
  if (until >= first) return until;
  reject(endName, `${iso(until)} is before the first tick at ${iso(first)}; write a later one`);
}

const iso = (moment: number): string => new Date(moment).toISOString();

function checkMoment(what: string, moment: number): number {
  if (Number.isNaN(moment)) reject(what, 'is an invalid Date; write for example new Date("2026-03-01T09:00:00Z")');
  if (moment < 0) reject(what, "is before 1970; write a moment between 1970 and 9999");
  if (moment > END_OF_TIME) reject(what, "is after the year 9999; write a moment between 1970 and 9999");
  return Math.trunc(moment);
}
