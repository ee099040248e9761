// Checks that a cancelled or replaced reminder is not delivered any more, except for a delivery that is
// already in flight.
import type { CheckerKind } from "../checker.ts";
import { troubleEnds } from "../looks.ts";
import { labelOfKey, rowsOf } from "./reminder-rows.ts";

/** Longest time from the last read of the store to a delivery, without faults. */
const ON_ITS_WAY_MS = 2_000;
/** How long faults affect deliveries in flight. */
const AFTER_MS = 15_000;

export const remindersVoid: CheckerKind = {
  name: "void stays void",
  rule: "a cancelled or replaced reminder is gone from the store, and is not delivered any more",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    const rows = rowsOf(stage);
    let troubledUntil = Number.NEGATIVE_INFINITY;
    rows.watchers.push({
      voided({ key, op, generation, gone }, stored) {
        if (stored?.generation !== generation) return;
        report(`${labelOfKey(key)} of ${op} was ${gone?.how}, and is still there`);
      },
    });
    return {
      logged(line) {
        troubledUntil = Math.max(troubledUntil, troubleEnds(line) ?? troubledUntil);
      },
      reminderBegan({ op, tick, sentAt }) {
        if (sentAt < troubledUntil + AFTER_MS) return;
        const own = rows.setBy({ op });
        const isVoid = own.every(({ gone }) => gone?.how === "replaced" || gone?.how === "cancelled");
        const since = Math.max(...own.map(({ gone }) => gone?.at ?? 0));
        if (own.length === 0 || !isVoid || sentAt - since <= ON_ITS_WAY_MS) return;
        const late = Math.round(sentAt - since);
        report(`tick ${tick.number} of ${op} is delivered ${late} ms after it was ${own.at(-1)!.gone!.how}`);
      },
    };
  },
};
