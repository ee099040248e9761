// Which tick of a schedule comes next. Ticks lie on a grid that begins with the first due time and never moves, however
// late they run; the policy for missed ticks says which of them run:
// - all: the very next one, even if its time is long past.
// - once: the very next one if it is still to come. Otherwise the latest that is not in the future: it runs late and stands
//   for those before it. The next one after that is in the future again.
// - skip: the first one that is not past. One that is due at this very millisecond is not past.
// Numbers are places on the grid, so with `once` and `skip` they have gaps where ticks did not run, and `times` limits
// the place and not the number of runs: ten times every minute is over after ten minutes. When even the last tick was
// missed, `once` runs it, late, and `skip` runs nothing more.
import { END_OF_TIME } from "../../kernel/end-of-time.ts";
import { type Grid, type GridTick, gridOf } from "./grid.ts";
import type { Schedule } from "./schedule.ts";

export type { GridTick } from "./grid.ts";

export const firstTick = (schedule: Schedule): GridTick => ({ number: 1, due: schedule.first });

/** The tick to plan when `last` has run; undefined when it was the last one. It is later than `last`, and never early. */
export function tickAfter(schedule: Schedule, last: GridTick, now: number): GridTick | undefined {
  const grid = gridOf(schedule);
  return choose(schedule, grid, grid.after(last), now);
}

/**
 * The tick to run when a planned one is found overdue, by a host that was away for example: the policy is asked again,
 * so that `once` does not run twice, first the planned tick and then the latest. A tick that is late by no more than `grace`
 * has not been missed; without some, `skip` would skip what is late by the time it takes to run it. Undefined: no more ticks.
 */
export function tickInstead(schedule: Schedule, planned: GridTick, now: number, grace = 0): GridTick | undefined {
  if (planned.due >= now - grace) return planned;
  const moment = schedule.missed === "skip" ? now - grace : now;
  return choose(schedule, gridOf(schedule), planned, moment);
}

function choose(schedule: Schedule, grid: Grid, next: GridTick | undefined, now: number): GridTick | undefined {
  if (next === undefined || !isWithin(schedule, next)) return undefined;
  if (schedule.missed === "all" || next.due >= now) return next;
  if (schedule.missed === "once") {
    const latest = grid.lastUntil(next, Math.min(now, schedule.until ?? now));
    const { times = latest.number } = schedule;
    return latest.number > times ? grid.numbered(times, next, latest) : latest;
  }
  const coming = grid.after(grid.lastUntil(next, now - 1));
  return coming !== undefined && isWithin(schedule, coming) ? coming : undefined;
}

function isWithin({ until = END_OF_TIME, times }: Schedule, tick: GridTick): boolean {
  return tick.due <= until && (times === undefined || tick.number <= times);
}
