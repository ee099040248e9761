// Checks that no tick is handled before its time, on the clock of the store. A process synchronizes with that
// clock at each response of the store. Between two responses its own clock counts, so it may be early by the
// drift meanwhile.
import type { CheckerKind } from "../checker.ts";

/** Longest time between two responses of the store, times the largest drift between two clocks. */
const GAINED_MS = 30_000 * 0.12;
/** How long a gain of a clock counts. */
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
