// Chooses the next tick of a schedule. Ticks lie on a grid that begins with the first due time and never
// moves, however late they run. The policy for missed ticks decides which of them run:
// - all: the very next one, even if it is long past.
// - once: the very next one if it is still to come. Otherwise the latest one that is not in the future: it
//   runs late and replaces the ones before it. The next one after that is in the future again.
// - skip: the first one that is not past. One that is due at this very millisecond is not past.
//
// Numbers are places on the grid, so with `once` and `skip` they have gaps where ticks did not run. `times`
// limits the place and not the number of runs: ten times every minute ends after ten minutes. When even the
// last tick was missed, `once` runs it, late, and `skip` runs nothing more.
import { END_OF_TIME } from "../../kernel/durations.ts";
import { type Grid, type GridTick, gridOf } from "./grid.ts";
import type { Schedule } from "./schedule.ts";

export type { GridTick } from "./grid.ts";

export const firstTick = (schedule: Schedule): GridTick => ({ number: 1, due: schedule.first });

/**
 * The tick to plan when `last` has run; undefined when it was the last one. It is later than `last`, and
 * never early.
 */
export function tickAfter(schedule: Schedule, last: GridTick, now: number): GridTick | undefined {
  const grid = gridOf(schedule);
  return choose(schedule, grid, grid.after(last), now);
}

/**
 * The tick to run when a planned one is overdue, for example after a host was down. The policy is applied
 * again, so that `once` does not run both the planned tick and the latest one. A tick that is late by no more
 * than `grace` is not missed; without a grace, `skip` would skip ticks that are late only by the time to run
 * them. Undefined: no more ticks.
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
