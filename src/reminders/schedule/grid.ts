// The grid of a schedule: all its ticks, numbered from 1, whether they run or not and without an end. There
// is one kind for each way to repeat. The cost of a query does not grow with the time that has passed.
import { countMatches, lastMatch, matchAhead, nextMatch, parseCron } from "./cron.ts";
import { averageLength, isFixedPeriod, type Period, stepsFrom } from "./period.ts";
import type { Schedule } from "./schedule.ts";
import { zoneOf } from "./zone.ts";

export interface GridTick {
  /** Its place on the grid; the first tick is number 1. */
  readonly number: number;
  /** Its moment on the grid, however late it runs. */
  readonly due: number;
}

export interface Grid {
  /** The tick right after this one. */
  after(tick: GridTick): GridTick | undefined;
  /** The last tick that is not later than `moment`; `from` is not later either. */
  lastUntil(from: GridTick, moment: number): GridTick;
  /** The tick with that number, which is between the numbers of `from` and `to`. */
  numbered(number: number, from: GridTick, to: GridTick): GridTick;
}

export function gridOf({ first, every, cron, timezone = "UTC" }: Schedule): Grid {
  if (cron !== undefined) return cronGrid(cron, timezone);
  if (every === undefined) return ONCE;
  return isFixedPeriod(every) ? exactGrid(first, every.ms) : calendarGrid(first, every, timezone);
}

const ONCE: Grid = { after: () => undefined, lastUntil: (from) => from, numbered: (_, from) => from };

function exactGrid(first: number, period: number): Grid {
  const numbered = (number: number): GridTick => ({ number, due: first + (number - 1) * period });
  return {
    after: (tick) => numbered(tick.number + 1),
    lastUntil: (_, moment) => numbered(Math.floor((moment - first) / period) + 1),
    numbered,
  };
}

function calendarGrid(first: number, period: Period, timezone: string): Grid {
  const zone = zoneOf(timezone);
  const dueOf = (number: number): number => stepsFrom(first, period, number - 1, zone);
  const numbered = (number: number): GridTick => ({ number, due: dueOf(number) });
  return {
    after: (tick) => {
      let next = numbered(tick.number + 1);
      // When a whole day is skipped, as in Samoa, two midnights are the same moment and count as one tick.
      while (next.due === tick.due) next = numbered(next.number + 1);
      return next;
    },
    lastUntil: (from, moment) => {
      // Months differ in length, but a number of them is never a whole period away from the average.
      let number = Math.max(from.number, Math.floor((moment - first) / averageLength(period)) + 1);
      while (number > from.number && dueOf(number) > moment) number -= 1;
      while (dueOf(number + 1) <= moment) number += 1;
      return numbered(number);
    },
    numbered,
  };
}

function cronGrid(text: string, timezone: string): Grid {
  const cron = parseCron(text);
  return {
    after: (tick) => {
      const due = nextMatch(cron, timezone, tick.due);
      return due === undefined ? undefined : { number: tick.number + 1, due };
    },
    lastUntil: (from, moment) => {
      const due = lastMatch(cron, timezone, moment);
      if (due === undefined || due <= from.due) return from;
      return { number: from.number + countMatches(cron, timezone, from.due, due), due };
    },
    numbered: (number, from, to) => {
      if (number === from.number) return from;
      return { number, due: matchAhead(cron, timezone, from.due, number - from.number, to.due) };
    },
  };
}
