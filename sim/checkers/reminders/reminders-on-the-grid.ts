// Checks that ticks are on a grid that begins with the first one and never moves, however late they run and
// however often they fail. Missed ticks run by the rule of their schedule.
import type { Schedule } from "../../../src/reminders/schedule/schedule.ts";
import type { Process } from "../../../src/world/process.ts";
import type { ReminderRun } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { lastTick, rowsOf } from "./reminder-rows.ts";

/** From the decision to deliver a tick to its handler: the timeout of a call, and the error of clocks. */
const ON_ITS_WAY_MS = 15_000;
/** How long a process is late after a sleep. */
const AFTER_SLEEP_MS = 60_000;

export const remindersOnTheGrid: CheckerKind = {
  name: "on the grid",
  rule: "every tick has its own moment on the grid, the matching number, no more attempts than allowed, and is not one to skip",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    const rows = rowsOf(stage);
    /** When each sleeping process resumes. */
    const slept = new Map<Process, number>();
    const awakeMs = (process: Process): number => stage.now - (slept.get(process) ?? Number.NEGATIVE_INFINITY);

    /**
     * The process may have decided in time, before it slept, to deliver the tick to a process that did not
     * sleep: the clock that measures the timeout of the delivery stood still.
     */
    const wasSleptOver = (run: ReminderRun): boolean =>
      rows.leasesOf(run).some(({ at, process }) => {
        const ms = awakeMs(process);
        return ms < ON_ITS_WAY_MS && at < stage.now - ms;
      });

    /** A later tick was due long ago, so this one was missed and must not run. */
    function isLeftOut(run: ReminderRun, schedule: Schedule): boolean {
      const { tick, process } = run;
      const { first, every, missed } = schedule;
      const isTired = awakeMs(process) < AFTER_SLEEP_MS || wasSleptOver(run);
      if (every === undefined || missed === "all" || tick.attempt > 1 || isTired) return false;
      if (tick.number >= lastTick(schedule).number) return false;
      return first + tick.number * every.ms < stage.world.database.now - ON_ITS_WAY_MS;
    }

    return {
      slept(process, ms) {
        slept.set(process, stage.now + ms);
      },
      reminderBegan(run) {
        const { op, tick } = run;
        const what = `tick ${tick.number}.${tick.attempt} of ${op}`;
        const own = rows.setBy(run);
        if (own.length === 0) {
          report(`${what} is handled, and nobody has set it`);
          return;
        }
        const isOn = own.some(({ plan: { schedule } }) => {
          const due = schedule.first + (tick.number - 1) * (schedule.every?.ms ?? 0);
          return tick.due === due && tick.number >= 1 && tick.number <= lastTick(schedule).number;
        });
        if (!isOn) report(`${what} has the moment ${tick.due}, which is not on its grid`);
        if (own.every(({ plan }) => isLeftOut(run, plan.schedule))) report(`${what} was missed long ago, and runs`);
        const { attempts } = own[0]!.plan.policy;
        if (tick.attempt < 1 || tick.attempt > attempts) report(`${what} is one of ${attempts} attempts`);
      },
    };
  },
};
