// No tick is handled before its moment, on the clock of the store. A process knows that clock by the store's answers; between two of
// them its own clock counts, so where clocks go wrong it may be early by what they gain meanwhile.
import type { CheckerKind } from "./checker.ts";

/** The longest time between two answers of the store, times how wrong two clocks may be. */
const GAINED_MS = 30_000 * 0.12;
/** How long what a clock has gained counts. */
const WINDOW_MS = 60_000;
const CLOCK_FAULTS: ReadonlySet<string> = new Set(["clock drift", "database clock"]);

export const remindersNeverEarly: CheckerKind = {
  name: "never early",
  rule: "no tick of a reminder is handled before its moment, by the clock of the store",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    let wrongAt = Number.NEGATIVE_INFINITY;
    const isAlwaysWrong = stage.plan.hosts.some(({ clock }) => (clock.rate ?? 1) !== 1);
    return {
      faulted(name) {
        if (CLOCK_FAULTS.has(name)) wrongAt = stage.now;
      },
      stepped() {
        if (stage.isChaos && wrongAt > 0) wrongAt = stage.now;
      },
      reminderBegan({ op, tick }) {
        const { now } = stage.world.database;
        const isWrong = isAlwaysWrong || stage.now - wrongAt < WINDOW_MS;
        const early = tick.due - now;
        if (early <= (isWrong ? GAINED_MS : 0)) return;
        report(`tick ${tick.number}.${tick.attempt} of ${op} is handled ${early} ms before its moment`);
      },
    };
  },
};
