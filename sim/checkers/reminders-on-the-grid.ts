// Ticks lie on a grid that begins with the first one and never moves, however late they run and however often they fail. Those whose
// time was missed run as their schedule says.
import type { Schedule } from "../../src/reminders/schedule.ts";
import type { Process } from "../../src/world/process.ts";
import type { ReminderRun } from "../observer.ts";
import type { CheckerKind } from "./checker.ts";
import { rowsOf } from "./reminder-rows.ts";

/** From the decision that a tick is to be delivered to its handler: as long as a call may take, and what clocks are wrong. */
const ON_ITS_WAY_MS = 15_000;
/** How long a process that slept is late for everything. */
const AFTER_SLEEP_MS = 60_000;

export const remindersOnTheGrid: CheckerKind = {
  name: "on the grid",
  rule: "every tick that is handled has its own moment on the grid, a number that fits it, no more attempts than there may be, and was not to be left out",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    const rows = rowsOf(stage);
    const slept = new Map<Process, number>();

    /** A later tick was due long ago, so this one was missed, and others run in its place or none. */
    function isLeftOut(
      { tick, process }: ReminderRun,
      { first, every, missed, times = Number.POSITIVE_INFINITY }: Schedule,
    ) {
      const isTired = stage.now - (slept.get(process) ?? Number.NEGATIVE_INFINITY) < AFTER_SLEEP_MS;
      if (every === undefined || missed === "all" || tick.attempt > 1 || isTired || tick.number >= times) return false;
      return first + tick.number * every.ms < stage.world.database.now - ON_ITS_WAY_MS;
    }

    return {
      slept(process, ms) {
        slept.set(process, stage.now + ms);
      },
      reminderBegan(run) {
        const { op, tick } = run;
        const what = `tick ${tick.number}.${tick.attempt} of ${op}`;
        // The same may have been written twice, when its first answer was lost.
        const own = [...rows.byGeneration.values()].filter((row) => row.op === op);
        if (own.length === 0) {
          report(`${what} is handled, and nobody has set it`);
          return;
        }
        const isOn = own.some(({ plan: { schedule } }) => {
          const { first, every, times = Number.POSITIVE_INFINITY } = schedule;
          const due = first + (tick.number - 1) * (every?.ms ?? 0);
          return tick.due === due && tick.number >= 1 && tick.number <= (every === undefined ? 1 : times);
        });
        if (!isOn) report(`${what} has the moment ${tick.due}, which is not on its grid`);
        if (own.every(({ plan }) => isLeftOut(run, plan.schedule))) report(`${what} was missed long ago, and runs`);
        const { attempts } = own[0]!.plan.policy;
        if (tick.attempt < 1 || tick.attempt > attempts) report(`${what} is one of ${attempts} attempts`);
      },
    };
  },
};
