// Cron expressions in a time zone: the next match, the last match, and the number of matches in between.
//
// When the clocks change:
// - An expression that names its hours ("30 2 * * *") follows the wall clock as if it were never set back. A
//   skipped time counts at the first moment after the gap, together with all others of that gap. A time that
//   is shown twice counts the first time only.
// - An expression that matches in every hour ("*/15 * * * *") follows real time: it matches whenever the
//   clock shows a matching time, also in the repeated hour. Skipped times are skipped.
//
// The first rule needs no cases: the highest reading of the clock so far only rises. The expression matches
// at the first moment at which that reading reaches or passes a matching time.
import { showValue } from "../../kernel/check.ts";
import { END_OF_TIME } from "../../kernel/durations.ts";
import { DAY } from "./calendar.ts";
import { FIELDS, parseField } from "./cron-field.ts";
import { CronPattern } from "./cron-pattern.ts";
import { checkText, reject } from "./rejection.ts";
import { type Zone, zoneOf } from "./zone.ts";

export type Cron = CronPattern;

const NAMED: Record<string, string> = {
  "@hourly": "0 0 * * * *",
  "@daily": "0 0 0 * * *",
  "@midnight": "0 0 0 * * *",
  "@weekly": "0 0 0 * * 0",
  "@monthly": "0 0 0 1 * *",
  "@yearly": "0 0 0 1 1 *",
  "@annually": "0 0 0 1 1 *",
};
const INSTEAD =
  'write five fields ("0 9 * * MON-FRI": minute, hour, day, month, weekday), six with the second first, or "@daily"';
const MAX_KNOWN = 1_000;

const known = new Map<string, Cron>();

/** Throws REMINDER_INVALID with the field and the value it does not understand. */
export function parseCron(text: string): Cron {
  const before = known.get(text);
  if (before !== undefined) return before;
  checkText(text, "cron", INSTEAD);
  const trimmed = text.trim();
  const fields = (trimmed.startsWith("@") ? named(trimmed) : trimmed).split(/[ \t]+/);
  if (fields[0]!.includes("=")) reject("cron", `${showValue(fields[0])} does not belong here; give "timezone" instead`);
  if (fields.length === 5) fields.unshift("0");
  if (fields.length !== 6) reject("cron", `${showValue(text)} has ${countOf(trimmed, fields.length)}; ${INSTEAD}`);
  const cron = new CronPattern(
    text,
    FIELDS.map((kind, place) => parseField(fields[place]!, kind)),
  );
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, cron);
  return cron;
}

function named(text: string): string {
  const fields = NAMED[text.toLowerCase()];
  if (fields !== undefined) return fields;
  if (/^@every\b/i.test(text))
    reject("cron", `${showValue(text)} is an interval; give "every" instead, for example "5m"`);
  reject("cron", `${showValue(text)} is not known; write ${Object.keys(NAMED).join(", ")}, or fields`);
}

const countOf = (text: string, fields: number): string =>
  text === "" ? "no fields" : `${fields} ${fields === 1 ? "field" : "fields"}`;

/** The first match later than `after`; undefined when there never is one, as for 30 February. */
export function nextMatch(cron: Cron, timezone: string, after: number): number | undefined {
  const zone = zoneOf(timezone);
  const match = cron.everyHour ? nextInRealTime(cron, zone, after) : nextOnTheWall(cron, zone, after);
  return match === undefined || match > END_OF_TIME ? undefined : match;
}

/** The last match that is not later than `until`. */
export function lastMatch(cron: Cron, timezone: string, until: number): number | undefined {
  const zone = zoneOf(timezone);
  if (cron.everyHour) return lastInRealTime(cron, zone, until);
  const wall = cron.previous(zone.highestWallAt(until));
  return wall === undefined ? undefined : zone.firstMomentOf(wall);
}

/** How many matches are later than `after` and not later than `until`. */
export function countMatches(cron: Cron, timezone: string, after: number, until: number): number {
  if (until <= after) return 0;
  const zone = zoneOf(timezone);
  return cron.everyHour ? countInRealTime(cron, zone, after, until) : countOnTheWall(cron, zone, after, until);
}

/** The match that is `count` matches later than `after`, which must not be later than `until`. */
export function matchAhead(cron: Cron, timezone: string, after: number, count: number, until: number): number {
  let low = after;
  let high = until;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (countMatches(cron, timezone, after, middle) < count) low = middle;
    else high = middle;
  }
  return high;
}

function nextOnTheWall(cron: Cron, zone: Zone, after: number): number | undefined {
  const wall = cron.next(zone.highestWallAt(after) + 1);
  return wall === undefined ? undefined : zone.firstMomentOf(wall);
}

function countOnTheWall(cron: Cron, zone: Zone, after: number, until: number): number {
  let count = cron.count(zone.highestWallAt(after), zone.highestWallAt(until));
  for (const change of zone.changes(after, until)) {
    // All times of a gap, and the one right after it, are the same moment.
    const together = cron.count(change.at + change.before - 1, change.at + change.after);
    if (together > 1) count -= together - 1;
  }
  return count;
}

/** Between two changes of the clocks, wall time and real time differ only by the offset. */
function nextInRealTime(cron: Cron, zone: Zone, after: number): number | undefined {
  let from = after + 1;
  for (;;) {
    const offset = zone.offsetAt(from);
    const wall = cron.next(from + offset);
    if (wall === undefined) return undefined;
    const match = wall - offset;
    const near = Math.min(match, from + 2 * DAY);
    const change = zone.changes(from, near)[0];
    if (change !== undefined) from = change.at;
    else if (match === near) return match;
    // The match is far away, and no earlier time matches even if the clocks change: search again from a day
    // before.
    else from = match - DAY;
  }
}

function lastInRealTime(cron: Cron, zone: Zone, until: number): number | undefined {
  let to = until;
  for (;;) {
    const offset = zone.offsetAt(to);
    const wall = cron.previous(to + offset);
    if (wall === undefined) return undefined;
    const match = wall - offset;
    const near = Math.max(match, to - 2 * DAY);
    const change = zone.changes(near, to).at(-1);
    if (change !== undefined) to = change.at - 1;
    else if (match === near) return match;
    else to = match + DAY;
  }
}

function countInRealTime(cron: Cron, zone: Zone, after: number, until: number): number {
  let count = 0;
  let from = after;
  let offset = zone.offsetAt(after);
  for (const change of zone.changes(after, until)) {
    count += cron.count(from + offset, change.at - 1 + offset);
    from = change.at - 1;
    offset = change.after;
  }
  return count + cron.count(from + offset, until + offset);
}
